"""Says which links go through a proxy, and which members of a cluster call which.

All links go through proxies if one link of a topology has a delay, a bandwidth limit or a measurement: else the proxy's
own cost would be taken for a difference of the links.

A link of a cluster is two bridges: each member opens one. A member announces one address to all callers. A proxy for
one caller alone therefore needs a way to distinguish that caller. Without one, a shared proxy is before each member,
and the links to that member have to be alike.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from topologies.model.broker import AnyBroker
from topologies.model.impairment import Impairment
from topologies.model.link import Link

AS_IT_COMES = Impairment()


@dataclass(frozen=True)
class MemberConnection:
    """``link``: None between the two of a pair: they have one connector for each other and for the cluster."""

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
        """Whether the link's opener is called by its end."""
        return self.link is not None and self.link.opened_by.name in (self.called.name, self.called.standby_of)


def cluster_connections(links: Iterable[Link], brokers: Iterable[AnyBroker]) -> tuple[MemberConnection, ...]:
    """Each connection once, including standbys'; the links' connections come first."""
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


def called_twice(links: Iterable[Link]) -> Iterator[tuple[Link, Link]]:
    """Two links of clusters that join the same two brokers: by one connector of each."""
    link_by_ends: dict[frozenset[str], Link] = {}
    for link in links:
        if link.cluster_name:
            earlier = link_by_ends.setdefault(frozenset((link.opened_by.name, link.to.name)), link)
            if earlier is not link:
                yield earlier, link


def no_shared_proxies(links: Iterable[Link], brokers: Iterable[AnyBroker]) -> str:
    """Why one proxy before each member cannot make all links as they are set, with the next step; '' if it can.

    This applies to containers: there callers cannot be distinguished.
    """
    instead = "use --runtime processes, where each caller has a proxy of its own"
    first_calls: dict[str, MemberConnection] = {}
    for call in cluster_connections(links, brokers):
        if call.link is None:
            if call.called.copies_store:
                return (
                    f"brokers {call.caller.name!r} and {call.called.name!r} copy a store to each other, which in"
                    f" containers would go through the proxy of their cluster's links too; {instead}"
                )
            continue
        earlier = first_calls.setdefault(call.called.name, call)
        if earlier.impairment != call.impairment:
            return (
                f"broker {call.called.name!r} tells its whole cluster one address, so in containers one proxy is before"
                f" it, for every link that leads to it: {earlier.link_name!r} is to have {earlier.impairment} and"
                f" {call.link_name!r} {call.impairment}; make them alike, or {instead}"
            )
    return ""


def _pair(active: AnyBroker, brokers: Iterable[AnyBroker]) -> tuple[AnyBroker, ...]:
    return (active, *(broker for broker in brokers if broker.standby_of == active.name))


def proxied(links: Iterable[Link]) -> tuple[Link, ...]:
    """All; none unless at least one has an impairment."""
    every = tuple(links)
    return every if any(link.impairment is not None for link in every) else ()


def impairment_problems(links: Iterable[Link]) -> Iterator[str]:
    """Why links cannot be as they are asked to be."""
    for link, duplicate in called_twice(proxied(links)):
        yield (
            f"links {link.name!r} and {duplicate.name!r} both join {link.opened_by.name!r} and {link.to.name!r}, each"
            " of which has one address for all its clusters, so no proxy can tell them apart; keep one, or leave both"
            " as they are"
        )
