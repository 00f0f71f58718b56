"""Warns before a run starts where links do not carry what the scenario sends, and refuses what no consumer can get.

A topology itself warns about its producers and consumers. It cannot know the other clients of a scenario. Paths and
TTLs also ignore destinations, but links may include, exclude or match only some destinations.
"""

from collections.abc import Iterator, Sequence
from itertools import pairwise, product

from drivers.users.broker_user import BrokerUser
from drivers.users.locust_users import ConsumerUser, ProducerUser
from records.errors import UserError
from records.run import OUT_OF_REACH
from scenarios.options import Options
from topologies.model.client_groups import CONSUMERS, PRODUCERS
from topologies.model.paths import Path
from topologies.model.topology import Topology
from topologies.model.validation import active, out_of_reach
from topologies.runtimes.capabilities import Capability, can


def reachability_warnings(topology: Topology, users: Sequence[type[BrokerUser]]) -> tuple[str, ...]:
    """Sentences: who of a scenario's own groups are out of each other's reach, and which destinations stay behind."""
    sent = _sent(users)
    far = (
        sentence
        for groups in dict.fromkeys(groups for _, groups in sent)
        for sentence in _out_of_reach(topology, *groups)
    )
    return (*far, *(sentence for names, groups in sent for sentence in _left_behind(topology, names, groups)))


def require_carried(topology: Topology, users: Sequence[type[BrokerUser]], options: Options) -> None:
    """Each destination can get from each broker of its producers to one of its consumers'. Raises UserError.

    It is not known of brokers that run already. Brokers in memory have no links.
    """
    if not can(options.runtime, Capability.CONFIGURES_BROKERS):
        return
    by_name: dict[str, set[Path]] = {}
    for names, groups in _sent(users):
        for name in names:
            by_name.setdefault(name, set()).update(topology.paths_between(*groups))
    for name, paths in by_name.items():
        stopped = topology.stopped(sorted(paths, key=lambda path: path.route), name)
        carried = {path.begin for path in paths.difference(stopped)}
        if stuck := [path for path in stopped if path.begin not in carried]:
            raise UserError(f"--topology {options.topology}: {_sentence(topology, name, stuck, '')}")


def _sent(users: Sequence[type[BrokerUser]]) -> Sequence[tuple[tuple[str, ...], tuple[str, str]]]:
    """Each pair of groups whose clients send and receive at the same destinations, with these."""
    consuming = [user for user in users if issubclass(user, ConsumerUser)]
    return tuple(
        dict.fromkeys(
            (names, (producer.group, consumer.group))
            for producer in users
            for consumer in consuming
            if issubclass(producer, ProducerUser) and (names := common_destinations(producer, consumer))
        )
    )


def common_destinations(producer: type[BrokerUser], consumer: type[BrokerUser]) -> tuple[str, ...]:
    """Where one class sends and the other receives."""
    received = {*consumer.destination_names()}
    return tuple(name for name in producer.destination_names() if name in received)


def _left_behind(topology: Topology, names: Sequence[str], groups: tuple[str, str]) -> Iterator[str]:
    """One sentence for all of these destinations that do not get everywhere."""
    paths = topology.paths_between(*groups)
    behind = {name: stopped for name in names if (stopped := topology.stopped(paths, name))}
    if behind:
        destination, *further = behind
        yield _sentence(
            topology, destination, behind[destination], f" and {len(further)} more destinations" if further else ""
        )


def _out_of_reach(topology: Topology, producers: str, consumers: str) -> Iterator[str]:
    """The topology has already reported on the groups that every topology has."""
    if (producers, consumers) != (PRODUCERS, CONSUMERS):
        begins, ends = (active(topology.group(name).enter_at) for name in (producers, consumers))
        pairs = ((begin.name, end.name) for begin, end in product(begins, ends))
        yield from out_of_reach(pairs, topology.brokers, topology.links)


def _sentence(topology: Topology, destination: str, stopped: Sequence[Path], and_more: str) -> str:
    path = stopped[0]
    more_pairs = f" (nor between {len(stopped) - 1} more pairs of brokers)" if stopped[1:] else ""
    links = ", ".join(_stopping(topology, path, destination))
    return (
        f"{destination}{and_more} cannot get from {path.begin!r} to {OUT_OF_REACH} {path.end!r}{more_pairs}: "
        f"not carried by {links or 'the links between them'}; change the topology so that its links carry "
        f"{destination}, or send to a destination that they carry"
    )


def _stopping(topology: Topology, path: Path, destination: str) -> Iterator[str]:
    """The links of those hops that the destination cannot take even alone."""
    for hop in pairwise(path.route):
        if not topology.reaches(*hop, destination):
            yield from (f"link {link.name!r}" for link in topology.links if hop in link.directions)
