"""Draws the network: boxes for brokers with their clients, an arrow for each direction of a link."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from html import escape
from math import hypot, sqrt

from reports.figures.style import opening
from reports.numbers import significant
from reports.values import Cell
from reports.views.layout import BOX_WIDTH, Layout, layout
from reports.views.network import Edge, Flow, NetworkDrawing, Node

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
    labelled: bool
    weight: float
    lanes: Mapping[str, Lane]


def canvas(net: NetworkDrawing) -> Canvas:
    box_height = max(_box_height(node) for node in net.nodes)
    pairs = [(edge.link.opened_by, edge.link.to) for edge in net.edges]
    placed = layout([node.name for node in net.nodes], pairs, box_height)
    flows = [flow.per_s or 0 for edge in net.edges for flow in edge.flows]
    weight = min(1.0, max(0.25, (FEW_LINKS / max(1, len(net.edges))) ** 0.7))
    labelled = net.measured and len(flows) <= MOST_LABELS
    return Canvas(placed, box_height, max(flows, default=0) or 1, labelled, weight, lanes(net.edges, box_height))


def lanes(edges: Iterable[Edge], box_height: float) -> dict[str, Lane]:
    """By link. One that is alone between its brokers has none."""
    between: dict[frozenset[str], list[str]] = {}
    for edge in edges:
        between.setdefault(frozenset((edge.link.opened_by, edge.link.to)), []).append(edge.link.name)
    found: dict[str, Lane] = {}
    for links in (names for names in between.values() if len(names) > 1):
        gaps = len(links) - 1
        gap = min(LANE, LANES_OF_A_BOX * box_height / gaps)
        found |= {name: Lane((at - gaps / 2) * gap, 0.3 + 0.4 * at / gaps, gap) for at, name in enumerate(links)}
    return found


def draw(net: NetworkDrawing, anchor: str, title: str, description: str) -> str:
    """The whole drawing as an accessible inline <svg>."""
    on = canvas(net)
    drawn = [edge for edge in net.edges if {edge.link.opened_by, edge.link.to} <= on.placed.centres.keys()]
    edges = "".join(_edge(edge, on) for edge in drawn)
    nodes = "".join(_node(node, on.placed.centres[node.name], on.box_height) for node in net.nodes)
    dots = "".join(_dot(edge, on) for edge in drawn)
    view_box = f"0 0 {on.placed.width:.0f} {on.placed.height:.0f}"
    css = "chart broad" if on.placed.width > BROAD else "chart"
    return opening(anchor, title, description, view_box, css) + edges + nodes + dots + "</svg>"


def _lines(node: Node) -> list[str]:
    """The text below the broker's name."""
    where = [text for text in (node.region, f"standby of {node.standby_of}" if node.standby_of else "") if text]
    return [*where, *(f"{clients.text} {clients.group}" for clients in node.clients)] or ["no clients"]


def _box_height(node: Node) -> float:
    return NAME_HEIGHT + LINE_HEIGHT * len(_lines(node)) + 8


def _node(node: Node, centre: Point, box_height: float) -> str:
    x, y = centre[0] - BOX_WIDTH / 2, centre[1] - box_height / 2
    below = y + NAME_HEIGHT + 13
    lines = "".join(
        f'<text class="detail" x="{centre[0]:.1f}" y="{below + LINE_HEIGHT * at:.1f}">{_short(text)}</text>'
        for at, text in enumerate(_lines(node))
    )
    return (
        f'<g class="broker"><title>{escape(node.name)}</title>'
        f'<rect x="{x:.1f}" y="{y:.1f}" width="{BOX_WIDTH}" height="{box_height:.1f}" rx="9"/>'
        f'<text class="name" x="{centre[0]:.1f}" y="{y + 23:.1f}">{_short(node.name)}</text>{lines}</g>'
    )


def _short(text: str) -> str:
    return escape(text if len(text) <= LONGEST_NAME else text[: LONGEST_NAME - 1] + "…")


def _edge(edge: Edge, on: Canvas) -> str:
    """The arrows of one link, side by side when there are two."""
    return '<g class="link">' + "".join(_flow(flow, edge, on) for flow in edge.flows) + "</g>"


def _lane(edge: Edge, sender: str, on: Canvas) -> Lane | None:
    """The link's own lane, seen from one of its ends."""
    lane = on.lanes.get(edge.link.name)
    if lane is None or sender == min(edge.link.opened_by, edge.link.to):
        return lane
    return Lane(-lane.aside, 1 - lane.along, lane.width)


def _dot(edge: Edge, on: Canvas) -> str:
    """On the border of the broker that opened the link."""
    opener, other = on.placed.centres[edge.link.opened_by], on.placed.centres[edge.link.to]
    ux, uy = _unit(opener, other)
    lane = _lane(edge, edge.link.opened_by, on)
    (x, y), _ = _ends(opener, other, on.box_height, lane.aside if lane else 0.0)
    return f'<circle class="opener" cx="{x - ux * TOUCH:.1f}" cy="{y - uy * TOUCH:.1f}" r="{2 + 3.5 * on.weight:.1f}"/>'


def _flow(flow: Flow, edge: Edge, on: Canvas) -> str:
    """One direction: its arrow as wide as its share of the busiest, dashed when nothing flowed or nothing is known."""
    centres, lane = on.placed.centres, _lane(edge, flow.sender, on)
    aside = APART * on.weight if len(edge.flows) > 1 else 0.0
    if lane:
        aside = lane.aside + min(aside, lane.width / 4)
    start, end = _ends(centres[flow.sender], centres[flow.receiver], on.box_height, aside)
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
    label = _flow_label(flow, start, end, width, lane) if on.labelled and roomy else ""
    return f"<g><title>{_said(flow)}</title>{line}{_head(end, ux, uy, size)}{label}</g>"


def _head(tip: Point, ux: float, uy: float, size: float) -> str:
    back = (tip[0] - ux * size, tip[1] - uy * size)
    half = size * 0.5
    corners = (tip, (back[0] - uy * half, back[1] + ux * half), (back[0] + uy * half, back[1] - ux * half))
    return '<polygon points="' + " ".join(f"{x:.1f},{y:.1f}" for x, y in corners) + '"/>'


def _flow_label(flow: Flow, start: Point, end: Point, width: float, lane: Lane | None) -> str:
    """Labels stand near the sender, or at their lane's place.

    They are to the right of the arrow, which separates the labels of both directions.
    """
    ux, uy = _unit(start, end)
    length = hypot(end[0] - start[0], end[1] - start[1])
    along = length * (lane.along if lane else 0.5 if length < SHORT else 0.32)
    aside = 13 + width / 2 + 22 * abs(uy)
    x, y = start[0] + ux * along - uy * aside, start[1] + uy * along + ux * aside
    return f'<text class="flow" x="{x:.1f}" y="{y + 4:.1f}">{escape(rate_text(flow.per_s))}</text>'


def _said(flow: Flow) -> str:
    messages: Cell = (
        "not measured" if flow.forwarded is None else f"{flow.forwarded:,} messages, {rate_text(flow.per_s)}"
    )
    return escape(f"{flow.sender} → {flow.receiver}: {messages}")


def rate_text(per_s: float | None) -> str:
    if per_s is None:
        return "?"
    return "<0.1/s" if 0 < per_s < 0.1 else f"{significant(per_s)}/s"


def _ends(sender: Point, receiver: Point, box_height: float, aside: float) -> tuple[Point, Point]:
    """Where an arrow leaves the one box and touches the other, moved to its right by ``aside``."""
    ux, uy = _unit(sender, receiver)
    start, end = _border(sender, ux, uy, box_height), _border(receiver, -ux, -uy, box_height)
    shift_x, shift_y = -uy * aside, ux * aside
    return (start[0] + shift_x, start[1] + shift_y), (end[0] + shift_x, end[1] + shift_y)


def _border(centre: Point, ux: float, uy: float, box_height: float) -> Point:
    """Where a ray from the centre leaves the box, and a little further."""
    across = (BOX_WIDTH / 2) / abs(ux) if ux else float("inf")
    along = (box_height / 2) / abs(uy) if uy else float("inf")
    distance = min(across, along) + TOUCH
    return centre[0] + ux * distance, centre[1] + uy * distance


def _unit(start: Point, end: Point) -> Point:
    dx, dy = end[0] - start[0], end[1] - start[1]
    length = hypot(dx, dy) or 1.0
    return dx / length, dy / length
