"""Can a message sent at one Classic broker get to a consumer at another? A prediction from the links; nothing runs.

As ActiveMQ Classic 5.18.3 does it (NetworkBridgeFilter, DemandForwardingBridgeSupport). Two things travel:

* *Demand* goes against the direction of messages. A broker with advisories tells of each consumer and of each bridge's
  subscription; a link's sending end hears that if its filter lets it, and subscribes unless ``consumer_ttl`` brokers or
  more were crossed already, or the sending broker itself is among them. ``statically_included_destinations`` are
  subscribed to without asking anybody, and that is told on like any other subscription. Wildcards work in all three
  lists, though the manual allows them in the other two only.
* *Messages* go where a subscription waits, over a link whose ``message_ttl`` is above the number of links crossed.

What "can" leaves out: a queue's message goes to one of several consumers, so it may be taken elsewhere before, and it
may be drawn to where it cannot go on (a static bridge to nobody, a ring). Not modelled, either:

* ``conduit_subscriptions`` keep the way of the consumer that was heard of first, and suppressed duplicates keep the
  nearest; here the nearest is always known. On cyclic networks with tight TTLs reality may reach less.
* ``dynamic_only`` and ``sync_durable_subs``: a durable subscription counts as a consumer while it is active.
* temporary destinations, virtual topics (``use_virtual_dest_subs``), composite destinations, selectors, rate limits and
  ``replay_when_no_consumers``, which lets messages go back.
* brokers and links that are down: all are taken to be up, and an active to have its standby's links.
"""

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from topologies.brokers import AnyBroker, Broker
from topologies.destinations import is_advised, matches_any
from topologies.links import Link, NetworkConnector
from topologies.validity import UNLIMITED


@dataclass(frozen=True)
class Way:
    """One direction of a link. ``hears``: whether its sending end learns of consumers behind its receiving end."""

    sender: str
    receiver: str
    message_ttl: int
    consumer_ttl: int
    passes: bool
    hears: bool
    static: bool


def reaches(brokers: Sequence[AnyBroker], links: Sequence[Link], begin: str, end: str, destination: str) -> bool:
    """Whether a message to ``destination`` (``queue://NAME``, ``topic://NAME``) can get from one broker to the other.

    None of the two is a standby: `Topology.reaches` asks for what it becomes, its active.
    """
    advised = {broker.name: broker.advisory_support for broker in brokers if isinstance(broker, Broker)}
    bridges = [link for link in links if isinstance(link, NetworkConnector)]
    ways = [way for link in bridges for way in _ways(link, destination, advised) if way.passes]
    return end in _hops(_by(_asked_for(ways, end), lambda way: way.sender), begin)


def carry_all(brokers: Sequence[AnyBroker], links: Sequence[Link], destination: str) -> bool:
    """Whether each link carries messages to ``destination`` where they are asked for, so that TTLs alone stop them."""
    advised = {broker.name: broker.advisory_support for broker in brokers if isinstance(broker, Broker)}
    bridges = [link for link in links if isinstance(link, NetworkConnector)]
    return all(way.passes and way.hears for link in bridges for way in _ways(link, destination, advised))


def _ways(link: NetworkConnector, destination: str, advised: Mapping[str, bool]) -> Iterable[Way]:
    for sender, receiver in link.directions:
        ttls = (sender, receiver, link.message_ttl, link.consumer_ttl)
        hears = not link.static_bridge and advised[receiver] and is_advised(link, destination)
        yield Way(*ttls, _permits(link, destination), hears, _is_static(link, destination))


def _is_static(link: NetworkConnector, destination: str) -> bool:
    return matches_any(link.statically_included_destinations, destination)


def _permits(link: NetworkConnector, destination: str) -> bool:
    """Excluded wins; then what is included, statically or not; without a dynamic list all the rest."""
    if matches_any(link.excluded_destinations, destination):
        return False
    dynamic = link.dynamically_included_destinations
    return not dynamic or matches_any(dynamic, destination) or _is_static(link, destination)


def _asked_for(ways: Sequence[Way], consumer: str) -> Iterator[Way]:
    """The ways at whose sending end a subscription waits: a static one, or one for news that came not through it."""
    towards = _by(ways, lambda way: way.receiver)
    static = [(way.sender, way.receiver) for way in ways if way.static]
    for sender, leaving in _by(ways, lambda way: way.sender).items():
        news = [_told(towards, consumer, 0, {sender})]
        news += [_told(towards, source, 1, {sender, end}) for source, end in static]
        for way in leaving:
            heard = (told[way.receiver] for told in news if way.receiver in told)
            if way.static or (way.hears and any(_is_below(crossed, way.consumer_ttl) for crossed in heard)):
                yield way


def _told(towards: Mapping[str, Sequence[Way]], source: str, crossed: int, without: set[str]) -> dict[str, int]:
    """Broker to the fewest brokers that news of a subscription at ``source`` crossed to get there.

    ``without``: brokers that ignore it or whose passing it on is of no use, as they are among those crossed.
    """
    news = {} if source in without else {source: crossed}
    waiting = deque(news)
    while waiting:
        here = waiting.popleft()
        for way in towards.get(here, ()):
            listens = way.hears and way.sender not in without and way.sender not in news
            if listens and _is_below(news[here], way.consumer_ttl):
                news[way.sender] = news[here] + 1
                waiting.append(way.sender)
    return news


def _hops(leaving: Mapping[str, Sequence[Way]], begin: str) -> dict[str, int]:
    """Broker to the fewest links that a message crosses to get there. Fewer are never worse, so the nearest suffice."""
    hops, waiting = {begin: 0}, deque([begin])
    while waiting:
        here = waiting.popleft()
        for way in leaving.get(here, ()):
            if way.receiver not in hops and _is_below(hops[here], way.message_ttl):
                hops[way.receiver] = hops[here] + 1
                waiting.append(way.receiver)
    return hops


def _by(ways: Iterable[Way], end: Callable[[Way], str]) -> dict[str, list[Way]]:
    """The ways by one of their ends."""
    found: dict[str, list[Way]] = {}
    for way in ways:
        found.setdefault(end(way), []).append(way)
    return found


def _is_below(crossed: int, ttl: int) -> bool:
    return ttl == UNLIMITED or crossed < ttl
