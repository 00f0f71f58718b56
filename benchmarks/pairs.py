"""Measures two sides alternately, A B B A …, and compares them pair by pair.

A machine's speed drifts, but both sides of a pair run under nearly the same conditions. The tables show the median of
the ratios, with its spread, and the medians of both sides.
"""

import os
import platform
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from harness import machine


@dataclass(frozen=True)
class Pairs:
    """A figure of the sides A and B, one value per pair. Whether smaller or larger is better depends on the figure."""

    a: tuple[float, ...]
    b: tuple[float, ...]

    @property
    def ratios(self) -> tuple[float, ...]:
        return tuple(a / b for a, b in zip(self.a, self.b, strict=True))

    def row(self, name: str, unit: str) -> str:
        """Return a Markdown table row: name, median of A, median of B, ratio A/B with its extremes, number of pairs."""
        ratios = self.ratios
        return (
            f"| {name} | {statistics.median(self.a):,.3g} {unit} | {statistics.median(self.b):,.3g} {unit} "
            f"| **{statistics.median(ratios):.3f}** ({min(ratios):.3f} … {max(ratios):.3f}) | {len(ratios)} |"
        )


RATE_AND_CPU = {"messages per second": "/s", "CPU per message": "µs"}
HEADER = "| figure | A | B | A / B, median (extremes) | pairs |\n|---|---|---|---|---|"


def measure(
    a: Callable[[], Sequence[float]],
    b: Callable[[], Sequence[float]],
    pairs: int,
    print_line: Callable[[str], None] = print,
    *,
    warm: bool = True,
) -> list[Pairs]:
    """Run both sides ``pairs`` times and return a `Pairs` for each figure.

    With ``warm``, each side runs once before; this run does not count.
    """
    if warm:
        a(), b()
    figures_a: list[Sequence[float]] = []
    figures_b: list[Sequence[float]] = []
    for pair in range(pairs):
        order = ((a, figures_a), (b, figures_b)) if pair % 2 == 0 else ((b, figures_b), (a, figures_a))
        for side, figures in order:
            figures.append(side())
        print_line(f"pair {pair + 1} of {pairs}: A {figures_a[-1]}, B {figures_b[-1]}")
    return [
        Pairs(tuple(x), tuple(y))
        for x, y in zip(zip(*figures_a, strict=True), zip(*figures_b, strict=True), strict=True)
    ]


def compare(
    title: str,
    a: Callable[[], Sequence[float]],
    b: Callable[[], Sequence[float]],
    pairs: int,
    *,
    warm: bool = True,
    units: Mapping[str, str] = RATE_AND_CPU,
) -> None:
    """Measure both sides and print a table.

    Each side returns its figures in the order of ``units``. ``warm``: see `measure`.
    """
    figures = measure(a, b, pairs, warm=warm)
    print(f"\n{title}\n\n{HEADER}")
    for (name, unit), figure in zip(units.items(), figures, strict=True):
        print(figure.row(name, unit), flush=True)


def conditions() -> str:
    """Describe the machine and the date, for the line above a table."""
    facts = machine.describe()
    memory = f"{int(facts['memory_bytes']) / 2**30:.0f} GiB"
    return (
        f"{time.strftime('%Y-%m-%d')}, {facts['cores']} cores of {facts['processor']}, {memory}, {platform.system()}, "
        f"Python {platform.python_version()}, load average before {os.getloadavg()[0]:.1f}"
    )
