"""From which broker to which can a message get, and in how many hops?

A message that has crossed i links may cross one more if that link's message_ttl is above i (NetworkBridgeFilter).
Demand travels the other way: of a path of k links, the i-th (from 0) knows of the consumer if its consumer_ttl is above
k-1-i. This holds for forwarding on demand; static, included and excluded destinations are not looked at.
"""

from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from topologies.links import Link
from topologies.validity import UNLIMITED


@dataclass(frozen=True)
class Path:
    """The brokers a message crosses at the least, first and last included."""

    route: tuple[str, ...]

    @property
    def begin(self) -> str:
        return self.route[0]

    @property
    def end(self) -> str:
        return self.route[-1]

    @property
    def hops(self) -> int:
        """Links crossed: 0 where producer and consumer are on one broker."""
        return len(self.route) - 1


def shortest_paths(brokers: Iterable[str], links: Iterable[Link]) -> dict[tuple[str, str], Path]:
    """The shortest path a message can take, for every (producer's broker, consumer's broker) that has one."""
    names, all_links = tuple(brokers), tuple(links)
    found = {(name, name): Path((name,)) for name in names}
    most = joined(names, all_links)
    for hops in range(1, _most_hops(len(names), all_links) + 1):
        if len(found) == len(most):
            break
        steps = [_following(link for link in all_links if _lets_pass(link, crossed, hops)) for crossed in range(hops)]
        for start in names:
            for route in _routes(start, steps):
                found.setdefault((start, route[-1]), Path(route))
    return found


def joined(brokers: Iterable[str], links: Iterable[Link]) -> set[tuple[str, str]]:
    """Every (from, to) that links would join if no TTL stood in the way."""
    following = _following(links)
    return {(start, end) for start in brokers for end in _downstream(start, following)}


def too_near(begin: str, end: str, links: Iterable[Link]) -> list[tuple[str, Link, int]]:
    """("message_ttl" or "consumer_ttl", link, what it would have to be) for all that shut the way of the fewest links.

    Empty where no link leads there, and where a message gets there anyway.
    """
    way = _fewest(begin, end, tuple(links))
    found = []
    for crossed, link in enumerate(way):
        for ttl, needed in (("message_ttl", crossed + 1), ("consumer_ttl", len(way) - crossed)):
            if UNLIMITED != getattr(link, ttl) < needed:
                found.append((ttl, link, needed))
    return found


def _fewest(begin: str, end: str, links: tuple[Link, ...]) -> tuple[Link, ...]:
    """The links of the shortest way if no TTL stood in it."""
    ways: dict[str, tuple[Link, ...]] = {begin: ()}
    waiting = deque([begin])
    while waiting and end not in ways:
        here = waiting.popleft()
        for link in links:
            for source, target in link.directions:
                if source == here and target not in ways:
                    ways[target] = (*ways[here], link)
                    waiting.append(target)
    return ways.get(end, ())


def _most_hops(brokers: int, links: tuple[Link, ...]) -> int:
    """No path is longer: it would meet a broker twice, or end at a link whose TTL is used up."""
    ttls = [brokers - 1]
    for of in ("message_ttl", "consumer_ttl"):
        given = [getattr(link, of) for link in links]
        ttls.append(brokers - 1 if UNLIMITED in given else max(given, default=0))
    return min(ttls)


def _lets_pass(link: Link, crossed: int, hops: int) -> bool:
    """Whether ``link`` can be the one after ``crossed`` others on a path of ``hops``."""
    message = link.message_ttl == UNLIMITED or crossed < link.message_ttl
    demand = link.consumer_ttl == UNLIMITED or hops - 1 - crossed < link.consumer_ttl
    return message and demand


def _following(links: Iterable[Link]) -> dict[str, list[str]]:
    """Broker to the brokers that its messages can go to next."""
    following: dict[str, list[str]] = {}
    for link in links:
        for source, target in link.directions:
            following.setdefault(source, []).append(target)
    return following


def _routes(start: str, steps: list[dict[str, list[str]]]) -> Iterator[tuple[str, ...]]:
    """One route from ``start`` to each broker that lies exactly ``steps`` away."""
    frontier: dict[str, tuple[str, ...]] = {start: (start,)}
    for following in steps:
        reached: dict[str, tuple[str, ...]] = {}
        for here, route in frontier.items():
            for target in following.get(here, ()):
                reached.setdefault(target, (*route, target))
        frontier = reached
    yield from frontier.values()


def _downstream(start: str, following: dict[str, list[str]]) -> set[str]:
    seen, waiting = {start}, [start]
    while waiting:
        fresh = [target for target in following.get(waiting.pop(), ()) if target not in seen]
        seen.update(fresh)
        waiting.extend(fresh)
    return seen
