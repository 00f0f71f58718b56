"""Refuses a run whose requests could get no reply, before anything starts."""

from collections.abc import Iterable, Sequence

from drivers.client.connection_modes import ONE
from drivers.protocols import Spoken
from drivers.users.locust_users import ConsumerUser, ProducerUser
from scenarios.harness.options.run_options import OptionError
from scenarios.options import Options
from topologies.model.topology import Topology


def require_ways_back(
    producing: Iterable[type[ProducerUser]], consuming: Sequence[type[ConsumerUser]], options: Options
) -> None:
    """Whoever awaits replies can get them: by protocol, connection, and the topology's links. Raises OptionError."""
    topology = options.built_topology
    asking = [user for user in producing if user.awaits_replies]
    answering = [user for user in consuming if user.replies]
    if not asking and not answering:
        return
    _require_protocol(options, topology)
    for user in asking:
        _require_connection(user)
        repliers = [each for each in answering if each.destination == user.destination]
        if not repliers:
            raise OptionError(
                f"{user.__name__}: awaits_replies = True, and nobody replies to {user.destination}; write replies = "
                "True in a ConsumerUser of that destination"
            )
        for replier in repliers:
            _require_paths(topology, user.group, replier.group)


def _require_protocol(options: Options, topology: Topology) -> None:
    able = topology.product.temporary_queues_by
    for protocol in Spoken.parse(options.protocol).distinct:
        if protocol not in ("memory", *able):
            raise OptionError(
                f"--protocol {options.protocol}: {protocol} has no temporary queues for replies on brokers of "
                f"{topology.flavour}, and {topology.name} has such; choose --protocol {' or '.join(able)}"
            )
    spoken = Spoken.parse(options.protocol)
    if (spoken.producers, spoken.consumers) in topology.product.unanswered:
        raise OptionError(
            f"--protocol {options.protocol}: on brokers of {topology.flavour} {spoken.consumers} clients cannot reply "
            f"to temporary queues of {spoken.producers} clients; choose one protocol for both"
        )


def _require_connection(user: type[ProducerUser]) -> None:
    if user.destinations > 1:
        raise OptionError(
            f"{user.__name__}: destinations = {user.destinations}: requests go to one destination here, so that its "
            "replies have one name; leave --destinations out"
        )
    if user.transaction_size:
        raise OptionError(
            f"{user.__name__}: transaction_size = {user.transaction_size}: requests of a transaction would wait "
            "for its end; leave transactions out"
        )
    if user.connections != ONE:
        raise OptionError(
            f"{user.__name__}: connections = {user.connections!r}: a temporary queue belongs to one connection; write "
            f"{ONE!r}"
        )


def _require_paths(topology: Topology, requesters: str, repliers: str) -> None:
    """Each replier's broker reaches each requester's."""
    known = topology.paths()
    for begin in topology.group(repliers).enter_at:
        for end in topology.group(requesters).enter_at:
            if (begin.name, end.name) not in known:
                raise OptionError(
                    f"--topology {topology.name}: no path leads from {begin.name!r}, where {repliers} reply, back to "
                    f"{end.name!r}; make its links duplex, or choose chain"
                )
