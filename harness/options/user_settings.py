"""Applies a run's options to the scenario's user classes, checks them, and restores them for the next run."""

import inspect
from collections.abc import Iterable, Mapping, Sequence
from hashlib import sha256
from pathlib import Path

from locust import User

from drivers.client.connection_modes import CONNECTION_MODES, ONE, ONE_URI, PER_MESSAGE, POOLED, URIS
from drivers.protocols import Spoken
from drivers.users.broker_user import BrokerUser
from drivers.users.declared_settings import kind_of, settings_of
from drivers.users.fixed_settings import free_settings
from drivers.users.locust_users import ConsumerUser, ProducerUser
from harness.options.declarations import OPTIONS, Bounds, Options
from harness.scenario import Scenario
from records.errors import UserError
from records.loads.arrivals import LOADS
from records.loads.client_steps import MOST_CLIENTS, ClientSteps
from records.loads.message_properties import MessageProperties, Values
from records.loads.rate_steps import LEAST_PER_S, MOST_PER_S, format_steps, parse_steps

Setting = int | float | str | Mapping[str, Values] | Sequence[str] | None
SOURCE = "source file"
"""The key in a class's settings with a digest of the file that defines the class."""
Own = tuple[tuple[type[BrokerUser], str, Setting], ...]
"""(user class, attribute, value)"""
ONE_DESTINATION = ("openwire", "core")
"""Protocols that allow one destination per producer, because a thread in the JVM sends all messages of a producer."""

SET_BY_ONE_OPTION = {name: option.sets.split(".") for name, option in OPTIONS.items() if option.sets}
"""By field of `Options`: ("producers", "consumers" or "users"; the attribute of these classes)."""
SHARED = ("fixed_count", "sends_per_second", "rate_steps", "joins")
"""Attributes with a class's share of a total for all classes."""
CONFIGURED = (*SHARED, *(attribute for _, attribute in SET_BY_ONE_OPTION.values()))
CHECKED_WITH_MESSAGES = ("time_to_live_s", "priority")
"""`drivers.client.message_settings` checks their bounds."""
BOUNDS = {
    "fixed_count": Bounds(0, MOST_CLIENTS),  # 0 means that no number is set; a run rejects it
    "sends_per_second": Bounds(LEAST_PER_S, MOST_PER_S),
} | {
    attribute: bounds
    for name, (_, attribute) in SET_BY_ONE_OPTION.items()
    if (bounds := OPTIONS[name].bounds) and attribute not in CHECKED_WITH_MESSAGES
}
"""Bounds of class attributes, taken from the options that set them."""


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


def settings(users: Iterable[type]) -> dict[str, dict[str, Setting]]:
    """Return the attributes that options can change, by class. Workers need them, as they do not read the options."""
    return {user.__name__: {name: getattr(user, name) for name in CONFIGURED if hasattr(user, name)} for user in users}


def own_settings(users: Iterable[type]) -> dict[str, dict[str, str]]:
    """Return the repr of the attributes that no option changes, with role and source digest, by class."""
    return {
        user.__name__: {
            **{
                name: repr(getattr(user, name))
                for name in ("role", *settings_of(kind_of(user)))
                if name not in CONFIGURED
            },
            SOURCE: _source_digest(user),
        }
        for user in users
        if issubclass(user, BrokerUser)
    }


def _source_digest(user: type) -> str:
    """Return a digest of the file that defines a class; '' for a class without a file. Its methods count too."""
    try:
        return sha256(Path(inspect.getfile(user)).read_bytes()).hexdigest()[:12]
    except (TypeError, OSError):
        return ""


def other_settings(own: Mapping[str, Mapping[str, str]], masters: Mapping[str, Mapping[str, str]]) -> str:
    """Return a sentence if a worker's `own_settings` differ from the master's; '' if they are the same."""
    next_step = "; give both the same locustfile and the same environment"
    for name in [*masters, *own]:
        if name not in own or name not in masters:
            has, lacks = ("the master", "this worker") if name in masters else ("this worker", "the master")
            return f"{has} has a user class {name}, but {lacks} does not{next_step}"
        differences = [
            f"{_named(name, setting)} is {own[name][setting]} here, and {value} in the master"
            for setting, value in masters[name].items()
            if setting in own[name] and own[name][setting] != value  # roles have different settings
        ]
        if differences:
            return "; ".join(differences) + next_step
    return ""


def _named(user_class: str, setting: str) -> str:
    return f"the SHA-256 of the file of {user_class}" if setting == SOURCE else f"{user_class}.{setting}"


def remember(scenario: Scenario) -> Own:
    """Return the settings of the user classes before a run's options change them, for `restore`."""
    return tuple(
        (user, name, getattr(user, name)) for user in scenario.users for name in CONFIGURED if hasattr(user, name)
    )


def restore(own: Own) -> None:
    """Restore the user classes. In the web UI, one process makes many runs, which must not inherit settings."""
    free_settings(user for user, _, _ in own)
    for user, name, value in own:
        setattr(user, name, value)


def configure_users(scenario: Scenario, options: Options) -> None:
    """Set the counts, sizes and rates from the options on the scenario's user classes. Raises UserError."""
    producing = [user for user in scenario.users if issubclass(user, ProducerUser)]
    consuming = [user for user in scenario.users if issubclass(user, ConsumerUser)]
    for user in scenario.users:
        if problem := _problem(user, joins=options.clients is not None):
            raise UserError(f"{user.__name__}: {problem}")
    _join(scenario.users, options.clients)
    _count(producing, options.producers)
    _count(consuming, options.consumers)
    _pace(producing, options)
    classes: Mapping[str, Sequence[type[BrokerUser]]]
    classes = {"users": scenario.users, "producers": producing, "consumers": consuming}
    for name, (kind, attribute) in SET_BY_ONE_OPTION.items():
        if (value := getattr(options, name)) is not None:
            for configured in classes[kind]:
                setattr(configured, attribute, _parsed_properties(value) if name == "properties" else value)
    for user in scenario.users:
        _require_connectable(user)
        _require_spread(user, options)
    _require_transactions(producing)
    if options.pool_size is not None and not any(user.connections == POOLED for user in scenario.users):
        raise UserError(
            f"--pool-size {options.pool_size}: no user class shares connections; add --connections {POOLED}, or leave "
            "it out"
        )


def _problem(user: type[BrokerUser], *, joins: bool) -> str:
    """Return the problem of a setting's value, with the rule; '' if there is none.

    `harness.options.user_attributes` has checked names and types. ``joins``: the steps of the load determine the number
    of users.
    """
    try:
        if issubclass(user, ProducerUser) and user.rate_steps:
            parse_steps(user.rate_steps)
    except UserError as error:
        return f"rate_steps = {error}"
    if issubclass(user, ProducerUser) and user.arrivals not in LOADS:
        return f"arrivals = {user.arrivals!r}: write one of {', '.join(LOADS)}"
    for name, bounds in BOUNDS.items():
        if not hasattr(user, name) or (name == "fixed_count" and joins):
            continue
        value = getattr(user, name)
        if (problem := bounds.problem(value)) and not (name == "transaction_size" and value <= 0):
            return f"{name} = {value}: {problem}"  # `_require_transactions` has a better error for a size below 1
    return ""


def _join(users: Sequence[type[BrokerUser]], clients: ClientSteps | None) -> None:
    """Give each class its share of every step. None: all clients are there from the start."""
    for place, user in enumerate(users if clients else ()):
        assert clients is not None
        share = clients.share(len(users), place)
        user.fixed_count, user.joins = share.most, str(share)


def _count(users: Sequence[type[BrokerUser]], count: int | None) -> None:
    """Distribute a count over several classes. The first classes get the remainder."""
    if count is None:
        return
    if count < len(users):
        names = ", ".join(user.__name__ for user in users)
        raise UserError(f"{count} users for {len(users)} classes ({names}): each needs at least one")
    for index, user in enumerate(users):
        user.fixed_count = count // len(users) + (1 if index < count % len(users) else 0)


def _pace(producing: Sequence[type[ProducerUser]], options: Options) -> None:
    """Give each producing class its share of the rate, or of the steps."""
    producers, class_rates = sum(user.fixed_count for user in producing), dict(options.class_rates)
    if not producers and (options.rate is not None or options.steps or options.search):
        raise UserError(f"{producing[0].__name__}: fixed_count = 0: there would be no producers; write their number")
    steps = options.search.first_steps(producers) if options.search else options.steps
    shares = [step.of_one_in(producers) for step in steps]
    for user in producing:
        if user.__name__ in class_rates:
            user.sends_per_second = class_rates[user.__name__] / _at_least_one(user)
        if options.rate is not None:
            user.sends_per_second = options.rate / producers
        if shares:
            user.sends_per_second, user.rate_steps = shares[0].from_per_s, format_steps(shares)


def _at_least_one(user: type[ProducerUser]) -> int:
    """Return the number of producers of a class that was given a rate."""
    if not user.fixed_count:
        raise UserError(f"{user.__name__}: fixed_count = 0: it would have no producers; write their number")
    return int(user.fixed_count)


def _parsed_properties(text: str) -> dict[str, list[str | int | float | bool]]:
    """Parse ``{"color": ["red", "blue"]}``, the JSON form of the user classes' attribute. Raises UserError."""
    try:
        return {name: list(values) for name, values in MessageProperties.parse(text).cycles}
    except ValueError as error:
        raise UserError(
            f"""--properties {" ".join(text.split())}: {error}; write, for example, '{{"color": ["red", "blue"]}}'"""
        ) from error


def _require_connectable(user: type[BrokerUser]) -> None:
    """Check the connection settings of a class. Consumers of a run per-message have one connection each."""
    if user.connections not in CONNECTION_MODES:
        modes = ", ".join(CONNECTION_MODES)
        raise UserError(
            f"{user.__name__}: connections = {user.connections!r} is not a connection mode; write one of {modes}"
        )
    if user.pool_size < 1:
        raise UserError(f"{user.__name__}: pool_size = {user.pool_size}: must be at least 1")
    if user.connections == PER_MESSAGE and issubclass(user, ConsumerUser):
        user.connections = ONE
    if user.uris not in URIS:
        raise UserError(f"{user.__name__}: uris = {user.uris!r}; write one of {', '.join(URIS)}")
    if user.uris == ONE_URI and user.connections != ONE:
        raise UserError(
            f"{user.__name__}: uris = {ONE_URI!r}, but its connections are {user.connections}: only a client that does "
            f"not share connections can have a URI with one broker; use --connections {ONE}, or leave --uris out"
        )


def _require_spread(user: type[BrokerUser], options: Options) -> None:
    """Raise UserError if a client cannot handle several destinations with its protocol or transactions."""
    try:
        user.destination_names()
    except ValueError as error:
        raise UserError(f"{user.__name__}: {error} (--destinations)") from error
    if not user.takes_turns():
        return
    subject = f"{user.__name__}: {user.destinations} destinations for {user.fixed_count} users (--destinations)"
    if issubclass(user, ProducerUser):
        protocol = Spoken.parse(options.protocol).of(user.role, user.__name__)
        if protocol in ONE_DESTINATION and user.connections != PER_MESSAGE:
            raise UserError(
                f"{subject}: a {protocol} producer can send to only one destination; use --producers "
                f"{user.destinations} or more, or another --protocol for the producers"
            )
        if user.transaction_size:
            raise UserError(
                f"{subject}: all messages of a transaction go to one destination; use --producers {user.destinations} "
                "or more, or leave transactions out"
            )


def _require_transactions(producing: Iterable[type[ProducerUser]]) -> None:
    """Raise UserError if a class has a transaction size that is not possible."""
    for user in producing:
        size = user.transaction_size
        subject = f"{user.__name__}: {size} messages per transaction (--transaction-size)"
        if size < 0:
            raise UserError(f"{subject}: write a number of messages, or 0 for no transactions")
        if size and user.connections == PER_MESSAGE:
            raise UserError(f"{subject}: each message has a separate connection; use --connections one or pooled")
        if size > user.in_flight:
            raise UserError(
                f"{subject}: only {user.in_flight} messages may be unconfirmed, but none is confirmed before its "
                f"transaction ends; use --in-flight {size} or more"
            )
