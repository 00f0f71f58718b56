"""Rejects Locust options that select or shape users, because the scenario defines the users and when they send.

Locust would start the run anyway, and the harness would wait for users that Locust never starts.
"""

from argparse import Namespace
from collections.abc import Iterable, Iterator
from typing import Any

from locust import User

from drivers.users.broker_user import BrokerUser
from records.errors import UserError

ALL_USERS = "a run always starts all users of the scenario"


def selection_refusals(namespace: Namespace, shape: Any) -> Iterator[str]:
    """Yield each problem with its next step. ``shape``: the LoadTestShape from the locustfile, or None."""
    for option in ("tags", "exclude_tags"):
        if chosen := getattr(namespace, option, None):
            yield (
                f"--{option.replace('_', '-')} {' '.join(chosen)}: {ALL_USERS}, and they have no tags; leave it out, "
                "or write a locustfile with fewer user classes"
            )
    if chosen := getattr(namespace, "user_classes", None):
        yield (
            f"{' '.join(chosen)}: {ALL_USERS}; leave the names of user classes out, or write a locustfile with fewer "
            "user classes"
        )
    if getattr(namespace, "config_users", None):
        yield (
            f"--config-users: {ALL_USERS}, as the locustfile declares them; leave it out, and set attributes of the "
            "user classes, or use --producers, --consumers and --rate"
        )
    if shape is not None:
        yield (
            f"{type(shape).__name__}: LoadTestShape is not supported: the scenario's load determines when users send; "
            "remove the class, and use load=Steps(…) or load=AddClients(…) in the scenario"
        )


def require_all_named(classes: Iterable[type[User]], named: Iterable[type[BrokerUser]]) -> None:
    """Raise UserError if Locust found a user class that the scenario does not name."""
    scenarios_own = {*named}
    for user in classes:
        if user not in scenarios_own:
            first_way = "add it to them, or " if issubclass(user, BrokerUser) else ""
            raise UserError(
                f"{user.__name__}: Locust makes users of every class that it finds in a locustfile, but Scenario.users "
                f"leaves this one out; {first_way}write `abstract = True` in it"
            )
