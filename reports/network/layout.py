"""Places the brokers in the drawing. Pure geometry.

The brokers of a pair are drawn one above the other. The brokers of each region share a frame.
Within a region, or without regions, the brokers form a line, a hub with its spokes, a tree, or a circle.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from math import cos, pi, sin

BOX_WIDTH, LINE_GAP, MARGIN = 168, 260, 24
LONGEST_LINE = 4
LEAST_TREE, LEVEL_GAP = 4, 110
LEAST_X, ROOM = 270.0, 36
PAIR_GAP, PAIR_EDGE = 14.0, 8.0
"""Between the boxes of a pair, and from them to the frame around both."""
REGION_EDGE, REGION_NAME, REGION_GAP = 14.0, 24.0, 90.0
"""Distance from a region's brokers to the frame, height of the region's name, and distance between two regions."""
NARROWEST = 560.0
"""Minimum width of a drawing. The page stretches a narrower one."""
BROADEST = 1_300.0
"""If the regions together are wider, they are drawn one below the other."""
Place = tuple[float, float]
Pair = tuple[str, str]
Frame = tuple[float, float, float, float]
"""(left, top, width, height)"""


@dataclass(frozen=True)
class Layout:
    """Centers of the boxes in a drawing of this width and height.

    ``frames``: the frame of each region, by its name.
    """

    width: float
    height: float
    centers: dict[str, Place]
    frames: dict[str, Frame] = field(default_factory=dict)


def layout(
    names: Sequence[str],
    pairs: Sequence[Pair],
    box_height: float,
    *,
    standby_of: Mapping[str, str] | None = None,
    region_of: Mapping[str, str] | None = None,
) -> Layout:
    """Return places that never overlap, for any number of brokers.

    ``pairs``: the two ends of each link. ``standby_of``: the active broker of each standby. ``region_of``: the region
    of each broker; brokers without one belong together.
    """
    stacks = _stacks(names, standby_of or {})
    top_of = {name: top for top, stack in stacks.items() for name in stack}
    joined = [(top_of[a], top_of[b]) for a, b in pairs if a in top_of and b in top_of and top_of[a] != top_of[b]]
    tallest = max(map(len, stacks.values()), default=1)
    height = tallest * box_height + (tallest - 1) * PAIR_GAP + (2 * PAIR_EDGE if tallest > 1 else 0)
    by_region: dict[str, list[str]] = {}
    for top in stacks:
        by_region.setdefault((region_of or {}).get(top, ""), []).append(top)
    placed = _in_regions(by_region, joined, height) if len(by_region) > 1 else _in_one(list(stacks), joined, height)
    centers: dict[str, Place] = {}
    for top, stack in stacks.items():
        x, y = placed.centers[top]
        outwards = stack if y >= placed.height / 2 else stack[::-1]  # links go inwards, so they cross no standby
        first_y = y - (len(stack) - 1) / 2 * (box_height + PAIR_GAP)
        centers |= {name: (x, first_y + at * (box_height + PAIR_GAP)) for at, name in enumerate(outwards)}
    aside = max(0.0, (NARROWEST - placed.width) / 2)
    centers = {name: (centers[name][0] + aside, centers[name][1]) for name in names}
    frames = {region: (left + aside, top, width, high) for region, (left, top, width, high) in placed.frames.items()}
    return Layout(placed.width + 2 * aside, placed.height, centers, frames)


def _stacks(names: Sequence[str], standby_of: Mapping[str, str]) -> dict[str, list[str]]:
    """Return each active broker with its standbys, by its name. A standby of an unknown broker has a separate stack."""
    stacks = {name: [name] for name in names if standby_of.get(name) not in names}
    for name in names:
        if name not in stacks:
            stacks.setdefault(standby_of[name], [standby_of[name]]).append(name)
    return stacks


def _in_regions(by_region: Mapping[str, Sequence[str]], pairs: Sequence[Pair], height: float) -> Layout:
    """Lay out each region separately, in a frame; side by side, or one below the other if that is too wide."""
    # Side by side, the brokers of a line are one below the other: links to another region then cross no broker.
    alone = {region: _in_one(tops, pairs, height, upright=True) for region, tops in by_region.items()}
    side_by_side = sum(map(_framed_width, alone.values())) + REGION_GAP * (len(alone) - 1) <= BROADEST
    if not side_by_side:
        alone = {region: _in_one(tops, pairs, height) for region, tops in by_region.items()}
    widths = {region: _framed_width(each) for region, each in alone.items()}
    heights = {region: each.height + 2 * REGION_EDGE + REGION_NAME - 2 * MARGIN for region, each in alone.items()}
    broadest, highest = max(widths.values()), max(heights.values())
    centers: dict[str, Place] = {}
    frames: dict[str, Frame] = {}
    x = y = float(MARGIN)
    for region, each in alone.items():
        left = x if side_by_side else x + (broadest - widths[region]) / 2
        top = y + (highest - heights[region]) / 2 if side_by_side else y
        frames[region] = (left, top, widths[region], heights[region])
        right_by, down_by = left + REGION_EDGE - MARGIN, top + REGION_EDGE + REGION_NAME - MARGIN
        centers |= {name: (at_x + right_by, at_y + down_by) for name, (at_x, at_y) in each.centers.items()}
        x += widths[region] + REGION_GAP if side_by_side else 0
        y += 0 if side_by_side else heights[region] + REGION_GAP
    width = x - REGION_GAP + MARGIN if side_by_side else broadest + 2 * MARGIN
    height = highest + 2 * MARGIN if side_by_side else y - REGION_GAP + MARGIN
    return Layout(width, height, centers, {region: frame for region, frame in frames.items() if region})


def _framed_width(region: Layout) -> float:
    return region.width + 2 * REGION_EDGE - 2 * MARGIN


def _in_one(names: Sequence[str], pairs: Sequence[Pair], box_height: float, *, upright: bool = False) -> Layout:
    """Return places for brokers that belong together. ``upright``: whether a line goes down."""
    chain = chain_of(names, pairs)
    if chain is not None and len(chain) <= LONGEST_LINE:
        return _in_a_column(chain, box_height) if upright else _in_a_line(chain, box_height)
    if len(names) > LEAST_TREE and hub_of(names, pairs) is None and (levels := levels_of(names, pairs)):
        return _in_a_tree(levels, box_height)
    hub = hub_of(names, pairs)
    rim = [name for name in names if name != hub]
    return _in_a_circle(rim, hub, box_height)


def chain_of(names: Sequence[str], pairs: Sequence[Pair]) -> list[str] | None:
    """Return the names from one end of a line to the other; None if the links do not form a line."""
    neighbors = _neighbors(names, pairs)
    if len(names) <= 2:
        return list(names)
    ends = [name for name in names if len(neighbors[name]) == 1]
    if len(ends) != 2 or any(len(near) > 2 for near in neighbors.values()):
        return None
    chain = [ends[0]]
    while following := [name for name in neighbors[chain[-1]] if name not in chain[-2:]]:
        chain.append(following[0])
    return chain if len(chain) == len(names) else None


def hub_of(names: Sequence[str], pairs: Sequence[Pair]) -> str | None:
    """Return the broker with links to all others, if there are no other links."""
    neighbors = _neighbors(names, pairs)
    hubs = [name for name in names if len(neighbors[name]) == len(names) - 1]
    spokes = [name for name in names if len(neighbors[name]) == 1]
    return hubs[0] if len(names) > 3 and len(hubs) == 1 and len(spokes) == len(names) - 1 else None


def levels_of(names: Sequence[str], pairs: Sequence[Pair]) -> list[list[str]] | None:
    """Return the brokers of a tree by their distance from its middle, children in the order of parents.

    Returns None if the links form no tree, or a tree that is a line.
    """
    neighbors = _neighbors(names, pairs)
    links = sum(map(len, neighbors.values())) // 2
    if links != len(names) - 1 or max(map(len, neighbors.values()), default=0) < 3:
        return None
    trees = [_levels_from(name, neighbors) for name in names]
    levels = min(trees, key=len)
    return levels if sum(map(len, levels)) == len(names) else None


def _levels_from(root: str, neighbors: Mapping[str, Sequence[str]]) -> list[list[str]]:
    levels, seen = [[root]], {root}
    while following := [near for name in levels[-1] for near in neighbors[name] if near not in seen]:
        levels.append(list(dict.fromkeys(following)))
        seen |= set(following)
    return levels


def _neighbors(names: Sequence[str], pairs: Sequence[Pair]) -> dict[str, list[str]]:
    neighbors: dict[str, list[str]] = {name: [] for name in names}
    for from_name, to_name in pairs:
        for near, far in ((from_name, to_name), (to_name, from_name)):
            if near in neighbors and far in neighbors and far != near and far not in neighbors[near]:
                neighbors[near].append(far)
    return neighbors


def _in_a_line(chain: Sequence[str], box_height: float) -> Layout:
    width = 2 * MARGIN + BOX_WIDTH + (BOX_WIDTH + LINE_GAP) * (len(chain) - 1)
    height = box_height + 2 * MARGIN
    leftmost = MARGIN + BOX_WIDTH / 2
    return Layout(
        width, height, {n: (leftmost + (BOX_WIDTH + LINE_GAP) * at, height / 2) for at, n in enumerate(chain)}
    )


def _in_a_column(chain: Sequence[str], box_height: float) -> Layout:
    step, x = box_height + LEVEL_GAP, MARGIN + BOX_WIDTH / 2
    height = 2 * MARGIN + box_height + step * (len(chain) - 1)
    return Layout(
        2 * MARGIN + BOX_WIDTH, height, {n: (x, MARGIN + box_height / 2 + step * at) for at, n in enumerate(chain)}
    )


def _in_a_tree(levels: Sequence[Sequence[str]], box_height: float) -> Layout:
    """Lay out a row for each level. All rows are as wide as the widest one."""
    most = max(map(len, levels))
    width = 2 * MARGIN + most * BOX_WIDTH + (most - 1) * ROOM
    row = box_height + LEVEL_GAP
    centers = {
        name: (MARGIN + (width - 2 * MARGIN) * (at + 0.5) / len(level), MARGIN + box_height / 2 + row * depth)
        for depth, level in enumerate(levels)
        for at, name in enumerate(level)
    }
    return Layout(width, 2 * MARGIN + box_height + row * (len(levels) - 1), centers)


def _in_a_circle(rim: Sequence[str], hub: str | None, box_height: float) -> Layout:
    """Lay out the brokers on an ellipse that is just large enough to separate the boxes, the first one at its top."""
    least_y = 150.0 if len(rim) <= 4 and hub is None else 230.0
    places, growth = _on_an_ellipse(rim, hub, LEAST_X, least_y), 1.0
    while not _apart(list(places.values()), box_height):
        growth += 0.05
        places = _on_an_ellipse(rim, hub, LEAST_X * growth, least_y * growth)
    leftmost, rightmost = (pick(x for x, _ in places.values()) for pick in (min, max))
    top, bottom = (pick(y for _, y in places.values()) for pick in (min, max))
    from_left, from_top = MARGIN + BOX_WIDTH / 2 - leftmost, MARGIN + box_height / 2 - top
    centers = {name: (x + from_left, y + from_top) for name, (x, y) in places.items()}
    return Layout(rightmost - leftmost + BOX_WIDTH + 2 * MARGIN, bottom - top + box_height + 2 * MARGIN, centers)


def _on_an_ellipse(rim: Sequence[str], hub: str | None, radius_x: float, radius_y: float) -> dict[str, Place]:
    turns = [2 * pi * at / len(rim) - pi / 2 for at in range(len(rim))]
    places = {name: (radius_x * cos(turn), radius_y * sin(turn)) for name, turn in zip(rim, turns, strict=True)}
    return places if hub is None else {hub: (0.0, 0.0)} | places


def _apart(places: Sequence[Place], box_height: float) -> bool:
    """Return whether any two boxes leave room for an arrow between them."""
    return all(
        abs(x - other_x) >= BOX_WIDTH + ROOM or abs(y - other_y) >= box_height + ROOM
        for (x, y), (other_x, other_y) in combinations(places, 2)
    )
