"""Checks that short paths of charts draw the same lines."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reports.parts.style import short_path

Point = tuple[float, float]
coordinates = st.integers(-500, 500).map(lambda hundredths: hundredths / 100)
few = st.sampled_from([0.0, 1.5, 2.25, 100.6])


@pytest.mark.parametrize(
    ("data", "short"),
    [
        ("M 17.45 290.73 \nL 25.76 290.73 \nL 34.08 290.70 \nL 34.08 1.00 \n", "M17.45 290.73H25.76L34.08 290.7V1"),
        ("M 0 0 \nL 10 0 \nL 20 0 \nL 30 0 \n", "M0 0H30"),
        ("M 0 0 \nL 10 0 \nL 5 0 \nL 30 0 \n", "M0 0H10H5H30"),
        ("M 0 0 \nL 0 3 \nz\nM 1 1 \nL 2 1 \n", "M0 0V3zM1 1H2"),
        ("M 0 3 \nC 0.79 3 1.55 2.68 2.12 2.12 \nL 2.12 5 \n", "M0 3C0.79 3 1.55 2.68 2.12 2.12V5"),
        ("", ""),
    ],
)
def test_paths_are_short(data: str, short: str) -> None:
    assert short_path(data) == short


@given(st.lists(st.tuples(few | coordinates, few | coordinates), min_size=1, max_size=30))
def test_a_short_path_has_the_same_corners(points: list[Point]) -> None:
    data = "".join(f"{'L' if at else 'M'} {x:.2f} {y:.2f} \n" for at, (x, y) in enumerate(points))
    assert corners(_points(short_path(data))) == corners(points)


def _points(short: str) -> list[Point]:
    points: list[Point] = []
    for command, numbers in re.findall(r"([MLHV])([^MLHV]*)", short):
        values = [float(number) for number in numbers.split()]
        match command:
            case "H":
                points.append((values[0], points[-1][1]))
            case "V":
                points.append((points[-1][0], values[0]))
            case _:
                points.append((values[0], values[1]))
    return points


def corners(points: list[Point]) -> list[Point]:
    """The points without those in the middle of a horizontal or vertical line, and without repetitions."""
    kept: list[Point] = []
    for point in points:
        if kept and kept[-1] == point:
            continue
        if len(kept) > 1 and _is_between(kept[-2], kept[-1], point):
            kept.pop()
        kept.append(point)
    return kept


def _is_between(first: Point, middle: Point, last: Point) -> bool:
    same_x, same_y = first[0] == middle[0] == last[0], first[1] == middle[1] == last[1]
    along = 1 if same_x else 0
    ordered = sorted((first[along], middle[along], last[along]))
    return (same_x or same_y) and ordered[1] == middle[along]
