"""Which members of a cluster call which, and over which link? A cluster's link is two bridges: each member opens one.

A member announces one address to all who call it. So a proxy that is to be of one caller alone has to be told from
others by the caller: where it cannot be, one is before each member, and the links that lead to that have to be alike.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from topologies.artemis.brokers import REPLICATION, ArtemisBroker
from topologies.artemis.links import ClusterLink
from topologies.brokers import AnyBroker
from topologies.impairment import Impairment
from topologies.links import Link

AS_IT_COMES = Impairment()


@dataclass(frozen=True)
class Call:
    """``link``: None between the two of a pair, who have one connector for each other and for the cluster."""

    caller: AnyBroker
    called: AnyBroker
    link: ClusterLink | None

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


def cluster_calls(links: Iterable[Link], brokers: Iterable[AnyBroker]) -> tuple[Call, ...]:
    """Each once, standbys' too; those of the links first."""
    everyone = tuple(brokers)
    found: list[Call] = []
    members: list[AnyBroker] = []
    for link in links:
        if isinstance(link, ClusterLink):
            one, other = (_pair(end, everyone) for end in (link.opened_by, link.to))
            found += [Call(*ends, link) for a in one for b in other for ends in ((a, b), (b, a))]
            members += [*one, *other]
    joined = tuple(dict.fromkeys(members))
    return (*found, *(Call(a, b, None) for a in joined for b in joined if a != b and _active(a) == _active(b)))


def called_twice(links: Iterable[Link]) -> Iterator[tuple[ClusterLink, ClusterLink]]:
    """Two links of clusters that join the same two brokers: by one connector of each."""
    seen: dict[frozenset[str], ClusterLink] = {}
    for link in links:
        if isinstance(link, ClusterLink):
            first = seen.setdefault(frozenset((link.opened_by.name, link.to.name)), link)
            if first is not link:
                yield first, link


def no_shared_doors(links: Iterable[Link], brokers: Iterable[AnyBroker]) -> str:
    """Why one proxy before each member cannot make all links as they are set, with the next step; '' if it can.

    That is so in containers, where callers cannot be told apart.
    """
    instead = "use --runtime processes, where each caller has a proxy of its own"
    first: dict[str, Call] = {}
    for call in cluster_calls(links, brokers):
        if call.link is None:
            if isinstance(call.called, ArtemisBroker) and call.called.ha and call.called.ha.kind == REPLICATION:
                return (
                    f"brokers {call.caller.name!r} and {call.called.name!r} copy a store to each other, which in"
                    f" containers would go through the proxy of their cluster's links too; {instead}"
                )
            continue
        other = first.setdefault(call.called.name, call)
        if other.impairment != call.impairment:
            return (
                f"broker {call.called.name!r} tells its whole cluster one address, so in containers one proxy is before"
                f" it, for every link that leads to it: {other.link_name!r} is to have {other.impairment} and"
                f" {call.link_name!r} {call.impairment}; make them alike, or {instead}"
            )
    return ""


def _pair(active: AnyBroker, brokers: Iterable[AnyBroker]) -> tuple[AnyBroker, ...]:
    return (active, *(broker for broker in brokers if broker.standby_of == active.name))


def _active(broker: AnyBroker) -> str:
    return broker.standby_of or broker.name
