"""Where does each broker stand in the drawing? A line, a hub with its spokes, or a circle; pure geometry."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import cos, pi, sin

BOX_WIDTH, LINE_GAP, MARGIN = 168, 260, 24
LONGEST_LINE = 4
Pair = tuple[str, str]


@dataclass(frozen=True)
class Layout:
    """Centres of the boxes in a drawing of this width and height."""

    width: float
    height: float
    centres: dict[str, tuple[float, float]]


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
    found: dict[str, list[str]] = {name: [] for name in names}
    for one, other in pairs:
        for near, far in ((one, other), (other, one)):
            if near in found and far in found and far != near and far not in found[near]:
                found[near].append(far)
    return found


def _in_a_line(chain: Sequence[str], box_height: float) -> Layout:
    width = 2 * MARGIN + BOX_WIDTH + (BOX_WIDTH + LINE_GAP) * (len(chain) - 1)
    height = box_height + 2 * MARGIN
    left = MARGIN + BOX_WIDTH / 2
    return Layout(width, height, {n: (left + (BOX_WIDTH + LINE_GAP) * at, height / 2) for at, n in enumerate(chain)})


def _in_a_circle(rim: Sequence[str], hub: str | None, box_height: float) -> Layout:
    """An ellipse whose boxes keep their distance, the first broker at its top."""
    count = len(rim)
    radius_x = max(270.0, (BOX_WIDTH + 40) * count / (2 * pi))
    least_y = 150.0 if count <= 4 and hub is None else 230.0
    radius_y = max(least_y, (box_height + 40) * count / (2 * pi) * 1.05)
    width, height = 2 * (radius_x + MARGIN) + BOX_WIDTH, 2 * (radius_y + MARGIN) + box_height
    turns = [2 * pi * at / count - pi / 2 for at in range(count)]
    places = {n: (radius_x * cos(turn), radius_y * sin(turn)) for n, turn in zip(rim, turns, strict=True)}
    if hub is not None:
        places[hub] = (0.0, 0.0)
    top = min(y for _, y in places.values())
    bottom = max(y for _, y in places.values())
    height -= 2 * radius_y - (bottom - top)
    return Layout(
        width, height, {n: (width / 2 + x, y - top + MARGIN + box_height / 2) for n, (x, y) in places.items()}
    )
