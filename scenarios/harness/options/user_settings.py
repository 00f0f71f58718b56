"""Sets a scenario's user classes as a run's options ask, checks them, and restores them for the next run."""

from collections.abc import Iterable, Mapping, Sequence

from locust import User

from drivers.client.connection_modes import CONNECTION_MODES, ONE, ONE_URI, PER_MESSAGE, POOLED, URIS
from drivers.protocols import Spoken
from drivers.users.broker_user import BrokerUser
from drivers.users.locust_users import ConsumerUser, ProducerUser
from records.client_steps import ClientSteps
from records.message_properties import Values
from records.rate_steps import text_of
from scenarios.harness.options.limits import problem_of_user
from scenarios.harness.options.run_options import OptionError, Options
from scenarios.harness.scenario import Scenario

Setting = int | float | str | Mapping[str, Values] | Sequence[str] | None
Own = tuple[tuple[type[BrokerUser], str, Setting], ...]
"""(user class, attribute, value)"""
ONE_DESTINATION = ("openwire", "core")
"""Protocols by which a producer has one destination: a thread in the JVM sends all of its messages."""

CONFIGURED = (
    "fixed_count",
    "destinations",
    "body_bytes",
    "in_flight",
    "sends_per_second",
    "rate_steps",
    "connections",
    "pool_size",
    "uris",
    "transaction_size",
    "prefetch",
    "work_ms",
    "properties",
    "time_to_live_s",
    "priority",
    "selector",
    "joins",
)


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


def settings(users: Iterable[type]) -> dict[str, dict[str, Setting]]:
    """What a run's options can change of user classes, by class: a worker's own classes know nothing of the options."""
    return {user.__name__: {name: getattr(user, name) for name in CONFIGURED if hasattr(user, name)} for user in users}


def remember(scenario: Scenario) -> Own:
    """The user classes' own settings, before any run's options change them. `restore` brings them back."""
    return tuple(
        (user, name, getattr(user, name)) for user in scenario.users for name in CONFIGURED if hasattr(user, name)
    )


def restore(own: Own) -> None:
    """One process makes many runs in the web UI: one run's settings are not the next run's defaults."""
    for user, name, value in own:
        setattr(user, name, value)


def configure_users(scenario: Scenario, options: Options) -> None:
    """Give the scenario's user classes the counts, sizes and rates that were asked for."""
    producing = [user for user in scenario.users if issubclass(user, ProducerUser)]
    consuming = [user for user in scenario.users if issubclass(user, ConsumerUser)]
    for user in scenario.users:
        if problem := problem_of_user(user, joins=options.clients is not None):
            raise OptionError(f"{user.__name__}: {problem}")
    _join(scenario.users, options.clients)
    _count(producing, options.producers)
    _count(consuming, options.consumers)
    producers = sum(user.fixed_count for user in producing)
    if not producers and (options.rate is not None or options.steps or options.search):
        raise OptionError(f"{producing[0].__name__}: fixed_count = 0: nobody could send; write how many there are")
    steps = options.search.first_steps(producers) if options.search else options.steps
    for user in producing:
        take(user, options, "body_bytes", "in_flight", "transaction_size")
        if options.rate is not None:
            user.sends_per_second = options.rate / producers
        if steps:
            shares = [step.of_one_in(producers) for step in steps]
            user.sends_per_second, user.rate_steps = shares[0].from_per_s, text_of(shares)
    for consumer in consuming:
        take(consumer, options, "prefetch", "work_ms")
    for each in scenario.users:
        _connect(each, options)
        _spread(each, options)
    _require_transactions(producing)
    if options.pool_size is not None and not any(user.connections == POOLED for user in scenario.users):
        raise OptionError(
            f"--pool-size {options.pool_size}: nobody shares connections; add --connections {POOLED}, or leave it out"
        )


def _join(users: Sequence[type[BrokerUser]], clients: ClientSteps | None) -> None:
    """Each class has its share of every step. None: all clients are there from the beginning."""
    for place, user in enumerate(users if clients else ()):
        assert clients is not None
        share = clients.share(len(users), place)
        user.fixed_count, user.joins = share.most, str(share)


def take(user: type[BrokerUser], options: Options, *names: str) -> None:
    """Set the attributes of a class to the options of the same names, where those were given."""
    for name in names:
        if (given := getattr(options, name)) is not None:
            setattr(user, name, given)


def _spread(user: type[BrokerUser], options: Options) -> None:
    """Over several destinations. Raises OptionError for what a client cannot do with more than one."""
    take(user, options, "destinations")
    try:
        user.destination_names()
    except ValueError as error:
        raise OptionError(f"{user.__name__}: {error} (--destinations)") from error
    if not user.takes_turns():
        return
    asked = f"{user.__name__}: {user.destinations} destinations for {user.fixed_count} users (--destinations)"
    if issubclass(user, ProducerUser):
        protocol = Spoken.parse(options.protocol).of(user.role)
        if protocol in ONE_DESTINATION and user.connections != PER_MESSAGE:
            raise OptionError(
                f"{asked}: a producer by {protocol} sends to one destination only; use --producers "
                f"{user.destinations} or more, or another --protocol for the producers"
            )
        if user.transaction_size:
            raise OptionError(
                f"{asked}: messages of a transaction go to one destination; use --producers {user.destinations} or "
                "more, or no transactions"
            )


def _connect(user: type[BrokerUser], options: Options) -> None:
    """The connection mode of a class: what connects for each message sends, and never listens."""
    take(user, options, "connections", "pool_size", "uris")
    if user.connections not in CONNECTION_MODES:
        known = ", ".join(CONNECTION_MODES)
        raise OptionError(
            f"{user.__name__}: connections = {user.connections!r} is no connection mode; write one of {known}"
        )
    if user.pool_size < 1:
        raise OptionError(f"{user.__name__}: pool_size = {user.pool_size}: must be at least 1")
    if user.connections == PER_MESSAGE and issubclass(user, ConsumerUser):
        user.connections = ONE
    _require_uris(user)


def _require_uris(user: type[BrokerUser]) -> None:
    """Raise OptionError where a class is to be told of brokers in a way that there is not."""
    if user.uris not in URIS:
        raise OptionError(f"{user.__name__}: uris = {user.uris!r}; write one of {', '.join(URIS)}")
    if user.uris == ONE_URI and user.connections != ONE:
        raise OptionError(
            f"{user.__name__}: uris = {ONE_URI!r}, but its connections are {user.connections}: only a client with a "
            f"connection of its own can be told of one broker; use --connections {ONE}, or leave --uris out"
        )


def _count(users: Sequence[type[BrokerUser]], count: int | None) -> None:
    """Spread a count over several classes, the first ones getting what does not divide."""
    if count is None:
        return
    if count < len(users):
        names = ", ".join(user.__name__ for user in users)
        raise OptionError(f"{count} users for {len(users)} classes ({names}): each needs at least one")
    for index, user in enumerate(users):
        user.fixed_count = count // len(users) + (1 if index < count % len(users) else 0)


def _require_transactions(producing: Iterable[type[ProducerUser]]) -> None:
    """Raise OptionError where a class asks for transactions that it cannot have."""
    for user in producing:
        if user.transaction_size:
            _require_room_for(user)


def _require_room_for(user: type[ProducerUser]) -> None:
    size = user.transaction_size
    asked = f"{user.__name__}: {size} messages a transaction (--transaction-size)"
    if size < 0:
        raise OptionError(f"{asked}: write a number of messages, or 0 for none")
    if user.connections == PER_MESSAGE:
        raise OptionError(f"{asked}: each message has a connection of its own; use --connections one or pooled")
    if size > user.in_flight:
        raise OptionError(
            f"{asked}: only {user.in_flight} messages may await their answer, and none is answered before its "
            f"transaction ends; use --in-flight {size} or more"
        )
