"""Determines which links go through a proxy, and which cluster members connect to which.

If one link of a topology has a delay, a bandwidth limit or a measurement, all its links go through proxies: otherwise
the proxy's own cost would look like a difference between links.

A link of a cluster is two bridges: each member opens one. A member announces one address to all its callers. A separate
proxy for each caller therefore needs a way to distinguish the callers. Without one, each member has a shared proxy, and
all links to that member need the same impairment.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from topologies.model.broker import AnyBroker
from topologies.model.impairment import Impairment
from topologies.model.link import Link

AS_IT_COMES = Impairment()


@dataclass(frozen=True)
class MemberConnection:
    """A connection of one cluster member to another.

    ``link``: None within a pair, which has one connector for each other and for the cluster.
    """

    caller: AnyBroker
    called: AnyBroker
    link: Link | None

    @property
    def link_name(self) -> str:
        return self.link.name if self.link else ""

    @property
    def impairment(self) -> Impairment:
        return (self.link and self.link.impairment) or AS_IT_COMES

    @property
    def is_back(self) -> bool:
        """Whether the link's end connects to the link's opener."""
        return self.link is not None and self.link.opened_by.name in (self.called.name, self.called.standby_of)


def cluster_connections(links: Iterable[Link], brokers: Iterable[AnyBroker]) -> tuple[MemberConnection, ...]:
    """Return each connection once, including connections of standbys; the connections of links come first."""
    everyone = tuple(brokers)
    connections: list[MemberConnection] = []
    members: list[AnyBroker] = []
    for link in links:
        if link.cluster_name:
            opener_pair, end_pair = (_pair(end, everyone) for end in (link.opened_by, link.to))
            connections += [
                MemberConnection(*ends, link) for a in opener_pair for b in end_pair for ends in ((a, b), (b, a))
            ]
            members += [*opener_pair, *end_pair]
    joined = tuple(dict.fromkeys(members))
    return (
        *connections,
        *(MemberConnection(a, b, None) for a in joined for b in joined if a != b and a.active == b.active),
    )


def repeated_connections(links: Iterable[Link]) -> Iterator[tuple[Link, Link]]:
    """Yield pairs of cluster links that join the same two brokers, and so share their connectors."""
    link_by_ends: dict[frozenset[str], Link] = {}
    for link in links:
        if link.cluster_name:
            earlier = link_by_ends.setdefault(frozenset((link.opened_by.name, link.to.name)), link)
            if earlier is not link:
                yield earlier, link


def why_no_shared_proxies(links: Iterable[Link], brokers: Iterable[AnyBroker]) -> str:
    """Return why a shared proxy per member cannot apply all impairments, with the next step; '' if it can.

    This applies to containers, where callers cannot be distinguished.
    """
    instead = "use --runtime processes, where each caller has a separate proxy"
    first_calls: dict[str, MemberConnection] = {}
    for call in cluster_connections(links, brokers):
        if call.link is None:
            if call.called.copies_store:
                return (
                    f"brokers {call.caller.name!r} and {call.called.name!r} replicate a store, which in containers"
                    f" would also go through the proxy of the cluster's links; {instead}"
                )
            continue
        earlier = first_calls.setdefault(call.called.name, call)
        if earlier.impairment != call.impairment:
            return (
                f"broker {call.called.name!r} announces one address to its cluster, so in containers all links to it"
                f" share one proxy: {earlier.link_name!r} needs {earlier.impairment} and"
                f" {call.link_name!r} {call.impairment}; make them equal, or {instead}"
            )
    return ""


def _pair(active: AnyBroker, brokers: Iterable[AnyBroker]) -> tuple[AnyBroker, ...]:
    return (active, *(broker for broker in brokers if broker.standby_of == active.name))


def proxied(links: Iterable[Link]) -> tuple[Link, ...]:
    """Return all links if at least one has an impairment; otherwise none."""
    every = tuple(links)
    return every if any(link.impairment is not None for link in every) else ()


def impairment_problems(links: Iterable[Link]) -> Iterator[str]:
    """Yield why the impairments of links cannot be applied."""
    for link, duplicate in repeated_connections(proxied(links)):
        yield (
            f"links {link.name!r} and {duplicate.name!r} both join {link.opened_by.name!r} and {link.to.name!r}, each"
            " with the same address in all clusters, so no proxy can distinguish them; keep one link, or set no"
            " impairments"
        )
