"""Draws a topology as text: which brokers send to which. Brokers with the same targets share a line.

    producers → spoke-1 … spoke-3
    hub ⇄ spoke-1 … spoke-4
    spoke-4 → consumers

Arrows show the directions of messages, regardless of the link's opener.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence

from topologies.model.client_groups import CONSUMERS, PRODUCERS, ClientGroup
from topologies.model.link import Link
from topologies.model.topology import Topology

ONE_WAY, BOTH_WAYS, NO_WAY = "→", "⇄", "--"
FEWEST_IN_A_ROW = 4  # shorter series are not drawn as first … last
NUMBERED = re.compile(r"(.*?)(\d+)")

Stroke = tuple[str, str, str]
"""(name at the left, arrow, name at the right)"""


def draw_topology(topology: Topology) -> str:
    """Return the drawing of all brokers, links and client groups."""
    order = [broker.name for broker in topology.brokers]
    groups = topology.groups
    lines = [
        *(_entry(group, order) for group in groups if group.name != CONSUMERS),
        *_lines(Counter(map(_stroke, topology.links)), order),
        *(f"{broker.standby_of} == {broker.name}" for broker in topology.brokers if broker.standby_of),
        *_alone(topology),
        *(_entry(group, order) for group in groups if group.name == CONSUMERS),
    ]
    return "\n".join(lines)


def has_same_drawing(drawn: Topology, topology: Topology) -> bool:
    """Whether both topologies have the same drawing."""
    return _shape(drawn) == _shape(topology)


def _shape(topology: Topology) -> tuple[object, ...]:
    return (
        [(broker.name, broker.region, broker.standby_of) for broker in topology.brokers],
        [(link.opened_by.name, link.to.name, link.directions) for link in topology.links],
        [(group.name, [broker.name for broker in group.enter_at]) for group in topology.groups],
    )


def _stroke(link: Link) -> Stroke:
    here, there = link.opened_by.name, link.to.name
    if not link.directions:  # of a cluster that forwards nothing
        return here, NO_WAY, there
    if link.duplex:
        return here, BOTH_WAYS, there
    ((begin, end),) = link.directions
    return begin, ONE_WAY, end


def _lines(strokes: Counter[Stroke], order: Sequence[str]) -> Iterator[str]:
    """Yield the lines, sorted by their left sides in the order of brokers."""
    alike: dict[tuple[str, str, int], list[str]] = {}
    for name in order:
        for arrow, count in sorted({(kind, n) for (begin, kind, _), n in strokes.items() if begin == name}):
            ends = [end for end in order if strokes[name, arrow, end] == count]
            alike.setdefault((arrow, _row(ends), count), []).append(name)
    for (arrow, right, count), names in alike.items():
        yield f"{_row(names)} {arrow} {right}" + (f"  {count} links each" if count > 1 else "")


def _entry(group: ClientGroup, order: Sequence[str]) -> str:
    """Return the entry point. In a pair the active broker represents both."""
    names = {broker.name for broker in group.enter_at}
    entered = {broker.name for broker in group.enter_at if broker.standby_of not in names}
    brokers = _row([name for name in order if name in entered])
    if group.name == CONSUMERS:
        return f"{brokers} {ONE_WAY} {group.name}"
    return f"{group.name} {ONE_WAY if group.name == PRODUCERS else BOTH_WAYS} {brokers}"


def _alone(topology: Topology) -> Iterator[str]:
    """Yield lines for brokers that are in no other line."""
    ends = (broker for link in topology.links for broker in (link.opened_by, link.to))
    connected = {broker.name for broker in (*ends, *(broker for group in topology.groups for broker in group.enter_at))}
    connected |= {name for broker in topology.brokers if broker.standby_of for name in (broker.name, broker.standby_of)}
    return (broker.name for broker in topology.brokers if broker.name not in connected)


def _row(names: Sequence[str]) -> str:
    """Return ``a-1 … a-4, b-1, b-2``: a numbered series is shown by its first and last name."""
    rows: list[list[str]] = []
    for name in names:
        if rows and _goes_on(rows[-1][-1], name):
            rows[-1].append(name)
        else:
            rows.append([name])
    return ", ".join(f"{row[0]} … {row[-1]}" if len(row) >= FEWEST_IN_A_ROW else ", ".join(row) for row in rows)


def _goes_on(name: str, after: str) -> bool:
    number, next_number = NUMBERED.fullmatch(name), NUMBERED.fullmatch(after)
    return bool(number and next_number and number[1] == next_number[1] and int(number[2]) + 1 == int(next_number[2]))
