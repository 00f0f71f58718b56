"""Draws the network as an SVG, with the message rate of each link and the number of clients of each broker."""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from html import escape
from math import hypot, sqrt
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from records.figures.declaration import total
from records.run import LinkInfo, RunInfo
from reports.network.layout import BOX_WIDTH, MARGIN, PAIR_EDGE, Frame, Layout, layout
from reports.parts.numbers import counted, significant
from reports.parts.style import opening
from reports.parts.values import Cell, Chart, Column, Columns, Table, table_of

UNKNOWN = "unknown"
Direction = tuple[str, str]
"""(from, to)"""


class LinkCounts(NamedTuple):
    """Messages and advisories of a link, in the whole run and in the load. None: not measured."""

    forwarded: int | None
    forwarded_in_load: int | None
    advisories: int | None
    advisories_in_load: int | None


Carried = Mapping[tuple[str, str, str], LinkCounts]
"""By (from, to, the connector's name).

A connector has its link's name; at the far end of a duplex link it may have another name.
"""


@dataclass(frozen=True)
class DrawnClients:
    """Open connections of one group at one broker, at the start and the end of the load."""

    group: str
    at_start: int
    at_end: int

    @property
    def text(self) -> str:
        return f"{self.at_start}" if self.at_start == self.at_end else f"{self.at_start} → {self.at_end}"


@dataclass(frozen=True)
class Node:
    name: str
    region: str
    standby_of: str
    clients: tuple[DrawnClients, ...]


@dataclass(frozen=True)
class DrawnFlow:
    """Messages that went one way over a link. None: not measured.

    ``forwarded``: messages in the whole run. ``per_s``: mean rate over the load. ``advisories`` came back for them.
    """

    sender: str
    receiver: str
    forwarded: int | None
    per_s: float | None
    advisories: int | None = None
    advisories_per_s: float | None = None


@dataclass(frozen=True)
class Edge:
    """One link: one flow, or two when it is duplex."""

    link: LinkInfo
    flows: tuple[DrawnFlow, ...]


@dataclass(frozen=True)
class NetworkDrawing:
    """``measured``: whether there was a run; without one a drawing has no figures."""

    nodes: tuple[Node, ...]
    edges: tuple[Edge, ...]
    measured: bool = True


def network(run: RunInfo, links: pa.Table, connections: pa.Table, load_s: float) -> NetworkDrawing:
    """Return the network with its figures from the run."""
    carried = forwarded_by_connector(links)
    nodes = tuple(Node(b.name, b.region, b.standby_of, clients_at(b.name, connections, load_s)) for b in run.brokers)
    names = {link.name for link in run.links}
    shared = Counter(direction for link in run.links for direction in link.directions)
    return NetworkDrawing(nodes, tuple(_edge(link, shared, names, carried, load_s) for link in run.links))


def forwarded_by_connector(links: pa.Table) -> Carried:
    ends, counts = ("from_broker", "to_broker", "connector"), LinkCounts._fields
    totals = links.group_by(ends).aggregate([(count, "sum") for count in counts])
    columns = (totals[name].to_pylist() for name in (*ends, *(f"{count}_sum" for count in counts)))
    return {
        (sender, receiver, name): LinkCounts(*values) for sender, receiver, name, *values in zip(*columns, strict=True)
    }


def _edge(
    link: LinkInfo, shared: Mapping[Direction, int], names: Collection[str], carried: Carried, load_s: float
) -> Edge:
    """Return a link with its flows. ``shared``: the number of links with each direction. ``names``: of all links.

    A link that alone has a direction gets all traffic of this direction, except that of connectors of other links.
    """
    flows = []
    for direction in link.directions:
        count_by_connector = {
            connector: count for (*ends, connector), count in carried.items() if (*ends,) == direction
        }
        counts = [
            count
            for connector, count in count_by_connector.items()
            if connector == link.name or (shared[direction] == 1 and connector not in names)
        ]
        flows.append(_flow(direction, counts, load_s))
    return Edge(link, tuple(flows))


def _flow(direction: Direction, counts: Sequence[LinkCounts], load_s: float) -> DrawnFlow:
    """Return the flow of a direction. ``counts``: of each connector."""
    forwarded = [count.forwarded for count in counts if count.forwarded is not None]
    in_load = [count.forwarded_in_load for count in counts if count.forwarded_in_load is not None]
    return DrawnFlow(
        *direction,
        sum(forwarded) if forwarded else None,
        _rate(sum(in_load) if in_load else None, load_s),
        total([count.advisories for count in counts]) if counts else None,
        _rate(total([count.advisories_in_load for count in counts]) if counts else None, load_s),
    )


def _rate(in_load: int | None, load_s: float) -> float | None:
    return None if in_load is None or load_s <= 0 else in_load / load_s


def clients_at(broker: str, connections: pa.Table, load_s: float) -> tuple[DrawnClients, ...]:
    rows = connections.filter(pc.equal(connections["broker"], broker))
    by_group: dict[str, dict[int, int]] = {}
    for group, second, count in zip(*(rows[c].to_pylist() for c in ("group", "second", "count")), strict=True):
        by_group.setdefault(group, {})[second] = count
    last_s = max(0, int(load_s) - 1)
    clients_of_groups = [
        DrawnClients(group, _at(by_group[group], 0), _at(by_group[group], last_s)) for group in sorted(by_group)
    ]
    return tuple(group_clients for group_clients in clients_of_groups if group_clients.at_start or group_clients.at_end)


def _at(by_second: Mapping[int, int], second: int) -> int:
    """Return the value of the latest second up to this one; 0 before the first."""
    earlier = [s for s in by_second if s <= second]
    return by_second[max(earlier)] if earlier else 0


def network_table(net: NetworkDrawing) -> Table:
    """Return a table with a row per direction of a link."""
    columns: Columns = (
        ("From", None, lambda row: row[1].sender),
        ("To", None, lambda row: row[1].receiver),
        ("Link", None, lambda row: row[0].name),
        ("Opened by", None, lambda row: row[0].opened_by),
        ("Duplex", None, lambda row: "yes" if row[0].duplex else "no"),
        *_marked_columns(net),
        ("Forwarded", 0, lambda row: row[1].forwarded),
        ("Mean msg/s in the load", 1, lambda row: row[1].per_s),
        ("Advisories back", 0, lambda row: _or_unknown(row[1].advisories)),
        ("Advisories/s in the load", 1, lambda row: _or_unknown(row[1].advisories_per_s)),
    )
    rows = [(edge.link, flow) for edge in net.edges for flow in edge.flows]
    return table_of(
        "Links, one row per direction; messages and advisories are counted over the whole run, with one canary per "
        "path. Advisories go back to the sender, and announce the consumers that request its messages",
        rows,
        columns,
        "This topology has no links.",
        sortable=True,
    )


def _or_unknown(value: Cell) -> Cell:
    return UNKNOWN if value is None else value


def _marked_columns(net: NetworkDrawing) -> Columns:
    """Return columns for TLS and for settings of destinations, each only if some link has them."""
    links = [edge.link for edge in net.edges]
    columns: list[tuple[str, None, Callable[[Any], Cell]]] = []
    if any(link.tls for link in links):
        columns.append(("TLS", None, lambda row: "yes" if row[0].tls else "no"))
    if any(link.destination_rules for link in links):
        columns.append(("Destinations", None, lambda row: "; ".join(row[0].destination_rules) or "all"))
    return columns


def clients_table(run: RunInfo, net: NetworkDrawing) -> Table:
    """Return a table with a row per broker and a column per client group.

    A cell has the connections at the start → at the end of the load.
    """
    groups = sorted({clients.group for node in net.nodes for clients in node.clients} | {g.name for g in run.groups})
    rows = tuple((node.name, *(_text(node, group) for group in groups)) for node in net.nodes)
    columns = (Column("Broker"), *(Column(group) for group in groups))
    return Table("Client connections at the start → at the end of the load", columns, rows if groups else ())


def _text(node: Node, group: str) -> Cell:
    return next((clients.text for clients in node.clients if clients.group == group), "0")


NAME_HEIGHT, LINE_HEIGHT = 30, 19
ARROW, APART, TOUCH = 11, 7, 3
LANE, LANES_OF_A_BOX = 26, 0.8
"""Between two links that join the same brokers; as far as all of them leave the box within that part of its height."""
MOST_LABELS = 24
LABEL_HEIGHT = 14
SHORT = 200
FEW_LINKS = 10
BROAD = 760
"""Drawings wider than this are scrolled on a phone, not shrunk."""
LONGEST_NAME = 19
MARK_RADIUS, LEGEND_HEIGHT, LEGEND_CHARACTER = 10, 34, 7.6
MARKS = {
    "tls": ("M-4 -1h8v6h-8zM-2.5 -1v-2a2.5 2.5 0 0 1 5 0v2", "TLS", "a padlock marks TLS"),
    "filter": (
        "M-5 -4.5h10l-4 5v4.5l-2 -1v-3.5z",
        "carries selected destinations",
        "a funnel marks a link that only carries selected destinations",
    ),
}
"""Signs on links: the path of a padlock and of a funnel, and the words of the legend and of the lead."""
Point = tuple[float, float]


@dataclass(frozen=True)
class Lane:
    """The place of one link among several that join the same two brokers.

    It is seen from the broker with the first name: ``aside`` is the distance to the right of the line between them,
    ``along`` the place of the labels on it (0 to 1), ``width`` the distance to the next link.
    """

    aside: float
    along: float
    width: float


@dataclass(frozen=True)
class Canvas:
    """The values that every arrow uses: places, the busiest direction, and the thinness that many links require.

    ``lanes``: by link, for links that share their two brokers with another link.
    """

    placed: Layout
    box_height: float
    busiest: float
    labeled: bool
    weight: float
    lanes: Mapping[str, Lane]


def canvas(net: NetworkDrawing, region_of: Mapping[str, str]) -> Canvas:
    box_height = max(_box_height(node) for node in net.nodes)
    pairs = [(edge.link.opened_by, edge.link.to) for edge in net.edges]
    placed = layout(
        [node.name for node in net.nodes],
        pairs,
        box_height,
        standby_of={node.name: node.standby_of for node in net.nodes if node.standby_of},
        region_of=region_of,
    )
    flows = [flow.per_s or 0 for edge in net.edges for flow in edge.flows]
    weight = min(1.0, max(0.25, (FEW_LINKS / max(1, len(net.edges))) ** 0.7))
    labeled = net.measured and len(flows) <= MOST_LABELS
    return Canvas(placed, box_height, max(flows, default=0) or 1, labeled, weight, lanes(net.edges, box_height))


def lanes(edges: Iterable[Edge], box_height: float) -> dict[str, Lane]:
    """Return the lane of each link that shares its pair of brokers with another link."""
    between: dict[frozenset[str], list[str]] = {}
    for edge in edges:
        between.setdefault(frozenset((edge.link.opened_by, edge.link.to)), []).append(edge.link.name)
    lane_by_link: dict[str, Lane] = {}
    for links in (names for names in between.values() if len(names) > 1):
        gaps = len(links) - 1
        gap = min(LANE, LANES_OF_A_BOX * box_height / gaps)
        lane_by_link |= {name: Lane((at - gaps / 2) * gap, 0.3 + 0.4 * at / gaps, gap) for at, name in enumerate(links)}
    return lane_by_link


def draw_network(net: NetworkDrawing, anchor: str, title: str, description: str) -> str:
    """Return the whole drawing as an accessible inline <svg>. If there are several regions, each has a named frame."""
    if len({node.region for node in net.nodes}) > 1:
        regions = {node.name: node.region for node in net.nodes}
        net = replace(net, nodes=tuple(replace(node, region="") for node in net.nodes))
    else:
        regions = {}
    on = canvas(net, regions)
    drawn = [edge for edge in net.edges if {edge.link.opened_by, edge.link.to} <= on.placed.centers.keys()]
    edges = "".join(_edge_svg(edge, on) for edge in drawn)
    frames = "".join(_region_svg(name, frame) for name, frame in on.placed.frames.items())
    frames += "".join(_pair_svg(node, on) for node in net.nodes if node.standby_of in on.placed.centers)
    nodes = "".join(_node_svg(node, on.placed.centers[node.name], on.box_height) for node in net.nodes)
    dots = "".join(_dot(edge, on) for edge in drawn)
    marks = "".join(_marks_svg(edge, on) for edge in drawn)
    legend = _legend_svg({kind for edge in drawn for kind in _marks_of(edge.link)}, on.placed.height)
    height = on.placed.height + (LEGEND_HEIGHT if legend else 0)
    view_box = f"0 0 {on.placed.width:.0f} {height:.0f}"
    css = "chart broad" if on.placed.width > BROAD else "chart"
    return (
        opening(anchor, title, description, view_box, css) + frames + edges + nodes + dots + marks + legend + "</svg>"
    )


def _marks_of(link: LinkInfo) -> dict[str, str]:
    """Return the marks of a link, each with its explanation."""
    marks = {"tls": f"{link.name} uses TLS"} if link.tls else {}
    if link.destination_rules:
        marks["filter"] = f"{link.name}: {'; '.join(link.destination_rules)}"
    return marks


def _marks_svg(edge: Edge, on: Canvas) -> str:
    """Draw the signs on a link, nearer to the broker that opened it, as links may cross in the middle."""
    opener, opposite = on.placed.centers[edge.link.opened_by], on.placed.centers[edge.link.to]
    lane = _lane(edge, edge.link.opened_by, on)
    start, end = _ends(opener, opposite, on.box_height, lane.aside if lane else 0.0)
    ux, uy = _unit(start, end)
    length = hypot(end[0] - start[0], end[1] - start[1])
    scale = max(0.5, min(on.weight, lane.width / (2 * MARK_RADIUS) if lane else 1.0))
    marks = _marks_of(edge.link)
    step = 2 * MARK_RADIUS * scale
    first = length * (0.15 if lane else 0.44) - step * (len(marks) - 1) / 2
    places = (first + step * at for at in range(len(marks)))
    return "".join(
        _mark_svg(kind, (start[0] + ux * along, start[1] + uy * along), scale, explanation)
        for (kind, explanation), along in zip(marks.items(), places, strict=True)
    )


def _mark_svg(kind: str, center: Point, scale: float, explanation: str = "") -> str:
    x, y = center
    title = f"<title>{escape(explanation)}</title>" if explanation else ""
    return (
        f'<g class="mark" transform="translate({x:.1f} {y:.1f}) scale({scale:.2f})">{title}'
        f'<circle r="{MARK_RADIUS}"/><path d="{MARKS[kind][0]}"/></g>'
    )


def _legend_svg(kinds: Iterable[str], top: float) -> str:
    """Explain the marks below the drawing."""
    parts, x = [], float(MARGIN)
    for kind in (kind for kind in MARKS if kind in kinds):
        text = MARKS[kind][1]
        parts.append(_mark_svg(kind, (x + MARK_RADIUS, top + 10), 1.0))
        parts.append(f'<text class="legend" x="{x + 2 * MARK_RADIUS + 6:.1f}" y="{top + 15:.1f}">{text}</text>')
        x += 2 * MARK_RADIUS + 6 + LEGEND_CHARACTER * len(text) + MARGIN
    return "".join(parts)


def _region_svg(name: str, frame: Frame) -> str:
    """Draw a frame around the brokers of a region, with its name."""
    x, y, width, height = frame
    return (
        f'<g class="region"><rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}" rx="14"/>'
        f'<text x="{x + 14:.1f}" y="{y + 22:.1f}">{_short(name)}</text></g>'
    )


def _pair_svg(standby: Node, on: Canvas) -> str:
    """Draw a frame around a standby and its active broker."""
    (x, y), (_, active_y) = on.placed.centers[standby.name], on.placed.centers[standby.standby_of]
    top, height = min(y, active_y) - on.box_height / 2 - PAIR_EDGE, abs(y - active_y) + on.box_height + 2 * PAIR_EDGE
    left, width = x - BOX_WIDTH / 2 - PAIR_EDGE, BOX_WIDTH + 2 * PAIR_EDGE
    return (
        f'<g class="pair"><title>{escape(standby.standby_of)} and its standby {escape(standby.name)}</title>'
        f'<rect x="{left:.1f}" y="{top:.1f}" width="{width:.1f}" height="{height:.1f}" rx="12"/></g>'
    )


def _lines(node: Node) -> list[str]:
    """Return the text below the broker's name."""
    where = [text for text in (node.region, f"standby of {node.standby_of}" if node.standby_of else "") if text]
    return [*where, *(f"{clients.text} {clients.group}" for clients in node.clients)] or ["no clients"]


def _box_height(node: Node) -> float:
    return NAME_HEIGHT + LINE_HEIGHT * len(_lines(node)) + 8


def _node_svg(node: Node, center: Point, box_height: float) -> str:
    x, y = center[0] - BOX_WIDTH / 2, center[1] - box_height / 2
    below = y + NAME_HEIGHT + 13
    lines = "".join(
        f'<text class="detail" x="{center[0]:.1f}" y="{below + LINE_HEIGHT * at:.1f}">{_short(text)}</text>'
        for at, text in enumerate(_lines(node))
    )
    return (
        f'<g class="broker"><title>{escape(node.name)}</title>'
        f'<rect x="{x:.1f}" y="{y:.1f}" width="{BOX_WIDTH}" height="{box_height:.1f}" rx="9"/>'
        f'<text class="name" x="{center[0]:.1f}" y="{y + 23:.1f}">{_short(node.name)}</text>{lines}</g>'
    )


def _short(text: str) -> str:
    return escape(text if len(text) <= LONGEST_NAME else text[: LONGEST_NAME - 1] + "…")


def _edge_svg(edge: Edge, on: Canvas) -> str:
    """Draw the arrows of one link, side by side if there are two."""
    return '<g class="link">' + "".join(_flow_svg(flow, edge, on) for flow in edge.flows) + "</g>"


def _lane(edge: Edge, sender: str, on: Canvas) -> Lane | None:
    """Return the link's lane, seen from the sender's end."""
    lane = on.lanes.get(edge.link.name)
    if lane is None or sender == min(edge.link.opened_by, edge.link.to):
        return lane
    return Lane(-lane.aside, 1 - lane.along, lane.width)


def _dot(edge: Edge, on: Canvas) -> str:
    """Draw a dot on the border of the broker that opened the link."""
    opener, opposite = on.placed.centers[edge.link.opened_by], on.placed.centers[edge.link.to]
    ux, uy = _unit(opener, opposite)
    lane = _lane(edge, edge.link.opened_by, on)
    (x, y), _ = _ends(opener, opposite, on.box_height, lane.aside if lane else 0.0)
    return f'<circle class="opener" cx="{x - ux * TOUCH:.1f}" cy="{y - uy * TOUCH:.1f}" r="{2 + 3.5 * on.weight:.1f}"/>'


def _flow_svg(flow: DrawnFlow, edge: Edge, on: Canvas) -> str:
    """Draw the arrow of one direction: dashed if nothing flowed or the rate is unknown.

    Its width shows its share of the busiest rate.
    """
    centers, lane = on.placed.centers, _lane(edge, flow.sender, on)
    aside = APART * on.weight if len(edge.flows) > 1 else 0.0
    if lane:
        aside = lane.aside + min(aside, lane.width / 4)
    start, end = _ends(centers[flow.sender], centers[flow.receiver], on.box_height, aside)
    width = (1.5 + 4.5 * sqrt((flow.per_s or 0) / on.busiest)) * on.weight
    idle = "" if flow.per_s else ' class="idle"'
    ux, uy = _unit(start, end)
    size = ARROW * max(0.5, on.weight) + width * 0.6
    neck = (end[0] - ux * size * 0.8, end[1] - uy * size * 0.8)
    line = (
        f'<line{idle} x1="{start[0]:.1f}" y1="{start[1]:.1f}" x2="{neck[0]:.1f}" y2="{neck[1]:.1f}" '
        f'stroke-width="{width:.1f}"/>'
    )
    roomy = lane is None or lane.width >= LABEL_HEIGHT
    label = _flow_label(flow, start, end, width, lane) if on.labeled and roomy else ""
    return f"<g><title>{_flow_title(flow)}</title>{line}{_head(end, ux, uy, size)}{label}</g>"


def _head(tip: Point, ux: float, uy: float, size: float) -> str:
    back = (tip[0] - ux * size, tip[1] - uy * size)
    half = size * 0.5
    corners = (tip, (back[0] - uy * half, back[1] + ux * half), (back[0] + uy * half, back[1] - ux * half))
    return '<polygon points="' + " ".join(f"{x:.1f},{y:.1f}" for x, y in corners) + '"/>'


def _flow_label(flow: DrawnFlow, start: Point, end: Point, width: float, lane: Lane | None) -> str:
    """Return the label, placed near the sender or at its lane.

    They are to the right of the arrow, which separates the labels of both directions.
    """
    ux, uy = _unit(start, end)
    length = hypot(end[0] - start[0], end[1] - start[1])
    along = length * (lane.along if lane else 0.5 if length < SHORT else 0.32)
    aside = 13 + width / 2 + 22 * abs(uy)
    x, y = start[0] + ux * along - uy * aside, start[1] + uy * along + ux * aside
    return f'<text class="flow" x="{x:.1f}" y="{y + 4:.1f}">{escape(rate_text(flow.per_s))}</text>'


def _flow_title(flow: DrawnFlow) -> str:
    messages: Cell = (
        "not measured" if flow.forwarded is None else f"{flow.forwarded:,} messages, {rate_text(flow.per_s)}"
    )
    return escape(f"{flow.sender} → {flow.receiver}: {messages}")


def rate_text(per_s: float | None) -> str:
    if per_s is None:
        return "?"
    return "<0.1/s" if 0 < per_s < 0.1 else f"{significant(per_s)}/s"


def _ends(sender: Point, receiver: Point, box_height: float, aside: float) -> tuple[Point, Point]:
    """Return where an arrow leaves one box and touches the other, moved to its right by ``aside``."""
    ux, uy = _unit(sender, receiver)
    start, end = _border(sender, ux, uy, box_height), _border(receiver, -ux, -uy, box_height)
    shift_x, shift_y = -uy * aside, ux * aside
    return (start[0] + shift_x, start[1] + shift_y), (end[0] + shift_x, end[1] + shift_y)


def _border(center: Point, ux: float, uy: float, box_height: float) -> Point:
    """Return the point where a ray from the center leaves the box, moved a little further."""
    across = (BOX_WIDTH / 2) / abs(ux) if ux else float("inf")
    along = (box_height / 2) / abs(uy) if uy else float("inf")
    distance = min(across, along) + TOUCH
    return center[0] + ux * distance, center[1] + uy * distance


def _unit(start: Point, end: Point) -> Point:
    dx, dy = end[0] - start[0], end[1] - start[1]
    length = hypot(dx, dy) or 1.0
    return dx / length, dy / length


def network_chart(net: NetworkDrawing) -> Chart:
    title = "The network and its traffic"
    lead = (
        f"{counted(len(net.nodes), 'broker')}, {counted(len(net.edges), 'link')}. "
        "The width of an arrow shows the mean number of messages per second that it carried during the load. Two "
        "arrows are a duplex link, the dot is at the broker that opened it, and dashes mean that nothing flowed during "
        "the load. A frame around two brokers is a pair, a dotted frame is a region. Each box shows the open client "
        "connections; if they changed, at the start → the end of the load."
    )
    kinds = {kind for edge in net.edges for kind in _marks_of(edge.link)}
    if kinds:
        signs = " and ".join(MARKS[kind][2] for kind in MARKS if kind in kinds)
        lead += f" {signs[0].upper()}{signs[1:]}: the table has the details."
    if not net.nodes:
        return Chart("network", title, lead, network_table(net), missing="run.json names no brokers.")
    return Chart("network", title, lead, network_table(net), svg=draw_network(net, "network", title, lead))
