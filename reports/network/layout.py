"""Places the brokers in the drawing: a line, a hub with its spokes, or a circle; pure geometry."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from math import cos, pi, sin

BOX_WIDTH, LINE_GAP, MARGIN = 168, 260, 24
LONGEST_LINE = 4
LEAST_X, ROOM = 270.0, 36
Place = tuple[float, float]
Pair = tuple[str, str]


@dataclass(frozen=True)
class Layout:
    """Centres of the boxes in a drawing of this width and height."""

    width: float
    height: float
    centres: dict[str, Place]


def layout(names: Sequence[str], pairs: Sequence[Pair], box_height: float) -> Layout:
    """Places that never overlap, for any number of brokers."""
    chain = chain_of(names, pairs)
    if chain is not None and len(chain) <= LONGEST_LINE:
        return _in_a_line(chain, box_height)
    hub = hub_of(names, pairs)
    rim = [name for name in names if name != hub]
    return _in_a_circle(rim, hub, box_height)


def chain_of(names: Sequence[str], pairs: Sequence[Pair]) -> list[str] | None:
    """The names from one end of a line to the other; None when the links make no line."""
    neighbours = _neighbours(names, pairs)
    if len(names) <= 2:
        return list(names)
    ends = [name for name in names if len(neighbours[name]) == 1]
    if len(ends) != 2 or any(len(near) > 2 for near in neighbours.values()):
        return None
    chain = [ends[0]]
    while following := [name for name in neighbours[chain[-1]] if name not in chain[-2:]]:
        chain.append(following[0])
    return chain if len(chain) == len(names) else None


def hub_of(names: Sequence[str], pairs: Sequence[Pair]) -> str | None:
    """The one broker that all others, and only they, are linked to."""
    neighbours = _neighbours(names, pairs)
    hubs = [name for name in names if len(neighbours[name]) == len(names) - 1]
    spokes = [name for name in names if len(neighbours[name]) == 1]
    return hubs[0] if len(names) > 3 and len(hubs) == 1 and len(spokes) == len(names) - 1 else None


def _neighbours(names: Sequence[str], pairs: Sequence[Pair]) -> dict[str, list[str]]:
    neighbours: dict[str, list[str]] = {name: [] for name in names}
    for from_name, to_name in pairs:
        for near, far in ((from_name, to_name), (to_name, from_name)):
            if near in neighbours and far in neighbours and far != near and far not in neighbours[near]:
                neighbours[near].append(far)
    return neighbours


def _in_a_line(chain: Sequence[str], box_height: float) -> Layout:
    width = 2 * MARGIN + BOX_WIDTH + (BOX_WIDTH + LINE_GAP) * (len(chain) - 1)
    height = box_height + 2 * MARGIN
    leftmost = MARGIN + BOX_WIDTH / 2
    return Layout(
        width, height, {n: (leftmost + (BOX_WIDTH + LINE_GAP) * at, height / 2) for at, n in enumerate(chain)}
    )


def _in_a_circle(rim: Sequence[str], hub: str | None, box_height: float) -> Layout:
    """An ellipse just large enough for its boxes to keep apart, the first broker at its top."""
    least_y = 150.0 if len(rim) <= 4 and hub is None else 230.0
    places, growth = _on_an_ellipse(rim, hub, LEAST_X, least_y), 1.0
    while not _apart(list(places.values()), box_height):
        growth += 0.05
        places = _on_an_ellipse(rim, hub, LEAST_X * growth, least_y * growth)
    leftmost, rightmost = (pick(x for x, _ in places.values()) for pick in (min, max))
    top, bottom = (pick(y for _, y in places.values()) for pick in (min, max))
    from_left, from_top = MARGIN + BOX_WIDTH / 2 - leftmost, MARGIN + box_height / 2 - top
    centres = {name: (x + from_left, y + from_top) for name, (x, y) in places.items()}
    return Layout(rightmost - leftmost + BOX_WIDTH + 2 * MARGIN, bottom - top + box_height + 2 * MARGIN, centres)


def _on_an_ellipse(rim: Sequence[str], hub: str | None, radius_x: float, radius_y: float) -> dict[str, Place]:
    turns = [2 * pi * at / len(rim) - pi / 2 for at in range(len(rim))]
    places = {name: (radius_x * cos(turn), radius_y * sin(turn)) for name, turn in zip(rim, turns, strict=True)}
    return places if hub is None else {hub: (0.0, 0.0)} | places


def _apart(places: Sequence[Place], box_height: float) -> bool:
    """Whether any two boxes leave room for an arrow between them."""
    return all(
        abs(x - other_x) >= BOX_WIDTH + ROOM or abs(y - other_y) >= box_height + ROOM
        for (x, y), (other_x, other_y) in combinations(places, 2)
    )
