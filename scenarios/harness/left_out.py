"""Does a locustfile have users that its scenario knows nothing of? Locust makes users of every class that it finds."""

from collections.abc import Iterable

from locust import User

from drivers.broker_user import BrokerUser
from scenarios.harness.options import OptionError


def require_all_named(found: Iterable[type[User]], named: Iterable[type[BrokerUser]]) -> None:
    """Raise OptionError where Locust has ``found`` a class that the scenario has not ``named``."""
    known = {*named}
    for user in found:
        if user not in known:
            way = "add it to them, or " if issubclass(user, BrokerUser) else ""
            raise OptionError(
                f"{user.__name__}: Locust makes users of every class that it finds in a locustfile, but Scenario.users "
                f"leaves this one out; {way}write `abstract = True` in it"
            )
