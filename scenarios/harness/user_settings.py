"""What do a run's options make of a scenario's user classes? And what did those say before, for the next run?"""

from collections.abc import Iterable, Sequence

from drivers.broker_user import BrokerUser
from drivers.habits import HABITS, ONE, PER_MESSAGE, POOLED
from drivers.users import ConsumerUser, ProducerUser
from scenarios.harness.options import OptionError, Options
from scenarios.harness.scenario import Scenario
from scenarios.harness.transactions import require_transactions

Setting = int | float | str
Own = tuple[tuple[type[BrokerUser], str, Setting], ...]
"""(user class, attribute, value)"""

CONFIGURED = (
    "fixed_count",
    "body_bytes",
    "in_flight",
    "sends_per_second",
    "connections",
    "pool_size",
    "transaction_size",
)


def settings(users: Iterable[type]) -> dict[str, dict[str, Setting]]:
    """What a run's options can change of user classes, by class: a worker's own classes know nothing of the options."""
    return {user.__name__: {name: getattr(user, name) for name in CONFIGURED if hasattr(user, name)} for user in users}


def remember(scenario: Scenario) -> Own:
    """What the user classes say themselves, before any run's options change them; `restore` brings it back."""
    return tuple(
        (user, name, getattr(user, name)) for user in scenario.users for name in CONFIGURED if hasattr(user, name)
    )


def restore(own: Own) -> None:
    """One process makes many runs in the web UI: what one run chose is not the next one's default."""
    for user, name, value in own:
        setattr(user, name, value)


def configure_users(scenario: Scenario, options: Options) -> None:
    """Give the scenario's user classes the counts, sizes and rates that were asked for."""
    producing = [user for user in scenario.users if issubclass(user, ProducerUser)]
    consuming = [user for user in scenario.users if issubclass(user, ConsumerUser)]
    _count(producing, options.producers)
    _count(consuming, options.consumers)
    producers = sum(user.fixed_count for user in producing)
    for user in producing:
        if options.body_bytes is not None:
            user.body_bytes = options.body_bytes
        if options.in_flight is not None:
            user.in_flight = options.in_flight
        if options.transaction_size is not None:
            user.transaction_size = options.transaction_size
        if options.rate is not None:
            user.sends_per_second = options.rate / producers
    for each in scenario.users:
        _connect(each, options)
    require_transactions(producing)
    if options.pool_size is not None and not any(user.connections == POOLED for user in scenario.users):
        raise OptionError(
            f"--pool-size {options.pool_size}: nobody shares connections; add --connections {POOLED}, or leave it out"
        )


def _connect(user: type[BrokerUser], options: Options) -> None:
    """The habit by which a class holds its connections: what is called for each message sends, and never listens."""
    user.connections = options.connections or user.connections
    user.pool_size = user.pool_size if options.pool_size is None else options.pool_size
    if user.connections not in HABITS:
        known = ", ".join(HABITS)
        raise OptionError(f"{user.__name__}: connections = {user.connections!r} is no habit; write one of {known}")
    if user.pool_size < 1:
        raise OptionError(f"{user.__name__}: pool_size = {user.pool_size}: must be at least 1")
    if user.connections == PER_MESSAGE and issubclass(user, ConsumerUser):
        user.connections = ONE


def _count(users: Sequence[type[BrokerUser]], count: int | None) -> None:
    """Spread a count over several classes, the first ones getting what does not divide."""
    if count is None:
        return
    if count < len(users):
        names = ", ".join(user.__name__ for user in users)
        raise OptionError(f"{count} users for {len(users)} classes ({names}): each needs at least one")
    for index, user in enumerate(users):
        user.fixed_count = count // len(users) + (1 if index < count % len(users) else 0)
