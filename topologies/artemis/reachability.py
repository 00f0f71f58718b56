"""Predicts whether a message sent to one Artemis broker reaches a consumer at another, without running any broker.

This models Artemis 2.44.0. Two kinds of links move messages:

* *AMQP connections* move the messages that they match, over any number of links. They do not wait for demand.
  ``senders`` push from a queue of the opener, which exists as soon as there is a message. ``receivers`` pull into a
  queue of the opener, which must exist: it is created with the broker, or by the consumer at the opener. ``peers`` do
  both. A ``mirror`` repeats the messages that pass its filter.
* A *cluster* forwards a message over at most ``max_hops`` cluster links, to a member with demand. This is the
  consumer's broker, or a member whose AMQP connection forwards the message: by a receiver, or from a queue that was
  created with the broker.

A subscriber to a *topic* gets a separate queue at its broker when it subscribes. Clusters forward messages to that
queue. Other brokers do not have this queue, so a sender has nothing to push from and a mirror nothing to repeat. A
receiver creates a queue at its other end. It is a subscriber's queue only if that broker's ``default_routing`` is
MULTICAST.

The prediction covers possible paths: another consumer or link may still take the message first. Not modeled:

* alternates: all brokers are assumed to be up before a connection is tried, so it ends at its first listed broker. If
  an alternate is not a standby of the first broker, the connection reaches it only after a break, or if only the
  alternate listened in time. Then it stays there (see the warning in `Topology.warnings`).
* addresses with a setting that does not let clients create queues; queues that a mirror creates; and the differences
  between STRICT or OFF_WITH_REDISTRIBUTION and ON_DEMAND.
* chains of receivers: a queue that a receiver creates at its other end also starts that broker's receivers, like any
  new queue there. The prediction ignores this and reports the path as missing.
* a router's own addresses: messages that the router itself accepts and delivers pass, even if there is no queue behind
  a waypoint.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from topologies.artemis.addresses import AddressSetting
from topologies.artemis.broker import ArtemisBroker
from topologies.artemis.links import AddressMatch, BrokerConnection, ClusterLink
from topologies.artemis.matching import filter_passes, overlap
from topologies.model.broker import AnyBroker
from topologies.model.link import Link


@dataclass(frozen=True)
class Move:
    """One direction of a connection. ``asks``: whether it is a consumer at its beginning."""

    begin: str
    end: str
    asks: bool


def reaches(brokers: Sequence[AnyBroker], links: Sequence[Link], begin: str, end: str, destination: str) -> bool:
    """Return whether a message to ``destination`` can get from one broker to the other.

    ``destination``: ``queue://NAME`` or ``topic://NAME``. Neither broker is a standby: `Topology.reaches` substitutes
    the active broker.
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


def carries_all(brokers: Sequence[AnyBroker], links: Sequence[Link], destination: str) -> bool:
    """Return False: each path must be checked."""
    return False


def _moves(link: BrokerConnection, destination: str, consumer: str) -> Iterator[Move]:
    here, there = link.opened_by.name, link.to.name
    kind, _, address = destination.partition("://")
    queues_at_start = _queues_at_start(link.opened_by, address) if kind == "queue" else ()
    queues = queues_at_start or (address,)  # the queue that a client's message creates
    if kind == "queue" and any(_takes(match, address, queues) for match in (*link.senders, *link.peers)):
        yield Move(here, there, asks=bool(queues_at_start))
    if kind == "queue" and link.mirror and filter_passes(link.mirror.address_filter, address):
        yield Move(here, there, asks=False)
    pulled = any(_takes(match, address, queues) for match in (*link.receivers, *link.peers))
    if pulled and (queues_at_start or here == consumer) and (kind == "queue" or _subscribes(link.to, address)):
        yield Move(there, here, asks=True)


def _subscribes(broker: AnyBroker, address: str) -> bool:
    """Return whether a queue that a receiver creates at the broker belongs to a topic."""
    settings = broker.address_settings if isinstance(broker, ArtemisBroker) else ()
    matching = [setting for setting in settings if overlap(setting.match, address)]
    return bool(matching) and max(matching, key=_specific).default_routing == "MULTICAST"


def _specific(setting: AddressSetting) -> tuple[int, int]:
    """Return a sort key: the broker uses the setting with the most literal words, then with the most words."""
    words = setting.match.split(".")
    return sum(word not in ("*", "#") for word in words), len(words)


def _queues_at_start(broker: AnyBroker, address: str) -> tuple[str, ...]:
    """Return the predefined queues of an address."""
    declared = broker.addresses if isinstance(broker, ArtemisBroker) else ()
    return tuple(queue for entry in declared if entry.name == address for queue in entry.queues)


def _takes(match: AddressMatch, address: str, queues: Sequence[str]) -> bool:
    return match.queue_name in queues if match.queue_name else overlap(match.address_match, address)


def _cluster_steps(links: Sequence[ClusterLink]) -> Iterator[tuple[str, str]]:
    """Yield (from, to) for members of the same cluster within ``max_hops`` of each other."""
    for cluster in {link.cluster for link in links}:
        steps = defaultdict(set)
        for link in links:
            for here, there in link.directions if link.cluster == cluster else ():
                steps[here].add(there)
        for here in tuple(steps):
            yield from ((here, there) for there in _within(here, steps, cluster.max_hops))


def _within(begin: str, steps: Mapping[str, set[str]], most: int) -> set[str]:
    """Return the brokers within ``most`` steps, including ``begin``."""
    reached, last = {begin}, {begin}
    for _ in range(most):
        last = {there for here in last for there in steps.get(here, ())} - reached
        reached |= last
    return reached
