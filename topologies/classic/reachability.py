"""Predicts whether a message sent to one Classic broker reaches a consumer at another, without running any broker.

This models ActiveMQ Classic 5.18.3 (NetworkBridgeFilter, DemandForwardingBridgeSupport). Two things travel:

* *Demand* goes against the direction of messages. A broker with advisories announces each consumer and each bridge's
  subscription. A link's sending end receives the announcements that pass its filter. It then subscribes, unless the
  announcement has crossed ``consumer_ttl`` brokers or more, or has crossed the sending broker itself. A link subscribes
  to ``statically_included_destinations`` without an announcement. This subscription is announced like any other.
  Wildcards work in all three lists, although the manual allows them only in the other two.
* *Messages* go to subscriptions. A link forwards a message if its ``message_ttl`` exceeds the number of links crossed.

The prediction covers possible paths. A queue's message goes to one of several consumers, so another consumer may take
it first. It may also get stuck behind a static bridge without a consumer, or in a ring. Not modeled:

* ``conduit_subscriptions`` keep the route to the consumer that was announced first, and suppressed duplicates keep the
  nearest. Here the nearest is always known. In cyclic networks with low TTLs a real message may reach fewer brokers.
* ``dynamic_only`` and ``sync_durable_subs``: a durable subscription counts as a consumer while it is active.
* temporary destinations, virtual topics (``use_virtual_dest_subs``), composite destinations, selectors, rate limits and
  ``replay_when_no_consumers``, which lets messages return.
* brokers and links that are down: all are assumed to be up, and an active broker has the standby's links.
"""

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from topologies.classic.broker import Broker
from topologies.classic.network_connectors import NetworkConnector
from topologies.model.broker import AnyBroker
from topologies.model.deliveries import matches
from topologies.model.link import Link
from topologies.model.validity import UNLIMITED

ADVISORIES = "ActiveMQ.Advisory.Consumer."
"""Prefix of the topics that announce a broker's consumers; ``Queue.`` or ``Topic.`` and the destination follow."""


def matches_any(patterns: Iterable[str], destination: str) -> bool:
    """Return whether one of the patterns, e.g. ``queue://orders.>``, matches e.g. ``queue://orders.eu``.

    The kinds must be equal.
    """
    kind, _, name = destination.partition("://")
    split = (pattern.partition("://") for pattern in patterns)
    return any(kind == wanted and matches(pattern, name) for wanted, _, pattern in split)


def is_advised(link: NetworkConnector, destination: str) -> bool:
    """Return whether the link listens for consumers of ``destination``.

    This depends on its ``destination_filter``, or on its included list.
    """
    if not link.destination_filter:
        dynamic = link.dynamically_included_destinations
        return not dynamic or matches_any(dynamic, destination)
    kind, _, name = destination.partition("://")
    advisory = f"{ADVISORIES}{kind.capitalize()}.{name}"
    filters = link.destination_filter.split(",")
    # The broker adds the prefix to the whole text, so only the first filter may lack it.
    first_filter = filters[0] if link.destination_filter.startswith(ADVISORIES) else ADVISORIES + filters[0]
    return any(matches(pattern.strip(), advisory) for pattern in (first_filter, *filters[1:]))


@dataclass(frozen=True)
class Direction:
    """One direction of a link. ``hears``: whether its sending end learns about consumers behind its receiving end."""

    sender: str
    receiver: str
    message_ttl: int
    consumer_ttl: int
    passes: bool
    hears: bool
    static: bool


def reaches(brokers: Sequence[AnyBroker], links: Sequence[Link], begin: str, end: str, destination: str) -> bool:
    """Return whether a message to ``destination`` can get from one broker to the other.

    ``destination``: ``queue://NAME`` or ``topic://NAME``. Neither broker is a standby: `Topology.reaches` substitutes
    the active broker.
    """
    advised = {broker.name: broker.advisory_support for broker in brokers if isinstance(broker, Broker)}
    bridges = [link for link in links if isinstance(link, NetworkConnector)]
    directions = [
        direction for link in bridges for direction in _directions(link, destination, advised) if direction.passes
    ]
    subscribed = _subscribed_directions(directions, end)
    return end in _hops(_group_by_end(subscribed, lambda direction: direction.sender), begin)


def carries_all(brokers: Sequence[AnyBroker], links: Sequence[Link], destination: str) -> bool:
    """Return whether each link carries messages to ``destination`` on demand, so that only TTLs can stop them."""
    advised = {broker.name: broker.advisory_support for broker in brokers if isinstance(broker, Broker)}
    bridges = [link for link in links if isinstance(link, NetworkConnector)]
    return all(
        direction.passes and direction.hears
        for link in bridges
        for direction in _directions(link, destination, advised)
    )


def _directions(link: NetworkConnector, destination: str, advised: Mapping[str, bool]) -> Iterable[Direction]:
    for sender, receiver in link.directions:
        ttls = (sender, receiver, link.message_ttl, link.consumer_ttl)
        hears = not link.static_bridge and advised[receiver] and is_advised(link, destination)
        yield Direction(*ttls, _permits(link, destination), hears, _is_static(link, destination))


def _is_static(link: NetworkConnector, destination: str) -> bool:
    return matches_any(link.statically_included_destinations, destination)


def _permits(link: NetworkConnector, destination: str) -> bool:
    """Return whether the link may carry messages to ``destination``.

    Exclusion has precedence. A static or dynamic inclusion permits; without a dynamic list every other destination is
    permitted.
    """
    if matches_any(link.excluded_destinations, destination):
        return False
    dynamic = link.dynamically_included_destinations
    return not dynamic or matches_any(dynamic, destination) or _is_static(link, destination)


def _subscribed_directions(directions: Sequence[Direction], consumer: str) -> Iterator[Direction]:
    """Yield the directions with a subscription at their sending end.

    The subscription is static, or follows an announcement that came by another direction.
    """
    towards = _group_by_end(directions, lambda direction: direction.receiver)
    static = [(direction.sender, direction.receiver) for direction in directions if direction.static]
    for sender, leaving in _group_by_end(directions, lambda direction: direction.sender).items():
        news = [_spread_news(towards, consumer, 0, {sender})]
        news += [_spread_news(towards, source, 1, {sender, end}) for source, end in static]
        for direction in leaving:
            heard = (
                crossed_by_broker[direction.receiver]
                for crossed_by_broker in news
                if direction.receiver in crossed_by_broker
            )
            if direction.static or (
                direction.hears and any(_is_below(crossed, direction.consumer_ttl) for crossed in heard)
            ):
                yield direction


def _spread_news(
    towards: Mapping[str, Sequence[Direction]], source: str, crossed: int, without: set[str]
) -> dict[str, int]:
    """Map each broker to the fewest brokers that the announcement of a subscription at ``source`` crosses to it.

    ``without``: brokers that ignore the announcement, or do not forward it because it has already crossed them.
    """
    news = {} if source in without else {source: crossed}
    waiting = deque(news)
    while waiting:
        here = waiting.popleft()
        for direction in towards.get(here, ()):
            listens = direction.hears and direction.sender not in without and direction.sender not in news
            if listens and _is_below(news[here], direction.consumer_ttl):
                news[direction.sender] = news[here] + 1
                waiting.append(direction.sender)
    return news


def _hops(leaving: Mapping[str, Sequence[Direction]], begin: str) -> dict[str, int]:
    """Map each broker to the fewest links that a message crosses to it. Fewer is never worse, so nearest suffice."""
    hops, waiting = {begin: 0}, deque([begin])
    while waiting:
        here = waiting.popleft()
        for direction in leaving.get(here, ()):
            if direction.receiver not in hops and _is_below(hops[here], direction.message_ttl):
                hops[direction.receiver] = hops[here] + 1
                waiting.append(direction.receiver)
    return hops


def _group_by_end(directions: Iterable[Direction], end: Callable[[Direction], str]) -> dict[str, list[Direction]]:
    """Group directions by the broker at one end."""
    directions_by_broker: dict[str, list[Direction]] = {}
    for direction in directions:
        directions_by_broker.setdefault(end(direction), []).append(direction)
    return directions_by_broker


def _is_below(crossed: int, ttl: int) -> bool:
    return ttl == UNLIMITED or crossed < ttl
