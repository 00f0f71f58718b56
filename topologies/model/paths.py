"""Finds the paths that messages can take between brokers, and their hops.

A message that has crossed i links may cross another if that link's message_ttl is greater than i (NetworkBridgeFilter).
Demand travels in the other direction: in a path of k links, the i-th (from 0) knows of the consumer if its consumer_ttl
is greater than k-1-i. This holds for forwarding on demand; static, included and excluded destinations are ignored.

For links without TTLs: a cluster counts only cluster links, from the first one that a message crosses. Other links
count nothing.
"""

from collections import Counter, deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from topologies.model.link import Link
from topologies.model.validity import UNLIMITED

MESSAGE_TTL, CONSUMER_TTL, MAX_HOPS = "message_ttl", "consumer_ttl", "max_hops"
TTLS = {MESSAGE_TTL, CONSUMER_TTL}
"""The limits that together determine how far a message travels."""


@dataclass(frozen=True)
class Path:
    """The brokers on a shortest path of a message, including the first and the last."""

    route: tuple[str, ...]

    @property
    def begin(self) -> str:
        return self.route[0]

    @property
    def end(self) -> str:
        return self.route[-1]

    @property
    def hops(self) -> int:
        """Number of links crossed: 0 if producer and consumer are on the same broker."""
        return len(self.route) - 1


def count_by_links(paths: Iterable[Path]) -> tuple[int, ...]:
    """Return the number of paths that cross 0, 1, 2, … links; each pair of brokers counts once."""
    crossed = Counter({(path.begin, path.end): path.hops for path in paths}.values())
    return tuple(crossed[links] for links in range(max(crossed, default=-1) + 1))


def shortest_paths(brokers: Iterable[str], links: Iterable[Link]) -> dict[tuple[str, str], Path]:
    """Return the shortest path of a message for each (producer's broker, consumer's broker) with a path."""
    names, all_links = tuple(brokers), tuple(links)
    if not all(link.limits.keys() >= TTLS for link in all_links):
        return {pair: path for name in names for pair, path in _paths_by_clusters(name, all_links)}
    paths = {(name, name): Path((name,)) for name in names}
    most = connected_pairs(names, all_links)
    for hops in range(1, _most_hops(len(names), all_links) + 1):
        if len(paths) == len(most):
            break
        steps = [_following(link for link in all_links if _lets_pass(link, crossed, hops)) for crossed in range(hops)]
        for start in names:
            for route in _routes(start, steps):
                paths.setdefault((start, route[-1]), Path(route))
    return paths


def connected_pairs(brokers: Iterable[str], links: Iterable[Link]) -> set[tuple[str, str]]:
    """Return every (from, to) that the links would connect without TTLs."""
    following = _following(links)
    return {(start, end) for start in brokers for end in _downstream(start, following)}


def _paths_by_clusters(start: str, links: tuple[Link, ...]) -> Iterator[tuple[tuple[str, str], Path]]:
    """Search breadth first.

    A path is identified by its end, and by the number of links at the end that belong to one cluster.
    """
    leaving: dict[str, list[tuple[str, Link]]] = {}
    for link in links:
        for source, target in link.directions:
            leaving.setdefault(source, []).append((target, link))
    fewest: dict[tuple[str, str], int] = {}
    reached: set[str] = set()
    waiting: deque[tuple[tuple[str, ...], str, int]] = deque([((start,), "", 0)])
    while waiting:
        route, cluster, crossed = waiting.popleft()
        here = route[-1]
        if fewest.get((here, cluster), crossed + 1) <= crossed:
            continue  # a known path to here is no longer, and crossed no more links of this cluster
        fewest[here, cluster] = crossed
        if here not in reached:
            reached.add(here)
            yield (start, here), Path(route)
        for target, link in leaving.get(here, ()):
            its, so_far = _counted(link, cluster, crossed)
            if so_far <= link.limits.get(MAX_HOPS, so_far):
                waiting.append(((*route, target), its, so_far))


def _counted(link: Link, cluster: str, crossed: int) -> tuple[str, int]:
    """Return a link's cluster, and the number of crossed cluster links; an empty name and 0 outside a cluster."""
    if not link.cluster_name:
        return "", 0
    return link.cluster_name, crossed + 1 if link.cluster_name == cluster else 1


def blocking_limits(begin: str, end: str, links: Iterable[Link]) -> list[tuple[str, Link, int]]:
    """Return every limit that blocks the shortest path, as (field, link, needed value).

    ``field``: "message_ttl", "consumer_ttl" or "max_hops". Call it only if no path exists, as a path longer than the
    shortest may be open. Empty if no links lead there.
    """
    shortest = _fewest(begin, end, tuple(links))
    limits, cluster, hops = [], "", 0
    for crossed, link in enumerate(shortest):
        cluster, hops = _counted(link, cluster, hops)
        needed = {MESSAGE_TTL: crossed + 1, CONSUMER_TTL: len(shortest) - crossed, MAX_HOPS: hops}
        for limit, value in link.limits.items():
            if UNLIMITED != value < needed[limit]:
                limits.append((limit, link, needed[limit]))
    return limits


def _fewest(begin: str, end: str, links: tuple[Link, ...]) -> tuple[Link, ...]:
    """Return the links of the shortest path, ignoring TTLs."""
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
    """Return the greatest length of any path: a longer path would revisit a broker, or exceed every TTL."""
    ttls = [brokers - 1]
    for field in ("message_ttl", "consumer_ttl"):
        limits = [getattr(link, field) for link in links]
        ttls.append(brokers - 1 if UNLIMITED in limits else max(limits, default=0))
    return min(ttls)


def _lets_pass(link: Link, crossed: int, hops: int) -> bool:
    """Return whether ``link`` can follow ``crossed`` other links on a path of ``hops``."""
    message = link.message_ttl == UNLIMITED or crossed < link.message_ttl
    demand = link.consumer_ttl == UNLIMITED or hops - 1 - crossed < link.consumer_ttl
    return message and demand


def _following(links: Iterable[Link]) -> dict[str, list[str]]:
    """Return each broker with the brokers that its messages can reach next."""
    following: dict[str, list[str]] = {}
    for link in links:
        for source, target in link.directions:
            following.setdefault(source, []).append(target)
    return following


def _routes(start: str, steps: list[dict[str, list[str]]]) -> Iterator[tuple[str, ...]]:
    """Yield one route from ``start`` to each broker that is exactly ``len(steps)`` links away."""
    frontier: dict[str, tuple[str, ...]] = {start: (start,)}
    for following in steps:
        reached: dict[str, tuple[str, ...]] = {}
        for here, route in frontier.items():
            for target in following.get(here, ()):
                reached.setdefault(target, (*route, target))
        frontier = reached
    yield from frontier.values()


def _downstream(start: str, following: dict[str, list[str]]) -> set[str]:
    reached, waiting = {start}, [start]
    while waiting:
        fresh = [target for target in following.get(waiting.pop(), ()) if target not in reached]
        reached.update(fresh)
        waiting.extend(fresh)
    return reached
