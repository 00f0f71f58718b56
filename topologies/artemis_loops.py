"""Do messages that AMQP connections push, pull and repeat come round to where they were? Then they go round for ever.

Nothing on the way counts hops, and a sender or receiver asks for no demand, so the manual warns of it. Mirrors alone do
not do it: each knows which broker a message came from. But what comes back by a sender or a receiver is a new message,
and is mirrored again, while the mirror's own stays where it was.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

from topologies.artemis_links import AddressMatch, BrokerConnection
from topologies.artemis_matching import filter_overlaps, filters_overlap, overlap
from topologies.brokers import AnyBroker

MOST_TOLD = 8


@dataclass(frozen=True)
class Flow:
    """One direction in which a link moves what ``matching`` means, asked for or not: a pattern, or a mirror's filter.

    ``instead_of``: the end of the link that this one is an alternate of.
    """

    link: str
    begin: str
    end: str
    matching: str
    mirrors: bool = False
    instead_of: str = ""

    @property
    def what(self) -> str:
        return "what is mirrored" if self.mirrors else repr(self.matching)


def loop_problems(links: Sequence[BrokerConnection]) -> Iterator[str]:
    """A sentence for a way round from each direction that has one, of many the first: their number grows by faculty."""
    flows = _going_on([flow for link in links for flow in flows_of(link)])
    mirrored, moved = ([flow for flow in flows if flow.mirrors is mirrors] for mirrors in (True, False))
    found = (next(_ways_round((flow,), [*moved[at + 1 :], *mirrored]), None) for at, flow in enumerate(moved))
    yield from islice(map(_told, filter(None, found)), MOST_TOLD)


def flows_of(link: BrokerConnection) -> Iterator[Flow]:
    """To and from its end, and to and from whom it tries next: a standby there is what it stands by for."""
    here, there = link.opened_by.name, link.to.name
    for end in dict.fromkeys(map(_serving, (link.to, *link.alternates))):
        instead_of = "" if end == there else there
        for match in link.senders:
            yield Flow(link.name, here, end, _pattern(match), instead_of=instead_of)
        for match in link.receivers:
            yield Flow(link.name, end, here, _pattern(match), instead_of=instead_of)
        if link.mirror:
            yield Flow(link.name, here, end, link.mirror.address_filter, mirrors=True, instead_of=instead_of)


def _serving(broker: AnyBroker) -> str:
    return broker.standby_of or broker.name


def _going_on(flows: Sequence[Flow]) -> Sequence[Flow]:
    """Without those that begin where nothing comes or end where nothing leaves: they are on no way round."""
    begins, ends = {flow.begin for flow in flows}, {flow.end for flow in flows}
    kept = [flow for flow in flows if flow.begin in ends and flow.end in begins]
    return kept if len(kept) == len(flows) else _going_on(kept)


def _ways_round(way: tuple[Flow, ...], flows: Sequence[Flow]) -> Iterator[tuple[Flow, ...]]:
    """Every continuation of ``way`` by ``flows`` that ends where it began, past each broker once."""
    for flow in flows:
        goes_on = flow.begin == way[-1].end and all(_meet(flow, before) for before in way)
        if goes_on and flow.end == way[0].begin:
            yield (*way, flow)
        elif goes_on and flow.end not in {each.end for each in way}:
            yield from _ways_round((*way, flow), [other for other in flows if other != flow])


def _meet(one: Flow, other: Flow) -> bool:
    """Whether some address is moved by both."""
    if one.mirrors and other.mirrors:
        return filters_overlap(one.matching, other.matching)
    if one.mirrors or other.mirrors:
        mirror, pattern = (one, other) if one.mirrors else (other, one)
        return filter_overlaps(mirror.matching, pattern.matching)
    return overlap(one.matching, other.matching)


def _told(way: Sequence[Flow]) -> str:
    links = list(dict.fromkeys(repr(flow.link) for flow in way))
    where = f"link {links[0]}" if len(links) == 1 else f"links {', '.join(links[:-1])} and {links[-1]}"
    first, *between, last = way
    then = "".join(f", {flow.what} on to {flow.end!r}{_alternate(flow)}" for flow in between)
    return (
        f"{where}: {first.what} goes from {first.begin!r} to {first.end!r}{_alternate(first)}{then} and {last.what}"
        f" comes back{_alternate(last)}, so messages go round for ever; let them match different addresses"
    )


def _alternate(flow: Flow) -> str:
    return f" (in place of {flow.instead_of!r})" if flow.instead_of else ""


def _pattern(match: AddressMatch) -> str:
    return match.address_match or match.queue_name
