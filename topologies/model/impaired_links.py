"""Applies ``--link`` to a topology: ``east<->west:delay=40ms`` selects links and sets their impairment.

    NAME        the link with that name
    A<->B       every link between the two brokers, or the two regions, regardless of which end opens it
    regions     every link between two regions
    *           every link

Separate several with ``;``. If two select the same link, the later one applies.
"""

from dataclasses import replace

from topologies.model.explicit_fields import replace_explicitly
from topologies.model.impairment import Impairment, parse_impairment
from topologies.model.link import Link
from topologies.model.spelling import nearest
from topologies.model.topology import Topology
from topologies.model.validity import TopologyInvalid

ALL, BETWEEN, REGIONS = "*", "<->", "regions"
HOW = "write LINK:delay=40ms,jitter=5ms,bandwidth=10MB/s, where LINK is a link's name, A<->B, regions or *"


def with_impairments(topology: Topology, text: str | None) -> Topology:
    """Return the topology with the impairments in ``text``. Raises `TopologyInvalid`."""
    wanted = {link.name: link.impairment for link in topology.links}
    for part in filter(None, map(str.strip, (text or "").split(";"))):
        selector, _, settings = (piece.strip() for piece in part.partition(":"))
        if not selector:
            raise TopologyInvalid(f"{part!r} does not name a link; {HOW}")
        impairment = _read(part, settings)
        for link in links_meant(topology, selector):
            wanted[link.name] = impairment
    links = tuple(replace_explicitly(link, impairment=wanted[link.name]) for link in topology.links)
    return replace(topology, links=links)


def with_all_proxied(topology: Topology) -> Topology:
    """Return the topology with a proxy in every link; it adds no delay where the topology sets none."""
    return replace(
        topology,
        links=tuple(replace_explicitly(link, impairment=link.impairment or Impairment()) for link in topology.links),
    )


def without_impairments(topology: Topology) -> Topology:
    """Return the topology without any delay, bandwidth limit or measurement of links."""
    return replace(topology, links=tuple(replace_explicitly(link, impairment=None) for link in topology.links))


def _read(part: str, settings: str) -> Impairment:
    try:
        return parse_impairment(settings)
    except TopologyInvalid as error:
        raise TopologyInvalid(f"{part!r}: {error}") from error


def links_meant(topology: Topology, selector: str) -> list[Link]:
    """Return the links that ``selector`` matches, at least one. Raises `TopologyInvalid`."""
    if not topology.links:
        raise TopologyInvalid(
            f"{selector!r}: topology {topology.name!r} has no links; choose a topology with links, or name none"
        )
    if selector == ALL:
        return list(topology.links)
    if BETWEEN in selector:
        return _between(topology, selector)
    if selector == REGIONS:
        return _between_regions(topology)
    links = [link for link in topology.links if link.name == selector]
    if not links:
        names = [link.name for link in topology.links]
        raise TopologyInvalid(f"{selector!r}: no link has this name{nearest(selector, names)} (links: {_few(names)})")
    return links


def _between(topology: Topology, selector: str) -> list[Link]:
    begin, _, end = (name.strip() for name in selector.partition(BETWEEN))
    brokers_by_place = _places(topology)
    for name in (begin, end):
        if name not in brokers_by_place:
            hint = f"{nearest(name, list(brokers_by_place))} (known: {_few(list(brokers_by_place))})"
            raise TopologyInvalid(f"{selector!r}: no broker or region is named {name!r}{hint}")
    ends = {frozenset((a, b)) for a in brokers_by_place[begin] for b in brokers_by_place[end]}
    links = [link for link in topology.links if frozenset((link.opened_by.name, link.to.name)) in ends]
    if not links:
        joined = [f"{link.opened_by.name}{BETWEEN}{link.to.name}" for link in topology.links]
        raise TopologyInvalid(f"{selector!r}: no link joins these two; the links are {_few(joined)}")
    return links


def _between_regions(topology: Topology) -> list[Link]:
    links = [link for link in topology.links if link.joins_regions]
    if not links:
        raise TopologyInvalid(
            f"{REGIONS!r}: no link of topology {topology.name!r} joins two regions; choose a topology with "
            "several, such as two-regions"
        )
    return links


def _places(topology: Topology) -> dict[str, set[str]]:
    """Return broker and region names that can be used, each with its brokers. A broker's name takes precedence."""
    places: dict[str, set[str]] = {}
    for broker in topology.brokers:
        if broker.region:
            places.setdefault(broker.region, set()).add(broker.name)
    return places | {broker.name: {broker.name} for broker in topology.brokers}


def _few(names: list[str], most: int = 8) -> str:
    return ", ".join(names[:most]) + (f", … ({len(names)} in all)" if len(names) > most else "")
