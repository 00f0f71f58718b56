"""Do messages that AMQP connections push and pull come round to where they were? Then they go round for ever.

Nothing on the way counts hops, and a sender or receiver asks for no demand, so the manual warns of it.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

from topologies.artemis_links import AddressMatch, BrokerConnection

Words = tuple[str, ...]
MOST_TOLD = 8


@dataclass(frozen=True)
class Flow:
    """One direction in which a link moves what matches ``pattern``, asked for or not."""

    link: str
    begin: str
    end: str
    pattern: str


def loop_problems(links: Sequence[BrokerConnection]) -> Iterator[str]:
    """A sentence for a way round from each direction that has one, of many the first: their number grows by faculty."""
    flows = [flow for link in links for flow in flows_of(link)]
    found = (next(_ways_round((flow,), flows[index + 1 :]), None) for index, flow in enumerate(flows))
    yield from islice(map(_told, filter(None, found)), MOST_TOLD)


def flows_of(link: BrokerConnection) -> Iterator[Flow]:
    here, there = link.opened_by.name, link.to.name
    yield from (Flow(link.name, here, there, _pattern(match)) for match in link.senders)
    yield from (Flow(link.name, there, here, _pattern(match)) for match in link.receivers)


def overlap(first: str, second: str) -> bool:
    """Whether some address is matched by both patterns: words joined by dots, ``*`` one word, ``#`` any number."""
    return _overlap(tuple(first.split(".")), tuple(second.split(".")))


def _ways_round(way: tuple[Flow, ...], flows: Sequence[Flow]) -> Iterator[tuple[Flow, ...]]:
    """Every continuation of ``way`` by ``flows`` that ends where it began, past each broker once."""
    for flow in flows:
        goes_on = flow.begin == way[-1].end and all(overlap(flow.pattern, before.pattern) for before in way)
        if goes_on and flow.end == way[0].begin:
            yield (*way, flow)
        elif goes_on and flow.end not in {each.end for each in way}:
            yield from _ways_round((*way, flow), [other for other in flows if other != flow])


def _told(way: Sequence[Flow]) -> str:
    links = list(dict.fromkeys(repr(flow.link) for flow in way))
    where = f"link {links[0]}" if len(links) == 1 else f"links {', '.join(links[:-1])} and {links[-1]}"
    first, *between, last = way
    then = "".join(f", {flow.pattern!r} on to {flow.end!r}" for flow in between)
    return (
        f"{where}: {first.pattern!r} goes from {first.begin!r} to {first.end!r}{then} and {last.pattern!r} comes back,"
        " so messages go round for ever; let them match different addresses"
    )


def _pattern(match: AddressMatch) -> str:
    return match.address_match or match.queue_name


def _overlap(first: Words, second: Words) -> bool:
    if not first or not second:
        return all(word == "#" for word in first + second)
    if first[0] == "#":
        return _overlap(first[1:], second) or _overlap(first, second[1:])
    if second[0] == "#":
        return _overlap(second, first)
    return (first[0] == second[0] or "*" in (first[0], second[0])) and _overlap(first[1:], second[1:])
