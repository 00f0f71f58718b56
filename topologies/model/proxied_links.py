"""Says which links go through a proxy: all links, if one link of a topology has a delay, a bandwidth limit or a
measurement.

In between or not, for every link alike: else the proxy's own cost would be taken for a difference of the links.
"""

from collections.abc import Iterable, Iterator

from topologies.model.cluster_connections import called_twice
from topologies.model.link import Link


def proxied(links: Iterable[Link]) -> tuple[Link, ...]:
    """All; none unless at least one has an impairment."""
    every = tuple(links)
    return every if any(link.impairment is not None for link in every) else ()


def impairment_problems(links: Iterable[Link]) -> Iterator[str]:
    """Why links cannot be as they are asked to be."""
    for one, other in called_twice(proxied(links)):
        yield (
            f"links {one.name!r} and {other.name!r} both join {one.opened_by.name!r} and {one.to.name!r}, each of which"
            " has one address for all its clusters, so no proxy can tell them apart; keep one, or leave both as they"
            " are"
        )
