"""Warns before a run starts where links do not carry what the scenario sends.

A topology itself warns about its producers and consumers. It cannot know the other clients of a scenario. Paths and
TTLs also ignore destinations, but links may include, exclude or match only some destinations.
"""

from collections.abc import Iterator, Sequence
from itertools import pairwise, product

from drivers.users.broker_user import BrokerUser
from drivers.users.locust_users import ConsumerUser, ProducerUser
from topologies.model.client_groups import CONSUMERS, PRODUCERS
from topologies.model.paths import Path
from topologies.model.topology import Topology
from topologies.model.validation import active, out_of_reach


def reachability_warnings(topology: Topology, users: Sequence[type[BrokerUser]]) -> tuple[str, ...]:
    """Sentences: who of a scenario's own groups are out of each other's reach, and which destinations stay behind."""
    consuming = [user for user in users if issubclass(user, ConsumerUser)]
    sent = dict.fromkeys(
        (producer.destination, (producer.group, consumer.group))
        for producer in users
        for consumer in consuming
        if issubclass(producer, ProducerUser) and producer.destination == consumer.destination
    )
    far = (told for groups in dict.fromkeys(groups for _, groups in sent) for told in _out_of_reach(topology, *groups))
    behind = ((sent_to, topology.stopped(topology.paths_between(*groups), sent_to)) for sent_to, groups in sent)
    return (*far, *(_sentence(topology, sent_to, stopped) for sent_to, stopped in behind if stopped))


def _out_of_reach(topology: Topology, producers: str, consumers: str) -> Iterator[str]:
    """The topology has already reported on the groups that every topology has."""
    if (producers, consumers) != (PRODUCERS, CONSUMERS):
        begins, ends = (active(topology.group(name).enter_at) for name in (producers, consumers))
        pairs = ((begin.name, end.name) for begin, end in product(begins, ends))
        yield from out_of_reach(pairs, topology.brokers, topology.links)


def _sentence(topology: Topology, destination: str, stopped: Sequence[Path]) -> str:
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
