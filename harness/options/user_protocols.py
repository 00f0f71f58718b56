"""Finds the protocol of each user class: the class's setting, or the protocol of ``--protocol`` by default."""

from collections.abc import Iterable
from dataclasses import dataclass

from drivers.protocols import PROTOCOLS, Spoken
from drivers.users.broker_user import BrokerUser
from harness.options.routing import ProducerConsumerPair
from harness.scenario import Scenario
from records.errors import UserError
from topologies.model.spelling import nearest

MEMORY = "memory"
OF_REAL_BROKERS = [protocol for protocol in PROTOCOLS if protocol != MEMORY]


@dataclass(frozen=True, order=True)
class Exchange:
    """Producers of one client group that send to consumers of another, each by a protocol."""

    producers: str
    consumers: str
    protocols: tuple[str, str]


def exchanges_of(pairs: Iterable[ProducerConsumerPair], spoken: Spoken) -> tuple[Exchange, ...]:
    """Return the distinct exchanges between producer and consumer classes, sorted."""
    exchanges = {
        Exchange(
            producer.group,
            consumer.group,
            (spoken.of(producer.role, producer.__name__), spoken.of(consumer.role, consumer.__name__)),
        )
        for producer, consumer, _ in pairs
    }
    return tuple(sorted(exchanges))


def protocols_of(scenario: Scenario, option: str | None, *, in_memory: bool) -> str:
    """Return the protocols of a run, as `Spoken` writes them. ``option``: the value of ``--protocol``.

    ``in_memory``: the brokers are simulated in memory and support only the protocol ``memory``. Raises UserError.
    """
    if option and "=" in option:
        raise UserError(
            f"--protocol {option}: the option cannot set protocols of user classes; write protocol = … in the class"
        )
    default = option or (MEMORY if in_memory else scenario.default_protocol)
    own = [user for user in scenario.users if user.protocol]
    if not own:
        return default
    for user in own:
        _require_possible(user, in_memory=in_memory)
    if option and len(own) == len(scenario.users):
        raise UserError(
            f"--protocol {option}: it applies to user classes that do not set a protocol, but all of "
            f"{', '.join(user.__name__ for user in own)} set one; leave the option out, or the protocol of a class"
        )
    try:
        spoken_by_default = Spoken.parse(default)
    except ValueError as error:
        raise UserError(f"--protocol {default}: {error}") from error
    return str(_spoken(scenario, spoken_by_default))


def _require_possible(user: type[BrokerUser], *, in_memory: bool) -> None:
    subject = f"{user.__name__}: protocol = {user.protocol!r}"
    if in_memory:
        raise UserError(
            f"{subject}: brokers in memory support only {MEMORY}; leave out the class's protocol, or --runtime {MEMORY}"
        )
    if user.protocol not in OF_REAL_BROKERS:
        hint = nearest(str(user.protocol), OF_REAL_BROKERS)
        next_step = f"{hint} Write" if hint else "; write"
        raise UserError(f"{subject}: unknown protocol{next_step} one of {', '.join(OF_REAL_BROKERS)}")


def _spoken(scenario: Scenario, default: Spoken) -> Spoken:
    """Return the protocols of both roles and of each class that differs from its role.

    A role's protocol is the default if a class of this role uses it, otherwise the protocol of the first class.
    """
    by_role: dict[str, dict[str, str]] = {"producer": {}, "consumer": {}}
    for user in scenario.users:
        by_role[user.role][user.__name__] = user.protocol or default.of(user.role)
    of_role = {}
    for role, by_class in by_role.items():
        protocols = [*by_class.values()]
        of_role[role] = default.of(role) if default.of(role) in protocols else protocols[0]
    of_classes = tuple(
        (name, protocol)
        for role, by_class in by_role.items()
        for name, protocol in by_class.items()
        if protocol != of_role[role]
    )
    return Spoken(of_role["producer"], of_role["consumer"], of_classes)
