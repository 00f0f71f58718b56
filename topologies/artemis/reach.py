"""Can a message sent at one Artemis broker get to a consumer at another? A prediction from the links; nothing runs.

As 2.44.0 does it. Two kinds of links move messages:

* *AMQP connections* move what they match over any number of links, asked for or not. ``senders`` push from a queue of
  the opener's, which is there as soon as a message is; ``receivers`` pull into a queue of the opener's that has to be
  there: made with the broker, or by the consumer, where that is the opener. ``peers`` do both. A ``mirror`` repeats
  what its filter lets pass.
* A *cluster* sends on, over at most ``max_hops`` of its links, to a member that asks for it: where the consumer is, or
  one that a connection takes it on from, by a receiver or from a queue that was made with the broker.

Who subscribes to a *topic* has a queue of his own at his broker, made then. Clusters send it there, but at any other
broker there is none for a sender to push from, and nothing for a mirror to repeat. Receivers make one at their other
end, which is a subscriber's only where that broker's ``default_routing`` is MULTICAST.

What "can" leaves out: a message may be taken elsewhere before, by another consumer or over another link. Not modelled:

* alternates: all brokers are taken to be up before a connection is tried, which then ends at its first end. Behind it,
  one that is no standby of that end is reached once the connection broke, or if only that one listened in time; there
  it stays (`Topology.warnings` says so).
* addresses of whose queues another setting says that they are not made by clients, queues that a mirror makes, and
  what STRICT and OFF_WITH_REDISTRIBUTION do beside what ON_DEMAND does.
* receivers one behind another: a queue that a receiver made at its other end starts the receivers of that broker too,
  as any queue does that is made there; that it does is not looked for, and such a path is taken to be none.
* a router's own addresses: what it takes and gives out itself passes, also where no queue stands behind a waypoint.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from topologies.artemis.addresses import AddressSetting
from topologies.artemis.brokers import ArtemisBroker
from topologies.artemis.links import AddressMatch, BrokerConnection, ClusterLink
from topologies.artemis.matching import filter_passes, overlap
from topologies.brokers import AnyBroker
from topologies.links import Link


@dataclass(frozen=True)
class Move:
    """One direction in which a connection moves messages. ``asks``: whether it is a consumer at its beginning."""

    begin: str
    end: str
    asks: bool


def reaches(brokers: Sequence[AnyBroker], links: Sequence[Link], begin: str, end: str, destination: str) -> bool:
    """Whether a message to ``destination`` (``queue://NAME``, ``topic://NAME``) can get from one broker to the other.

    None of the two is a standby: `Topology.reaches` asks for what it becomes, its active.
    """
    connections = [link for link in links if isinstance(link, BrokerConnection)]
    moves = [move for link in connections for move in _moves(link, destination, end)]
    asking = {end, *(move.begin for move in moves if move.asks)}
    steps = defaultdict(set)
    for move in moves:
        steps[move.begin].add(move.end)
    for here, there in _cluster_steps([link for link in links if isinstance(link, ClusterLink)]):
        if there in asking:
            steps[here].add(there)
    return end in _within(begin, steps, len(brokers))


def _moves(link: BrokerConnection, destination: str, consumer: str) -> Iterator[Move]:
    here, there = link.opened_by.name, link.to.name
    kind, _, address = destination.partition("://")
    made = _made_with(link.opened_by, address) if kind == "queue" else ()
    queues = made or (address,)  # as a client's message makes it
    if kind == "queue" and any(_takes(match, address, queues) for match in (*link.senders, *link.peers)):
        yield Move(here, there, asks=bool(made))
    if kind == "queue" and link.mirror and filter_passes(link.mirror.address_filter, address):
        yield Move(here, there, asks=False)
    pulled = any(_takes(match, address, queues) for match in (*link.receivers, *link.peers))
    if pulled and (made or here == consumer) and (kind == "queue" or _subscribes(link.to, address)):
        yield Move(there, here, asks=True)


def _subscribes(broker: AnyBroker, address: str) -> bool:
    """Whether a queue that a receiver makes at the broker is one of a topic."""
    settings = broker.address_settings if isinstance(broker, ArtemisBroker) else ()
    matching = [each for each in settings if overlap(each.match, address)]
    return bool(matching) and max(matching, key=_specific).default_routing == "MULTICAST"


def _specific(setting: AddressSetting) -> tuple[int, int]:
    """The broker takes the most specific setting: more words as they are, then more words at all."""
    words = setting.match.split(".")
    return sum(word not in ("*", "#") for word in words), len(words)


def _made_with(broker: AnyBroker, address: str) -> tuple[str, ...]:
    """The queues of an address that are there from the start."""
    declared = broker.addresses if isinstance(broker, ArtemisBroker) else ()
    return tuple(queue for each in declared if each.name == address for queue in each.queues)


def _takes(match: AddressMatch, address: str, queues: Sequence[str]) -> bool:
    return match.queue_name in queues if match.queue_name else overlap(match.address_match, address)


def _cluster_steps(links: Sequence[ClusterLink]) -> Iterator[tuple[str, str]]:
    """(from, to) for members of one cluster that are no more links apart than it allows."""
    for cluster in {link.cluster for link in links}:
        steps = defaultdict(set)
        for link in links:
            for here, there in link.directions if link.cluster == cluster else ():
                steps[here].add(there)
        for here in tuple(steps):
            yield from ((here, there) for there in _within(here, steps, cluster.max_hops))


def _within(begin: str, steps: Mapping[str, set[str]], most: int) -> set[str]:
    """Where so many steps lead at most, ``begin`` included."""
    reached, last = {begin}, {begin}
    for _ in range(most):
        last = {there for here in last for there in steps.get(here, ())} - reached
        reached |= last
    return reached
