"""Makes the user classes of a run: a subclass of each class of the scenario, with the settings that the options choose.

A class of the scenario keeps its own settings, so one run cannot see the settings of another. Locust makes its users of
the new classes, which have the names of the scenario's classes. Their settings cannot be changed.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from drivers.client.connection_modes import CONNECTION_MODES, ONE, ONE_URI, PER_MESSAGE, POOLED, URIS
from drivers.protocols import Spoken
from drivers.users.broker_user import BrokerUser
from drivers.users.declared_settings import kind_of, settings_of
from drivers.users.locust_users import ConsumerUser, ProducerUser
from harness.options.declarations import OPTIONS, Options
from harness.scenario import Scenario
from records.errors import Refusal, UserError
from records.loads.arrivals import CLOSED
from records.loads.message_properties import MessageProperties, Values
from records.loads.rate_steps import format_steps

Setting = int | float | str | Mapping[str, Values] | Sequence[str] | None
Changes = Mapping[type[BrokerUser], dict[str, Any]]
"""The settings of a class that a run changes."""
ONE_DESTINATION = ("openwire", "core")
"""Protocols that allow one destination per producer, because a thread in the JVM sends all messages of a producer."""

SET_BY_ONE_OPTION = {name: option.sets.split(".") for name, option in OPTIONS.items() if option.sets}
"""By field of `Options`: ("producers", "consumers" or "users"; the attribute of these classes)."""
SHARED = ("fixed_count", "sends_per_second", "rate_steps", "joins")
"""Attributes with a class's share of a total for all classes."""
CONFIGURED = (*SHARED, *(attribute for _, attribute in SET_BY_ONE_OPTION.values()))


@dataclass(frozen=True)
class RunUsers:
    """The user classes of a run. ``are_closed``: whether producers send without a schedule."""

    every: tuple[type[BrokerUser], ...]
    producing: tuple[type[ProducerUser], ...]
    consuming: tuple[type[ConsumerUser], ...]
    are_closed: bool


# -- the classes -------------------------------------------------------------------------------------------------------


def users_of(scenario: Scenario, options: Options) -> RunUsers:
    """Make the user classes of a run. Raises UserError for ``--properties`` that cannot be parsed.

    `setting_refusals` checks the settings. A rate or a count that cannot be shared among the classes is left out.
    """
    changes: Changes = {user: {} for user in scenario.users}
    producing = [user for user in scenario.users if issubclass(user, ProducerUser)]
    consuming = [user for user in scenario.users if issubclass(user, ConsumerUser)]
    _count(changes, scenario.users, options)
    _pace(changes, producing, options)
    classes: Mapping[str, Sequence[type[BrokerUser]]]
    classes = {"users": scenario.users, "producers": producing, "consumers": consuming}
    for name, (kind, attribute) in SET_BY_ONE_OPTION.items():
        if (value := getattr(options, name)) is not None:
            setting = _parsed_properties(value) if name == "properties" else value
            for user in classes[kind]:
                changes[user][attribute] = setting
    for user in consuming:  # consumers of a run per-message have one connection each
        if changes[user].get("connections", user.connections) == PER_MESSAGE:
            changes[user]["connections"] = ONE
    made = tuple(with_settings(user, changes[user]) for user in scenario.users)
    return RunUsers(
        made,
        tuple(user for user in made if issubclass(user, ProducerUser)),
        tuple(user for user in made if issubclass(user, ConsumerUser)),
        any(issubclass(user, ProducerUser) and user.arrivals == CLOSED for user in made),
    )


def with_settings(user: type[BrokerUser], changed: Mapping[str, Setting]) -> type[BrokerUser]:
    """Return a subclass with the same name and these settings.

    It has its own copy of all settings, so later changes of the class or of its bases do not reach the run. Raises
    UserError if a base or a metaclass of the class allows no subclass.
    """
    own = {name: getattr(user, name) for name in settings_of(kind_of(user))} | {**changed}
    names = {"__module__": user.__module__, "__qualname__": user.__qualname__, "__doc__": user.__doc__}
    metaclass: Any = type(user)
    try:
        made: type[BrokerUser] = metaclass(user.__name__, (user,), {**names, **own})
    except Exception as error:  # of user code, or of our own check of `stays`
        raise UserError(
            f"{user.__name__}: a run makes its users of a subclass, and {type(error).__name__} was raised when it was "
            f"made: {error}; change the class, or what its bases do in __init_subclass__"
        ) from error
    for name, value in own.items():  # again, as __init_subclass__ of a base may have set them for the subclass
        type.__setattr__(made, name, value)
    return made


def settings(users: Iterable[type]) -> dict[str, dict[str, Setting]]:
    """Return the settings that options can change, by class. Workers need them, as they do not read the options."""
    return {user.__name__: {name: getattr(user, name) for name in CONFIGURED if hasattr(user, name)} for user in users}


def _count(changes: Changes, users: Sequence[type[BrokerUser]], options: Options) -> None:
    """Share the number of users among the classes of each kind. The first classes get the remainder."""
    for place, user in enumerate(users if options.clients else ()):
        assert options.clients is not None
        share = options.clients.share(len(users), place)
        changes[user] |= {"fixed_count": share.most, "joins": str(share)}
    for kind, count in ((ProducerUser, options.producers), (ConsumerUser, options.consumers)):
        of_kind = [user for user in users if issubclass(user, kind)]
        for place, user in enumerate(of_kind if count is not None else ()):
            assert count is not None
            changes[user]["fixed_count"] = count // len(of_kind) + (1 if place < count % len(of_kind) else 0)


def _pace(changes: Changes, producing: Sequence[type[ProducerUser]], options: Options) -> None:
    """Give each producing class its share of the rate, or of the steps."""
    counts = {user: changes[user].get("fixed_count", user.fixed_count) for user in producing}
    producers, class_rates = sum(counts.values()), dict(options.class_rates)
    for user, count in counts.items():
        if count and user.__name__ in class_rates:
            changes[user]["sends_per_second"] = class_rates[user.__name__] / count
    if not producers:
        return
    steps = options.search.first_steps(producers) if options.search else options.steps
    shares = [step.of_one_in(producers) for step in steps]
    for user in producing:
        if options.rate is not None:
            changes[user]["sends_per_second"] = options.rate / producers
        if shares:
            changes[user] |= {"sends_per_second": shares[0].from_per_s, "rate_steps": format_steps(shares)}


def _parsed_properties(text: str) -> dict[str, list[str | int | float | bool]]:
    """Parse ``{"color": ["red", "blue"]}``, the JSON form of the user classes' attribute. Raises UserError."""
    try:
        return {name: list(values) for name, values in MessageProperties.parse(text).cycles}
    except ValueError as error:
        raise UserError(
            f"""--properties {" ".join(text.split())}: {error}; write, for example, '{{"color": ["red", "blue"]}}'"""
        ) from error


# -- rules -------------------------------------------------------------------------------------------------------------


def setting_refusals(users: RunUsers, options: Options) -> Iterator[Refusal]:
    """Yield settings of the run's classes that no run can have."""
    yield from _unshared("--producers", options.producers, users.producing)
    yield from _unshared("--consumers", options.consumers, users.consuming)
    yield from _unpaced(users.producing, options)
    for user in users.every:
        yield from _unconnectable(user)
        yield from _unspread(user, options)
    yield from _impossible_transactions(users.producing)
    if options.pool_size is not None and not any(user.connections == POOLED for user in users.every):
        yield Refusal(
            f"--pool-size {options.pool_size}",
            "no user class shares connections",
            f"add --connections {POOLED}, or leave it out",
        )


def _unshared(option: str, count: int | None, users: Sequence[type[BrokerUser]]) -> Iterator[Refusal]:
    if count is not None and count < len(users):
        names = ", ".join(user.__name__ for user in users)
        rule = f"the scenario has {len(users)} classes ({names}), and each needs at least one user"
        yield Refusal(f"{option} {count}", rule, f"write {len(users)} or more")


def _unpaced(producing: Sequence[type[ProducerUser]], options: Options) -> Iterator[Refusal]:
    producers = sum(user.fixed_count for user in producing)
    if not producers and (options.rate is not None or options.steps or options.search):
        yield Refusal(producing[0].__name__, "fixed_count = 0: there would be no producers", "write their number")
    with_rate = {name for name, _ in options.class_rates}
    for user in producing:
        if user.__name__ in with_rate and not user.fixed_count:
            yield Refusal(user.__name__, "fixed_count = 0: it would have no producers", "write their number")


def _unconnectable(user: type[BrokerUser]) -> Iterator[Refusal]:
    if user.connections not in CONNECTION_MODES:
        modes = ", ".join(CONNECTION_MODES)
        yield Refusal(
            user.__name__, f"connections = {user.connections!r} is not a connection mode", f"write one of {modes}"
        )
    if user.pool_size < 1:
        yield Refusal(user.__name__, f"pool_size = {user.pool_size}: must be at least 1", "write 1")
    if user.uris not in URIS:
        yield Refusal(user.__name__, f"uris = {user.uris!r}", f"write one of {', '.join(URIS)}")
    if user.uris == ONE_URI and user.connections != ONE:
        yield Refusal(
            user.__name__,
            f"uris = {ONE_URI!r}, but its connections are {user.connections}: only a client that does not share "
            "connections can have a URI with one broker",
            f"use --connections {ONE}, or leave --uris out",
        )


def _unspread(user: type[BrokerUser], options: Options) -> Iterator[Refusal]:
    """Yield a problem if a client cannot handle several destinations with its protocol or transactions."""
    try:
        user.destination_names()
    except ValueError as error:
        yield Refusal(user.__name__, f"{error} (--destinations)")
        return
    if not user.takes_turns() or not issubclass(user, ProducerUser):
        return
    subject = f"{user.__name__}: {user.destinations} destinations for {user.fixed_count} users (--destinations)"
    protocol = Spoken.parse(options.protocol).of(user.role, user.__name__)
    if protocol in ONE_DESTINATION and user.connections != PER_MESSAGE:
        yield Refusal(
            subject,
            f"a {protocol} producer can send to only one destination",
            f"use --producers {user.destinations} or more, or another --protocol for the producers",
        )
    if user.transaction_size:
        yield Refusal(
            subject,
            "all messages of a transaction go to one destination",
            f"use --producers {user.destinations} or more, or leave transactions out",
        )


def _impossible_transactions(producing: Iterable[type[ProducerUser]]) -> Iterator[Refusal]:
    for user in producing:
        size = user.transaction_size
        subject = f"{user.__name__}: {size} messages per transaction (--transaction-size)"
        if size < 0:
            yield Refusal(subject, "must be at least 0", "0 means no transactions")
        if size and user.connections == PER_MESSAGE:
            yield Refusal(subject, "each message has a separate connection", "use --connections one or pooled")
        if size > user.in_flight:
            yield Refusal(
                subject,
                f"only {user.in_flight} messages may be unconfirmed, but none is confirmed before its transaction ends",
                f"use --in-flight {size} or more",
            )
