"""Finds loops of AMQP connections, where messages would circulate forever.

AMQP connections do not count hops, and senders and receivers do not wait for demand, so the manual warns of loops.
Mirrors alone make no loop: each mirror knows which broker a message came from. But a sender or a receiver delivers a
new message. If it returns, it is mirrored again, and the mirrored copy stays at its broker.
"""

from collections import defaultdict, deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import islice

from topologies.artemis.broker import ArtemisBroker
from topologies.artemis.links import AddressMatch, BrokerConnection
from topologies.artemis.matching import filter_overlaps, filters_overlap, overlap
from topologies.model.broker import AnyBroker

MOST_TOLD = 8
# Patterns that overlap in part, such as a.*.* and *.b.*, can lead to a broker with a different set of possible next
# flows for each path. Loops through a broker with more than 16 sets are not reported.
MOST_SETS = 16


@dataclass(frozen=True)
class UnboundFlow:
    """One direction of a link that moves messages without demand. ``matching``: a pattern, or a mirror's filter.

    ``instead_of``: the link's end, if ``begin`` or ``end`` is an alternate for it.
    """

    link: str
    begin: str
    end: str
    matching: str
    mirrors: bool = False
    instead_of: str = ""

    @property
    def kind(self) -> "Kind":
        return self.mirrors, self.matching

    @property
    def content(self) -> str:
        return "what is mirrored" if self.mirrors else repr(self.matching)


Kind = tuple[bool, str]
"""Whether a mirror moves the messages, and the pattern that it matches."""

FlowPath = tuple[UnboundFlow, ...]


def loop_problems(links: Sequence[BrokerConnection]) -> Iterator[str]:
    """Return a sentence per loop, for the first few loops only.

    Both directions in a loop share a sentence.
    """
    loops = _ways_round(_looping_flows([flow for link in links for flow in flows_of(link)]))
    yield from islice(map(_described, loops), MOST_TOLD)


def flows_of(link: BrokerConnection) -> Iterator[UnboundFlow]:
    """Yield the flows between a link's opener and its end and alternates. A standby counts as its active broker."""
    here, there = link.opened_by.name, link.to.name
    for end in dict.fromkeys(broker.active for broker in (link.to, *link.alternates)):
        instead_of = "" if end == there else there
        for match in link.senders:
            yield UnboundFlow(link.name, here, end, _pattern(match, link.opened_by), instead_of=instead_of)
        for match in link.receivers:
            yield UnboundFlow(link.name, end, here, _pattern(match, link.opened_by), instead_of=instead_of)
        if link.mirror:
            yield UnboundFlow(link.name, here, end, link.mirror.address_filter, mirrors=True, instead_of=instead_of)


def _looping_flows(flows: Sequence[UnboundFlow]) -> Sequence[UnboundFlow]:
    """Return the flows that can be part of a loop.

    Each of them has flows with matching messages that end at its beginning, and others that begin at its end.
    """
    meets = cache(_meet)
    before = -1
    while len(flows) != before:
        before, leaving, coming = len(flows), _kinds(flows, "begin"), _kinds(flows, "end")
        flows = [
            flow
            for flow in flows
            if any(meets(flow.kind, kind) for kind in leaving[flow.end])
            and any(meets(kind, flow.kind) for kind in coming[flow.begin])
        ]
    return flows


def _kinds(flows: Sequence[UnboundFlow], end: str) -> dict[str, dict[Kind, None]]:
    """Return the kinds of flows that leave each broker ("begin") or arrive at it ("end"), in the order of the links."""
    kinds_by_broker: dict[str, dict[Kind, None]] = defaultdict(dict)
    for flow in flows:
        kinds_by_broker[getattr(flow, end)][flow.kind] = None
    return kinds_by_broker


def _ways_round(flows: Sequence[UnboundFlow]) -> Iterator[FlowPath]:
    """Yield the shortest loop that begins with each flow, unless an earlier loop includes the flow.

    Mirrors begin no loop.
    """
    paths_on, shown = cache(_Search(flows).paths_on), set[UnboundFlow]()
    for flow in flows:
        if not flow.mirrors and flow not in shown:
            back = paths_on(flow.end, flow.kind).get(flow.begin)
            if back:
                shown.update(back)
                yield (flow, *back)


class _Search:
    """Breadth-first search.

    A path is identified by its end and by the kinds that may follow, because they overlap with all its flows.

    A path is dropped if an earlier path to the same end has all its kinds: it cannot lead any further.
    """

    def __init__(self, flows: Sequence[UnboundFlow]) -> None:
        self._leaving: dict[str, list[UnboundFlow]] = defaultdict(list)
        for flow in flows:
            self._leaving[flow.begin].append(flow)
        self._bit = {kind: 1 << at for at, kind in enumerate(dict.fromkeys(flow.kind for flow in flows))}
        self._followers = cache(self._followed_by)

    def _followed_by(self, kind: Kind) -> int:
        """Return the kinds that share an address with this kind, as a bit mask."""
        return sum(bit for follower, bit in self._bit.items() if _meet(kind, follower))

    def paths_on(self, start: str, kind: Kind) -> dict[str, FlowPath]:
        """Return the shortest path to each broker for messages that arrived at ``start`` by a flow of ``kind``."""
        paths: dict[str, FlowPath] = {}
        kinds_by_broker: dict[str, list[int]] = defaultdict(list)
        waiting: deque[tuple[str, int, FlowPath]] = deque([(start, self._followers(kind), ())])
        while waiting and len(paths) < len(self._leaving):
            here, kinds, path = waiting.popleft()
            if len(kinds_by_broker[here]) < MOST_SETS and all(kinds & ~earlier for earlier in kinds_by_broker[here]):
                kinds_by_broker[here].append(kinds)
                paths.setdefault(here, path)
                waiting.extend(self._steps(here, kinds, path))
        return paths

    def _steps(self, here: str, kinds: int, path: FlowPath) -> Iterator[tuple[str, int, FlowPath]]:
        for flow in self._leaving[here]:
            if kinds & self._bit[flow.kind]:
                yield flow.end, kinds & self._followers(flow.kind), (*path, flow)


def _meet(kind: Kind, other_kind: Kind) -> bool:
    """Return whether both kinds can move messages of the same address."""
    (one_mirrors, one_matching), (other_mirrors, other_matching) = kind, other_kind
    if one_mirrors and other_mirrors:
        return filters_overlap(one_matching, other_matching)
    if one_mirrors:
        return filter_overlaps(one_matching, other_matching)
    return filter_overlaps(other_matching, one_matching) if other_mirrors else overlap(one_matching, other_matching)


def _described(path: FlowPath) -> str:
    links = list(dict.fromkeys(repr(flow.link) for flow in path))
    where = f"link {links[0]}" if len(links) == 1 else f"links {', '.join(links[:-1])} and {links[-1]}"
    start, *between, last = path
    then = "".join(f", {flow.content} on to {flow.end!r}{_alternate(flow)}" for flow in between)
    return (
        f"{where}: {start.content} goes from {start.begin!r} to {start.end!r}{_alternate(start)}{then} and"
        f" {last.content} comes back{_alternate(last)}, so messages circulate forever; let them match different"
        " addresses"
    )


def _alternate(flow: UnboundFlow) -> str:
    return f" (in place of {flow.instead_of!r})" if flow.instead_of else ""


def _pattern(match: AddressMatch, opener: AnyBroker) -> str:
    """Return the pattern of addresses.

    A queue is requested and forwarded by its address, which may have another name.
    """
    addresses = opener.addresses if isinstance(opener, ArtemisBroker) else ()
    of_queues = {queue: address.name for address in addresses for queue in address.queues}
    return match.address_match or of_queues.get(match.queue_name, match.queue_name)
