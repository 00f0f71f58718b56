"""Do the links carry what a scenario sends? Told before anything starts: afterwards messages would wait somewhere.

Paths and their TTLs know nothing of destinations; links may include, exclude or match some of them only.
"""

from collections.abc import Iterator, Sequence
from itertools import pairwise

from drivers.users import BrokerUser, ConsumerUser, ProducerUser
from topologies.model import Path, Topology


def not_carried(topology: Topology, users: Sequence[type[BrokerUser]]) -> tuple[str, ...]:
    """A sentence for each destination that cannot get from where its producers enter to where its consumers do."""
    consuming = [user for user in users if issubclass(user, ConsumerUser)]
    sent = dict.fromkeys(
        (producer.destination, producer.group, consumer.group)
        for producer in users
        for consumer in consuming
        if issubclass(producer, ProducerUser) and producer.destination == consumer.destination
    )
    return tuple(
        _told(topology, destination, stopped)
        for destination, producers, consumers in sent
        if (stopped := topology.stopped(topology.paths_between(producers, consumers), destination))
    )


def _told(topology: Topology, destination: str, stopped: Sequence[Path]) -> str:
    first = stopped[0]
    others = f" (nor between {len(stopped) - 1} more pairs of brokers)" if stopped[1:] else ""
    links = ", ".join(_stopping(topology, first, destination))
    return (
        f"{destination} cannot get from {first.begin!r} to a consumer at {first.end!r}{others}: not carried by"
        f" {links or 'the links between them'}; let them, or send to what they carry"
    )


def _stopping(topology: Topology, path: Path, destination: str) -> Iterator[str]:
    """The links of those hops that the destination cannot take even alone."""
    for hop in pairwise(path.route):
        if not topology.reaches(*hop, destination):
            yield from (f"link {link.name!r}" for link in topology.links if hop in link.directions)
