"""From which broker to which can a message get, and in how many hops?

A message that has crossed i links may cross one more if that link's message_ttl is above i (NetworkBridgeFilter).
Demand travels the other way: of a path of k links, the i-th (from 0) knows of the consumer if its consumer_ttl is above
k-1-i. This holds for forwarding on demand; static, included and excluded destinations are not looked at.
"""

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
    for hops in range(1, len(names)):
        for start in names:
            for route in _routes(start, hops, all_links):
                found.setdefault((start, route[-1]), Path(route))
    return found


def _routes(start: str, hops: int, links: tuple[Link, ...]) -> Iterator[tuple[str, ...]]:
    """One route of exactly ``hops`` links from ``start`` to each broker that the TTLs allow."""
    frontier: dict[str, tuple[str, ...]] = {start: (start,)}
    for crossed in range(hops):
        following: dict[str, tuple[str, ...]] = {}
        for link in links:
            if _lets_pass(link, crossed, hops):
                for source, target in link.directions:
                    if source in frontier and target not in frontier[source]:
                        following.setdefault(target, (*frontier[source], target))
        frontier = following
    yield from frontier.values()


def _lets_pass(link: Link, crossed: int, hops: int) -> bool:
    message = link.message_ttl == UNLIMITED or crossed < link.message_ttl
    demand = link.consumer_ttl == UNLIMITED or hops - 1 - crossed < link.consumer_ttl
    return message and demand


def joined(brokers: Iterable[str], links: Iterable[Link]) -> set[tuple[str, str]]:
    """Every (from, to) that links would join if no TTL stood in the way."""
    edges = {edge for link in links for edge in link.directions}
    pairs = {(name, name) for name in brokers}
    while True:
        further = {(start, target) for start, middle in pairs for source, target in edges if source == middle}
        if further <= pairs:
            return pairs
        pairs |= further
