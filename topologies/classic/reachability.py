"""Predicts whether a message sent at one Classic broker gets to a consumer at another. Nothing runs.

This models ActiveMQ Classic 5.18.3 (NetworkBridgeFilter, DemandForwardingBridgeSupport). Two things travel:

* *Demand* goes against the direction of messages. A broker with advisories announces each consumer and each bridge's
  subscription. A link's sending end hears an announcement that its filter lets through. It then subscribes, unless the
  announcement has crossed ``consumer_ttl`` brokers or more, or has crossed the sending broker itself. A link subscribes
  to ``statically_included_destinations`` without an announcement. This subscription is announced like any other.
  Wildcards work in all three lists, though the manual allows them only in the other two.
* *Messages* go to subscriptions. A link forwards a message if its ``message_ttl`` is above the number of links crossed.

The prediction says what is possible. A queue's message goes to one of several consumers, so another consumer may take
it first. It may also get stuck: a static bridge without a consumer, or a ring, can draw it. Not modelled:

* ``conduit_subscriptions`` keep the route to the consumer that was announced first, and suppressed duplicates keep the
  nearest. Here the nearest is always known. On cyclic networks with low TTLs a real message may reach fewer brokers.
* ``dynamic_only`` and ``sync_durable_subs``: a durable subscription counts as a consumer while it is active.
* temporary destinations, virtual topics (``use_virtual_dest_subs``), composite destinations, selectors, rate limits and
  ``replay_when_no_consumers``, which lets messages go back.
* brokers and links that are down: all are assumed to be up, and an active broker has its standby's links.
"""

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from topologies.classic.broker import Broker
from topologies.classic.network_connectors import NetworkConnector
from topologies.model.broker import AnyBroker
from topologies.model.link import Link
from topologies.model.validity import UNLIMITED

ADVISORIES = "ActiveMQ.Advisory.Consumer."
"""Topics on which a broker tells of its consumers: this, ``Queue.`` or ``Topic.``, and the destination's name."""


def matches_any(patterns: Iterable[str], destination: str) -> bool:
    """Whether one of ``queue://orders.>``, … means ``queue://orders.eu``. Kinds must agree."""
    kind, _, name = destination.partition("://")
    split = (pattern.partition("://") for pattern in patterns)
    return any(kind == wanted and matches(pattern, name) for wanted, _, pattern in split)


def matches(pattern: str, name: str) -> bool:
    """By levels, which dots part: ``orders.>`` means ``orders`` and all below it, ``orders.*`` what is one below."""
    wanted, given = pattern.split("."), name.split(".")
    for at, part in enumerate(wanted):
        if part == ">" and at == len(wanted) - 1:
            return len(given) >= at
        if at >= len(given) or part not in ("*", given[at]):
            return False
    return len(wanted) == len(given)


def is_advised(link: NetworkConnector, destination: str) -> bool:
    """Whether the link listens for consumers of ``destination``: by its ``destination_filter``, or all it includes."""
    if not link.destination_filter:
        dynamic = link.dynamically_included_destinations
        return not dynamic or matches_any(dynamic, destination)
    kind, _, name = destination.partition("://")
    advisory = f"{ADVISORIES}{kind.capitalize()}.{name}"
    filters = link.destination_filter.split(",")
    # The broker puts the prefix before the whole text, so only the first one may go without it.
    first = filters[0] if link.destination_filter.startswith(ADVISORIES) else ADVISORIES + filters[0]
    return any(matches(pattern.strip(), advisory) for pattern in (first, *filters[1:]))


@dataclass(frozen=True)
class Direction:
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

    Neither broker is a standby: `Topology.reaches` asks for its active broker instead.
    """
    advised = {broker.name: broker.advisory_support for broker in brokers if isinstance(broker, Broker)}
    bridges = [link for link in links if isinstance(link, NetworkConnector)]
    ways = [way for link in bridges for way in _ways(link, destination, advised) if way.passes]
    return end in _hops(_by(_asked_for(ways, end), lambda way: way.sender), begin)


def carries_all(brokers: Sequence[AnyBroker], links: Sequence[Link], destination: str) -> bool:
    """Whether each link carries messages to ``destination`` on demand, so that only TTLs can stop them."""
    advised = {broker.name: broker.advisory_support for broker in brokers if isinstance(broker, Broker)}
    bridges = [link for link in links if isinstance(link, NetworkConnector)]
    return all(way.passes and way.hears for link in bridges for way in _ways(link, destination, advised))


def _ways(link: NetworkConnector, destination: str, advised: Mapping[str, bool]) -> Iterable[Direction]:
    for sender, receiver in link.directions:
        ttls = (sender, receiver, link.message_ttl, link.consumer_ttl)
        hears = not link.static_bridge and advised[receiver] and is_advised(link, destination)
        yield Direction(*ttls, _permits(link, destination), hears, _is_static(link, destination))


def _is_static(link: NetworkConnector, destination: str) -> bool:
    return matches_any(link.statically_included_destinations, destination)


def _permits(link: NetworkConnector, destination: str) -> bool:
    """Exclusion comes first.

    A static or dynamic inclusion permits. Without a dynamic list all other destinations are permitted.
    """
    if matches_any(link.excluded_destinations, destination):
        return False
    dynamic = link.dynamically_included_destinations
    return not dynamic or matches_any(dynamic, destination) or _is_static(link, destination)


def _asked_for(ways: Sequence[Direction], consumer: str) -> Iterator[Direction]:
    """The directions with a subscription at their sending end.

    It is static, or follows news that came by another direction.
    """
    towards = _by(ways, lambda way: way.receiver)
    static = [(way.sender, way.receiver) for way in ways if way.static]
    for sender, leaving in _by(ways, lambda way: way.sender).items():
        news = [_told(towards, consumer, 0, {sender})]
        news += [_told(towards, source, 1, {sender, end}) for source, end in static]
        for way in leaving:
            heard = (told[way.receiver] for told in news if way.receiver in told)
            if way.static or (way.hears and any(_is_below(crossed, way.consumer_ttl) for crossed in heard)):
                yield way


def _told(towards: Mapping[str, Sequence[Direction]], source: str, crossed: int, without: set[str]) -> dict[str, int]:
    """Broker to the fewest brokers that news of a subscription at ``source`` crossed to get there.

    ``without``: brokers that ignore it, or need not pass it on because it has crossed them already.
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


def _hops(leaving: Mapping[str, Sequence[Direction]], begin: str) -> dict[str, int]:
    """Broker to the fewest links that a message crosses to get there. Fewer are never worse, so the nearest suffice."""
    hops, waiting = {begin: 0}, deque([begin])
    while waiting:
        here = waiting.popleft()
        for way in leaving.get(here, ()):
            if way.receiver not in hops and _is_below(hops[here], way.message_ttl):
                hops[way.receiver] = hops[here] + 1
                waiting.append(way.receiver)
    return hops


def _by(ways: Iterable[Direction], end: Callable[[Direction], str]) -> dict[str, list[Direction]]:
    """The ways by one of their ends."""
    found: dict[str, list[Direction]] = {}
    for way in ways:
        found.setdefault(end(way), []).append(way)
    return found


def _is_below(crossed: int, ttl: int) -> bool:
    return ttl == UNLIMITED or crossed < ttl
