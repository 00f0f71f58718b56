"""Draws the ratio of each arm to the first, block by block."""

from dataclasses import dataclass
from math import exp, log

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

from reports.parts.style import BAND, GRID, INK, MUTED, SMALL, look, new_figure, plain_axes, shortened


@dataclass(frozen=True)
class DotRow:
    """The ratios of one arm to the first, one a block, with their estimate and its interval."""

    name: str
    ratios: tuple[float, ...]
    centre: float
    low: float
    high: float
    style: int = 0


ROW, ROOM = 62, 74
TICKS = (1.02, 1.05, 1.1, 1.25, 1.5, 2, 3, 5, 10, 20, 50, 100, 200, 500, 1_000, 10_000)
MOST_TICKS = 7


def draw_differences(rows: tuple[DotRow, ...], same_within: float) -> Figure:
    """``same_within``: per cent either way that count as the same; drawn as a band around 1."""
    figure = new_figure(ROOM + ROW * len(rows))
    axes = figure.subplots()
    plain_axes(axes, "ratio to the first arm")
    axes.set_xscale("log")
    axes.axvspan(1 / (1 + same_within / 100), 1 + same_within / 100, color=BAND, linewidth=0)
    axes.axvline(1, color=MUTED, linewidth=1.2, linestyle=(0, (1, 1.5)))
    for at, row in enumerate(rows):
        _draw_row(axes, -at, row)
    axes.set_ylim(0.5 - len(rows), 0.75)
    axes.yaxis.set_major_locator(FixedLocator([-at + 0.36 for at in range(len(rows))]))
    axes.grid(False, axis="y")
    axes.set_yticklabels(["" for _ in rows])
    _ratio_axis(axes, rows, same_within)
    return figure


def _draw_row(axes: Axes, y: float, row: DotRow) -> None:
    colour, marker = look(row.style)["color"], look(row.style)["marker"]
    axes.text(0.0, y + 0.42, shortened(row.name), transform=axes.get_yaxis_transform(), fontsize=SMALL, color=INK)
    axes.plot(
        row.ratios, [y + 0.12] * len(row.ratios), linestyle="", marker=marker, markersize=6, color=colour, alpha=0.6
    )
    axes.plot([row.low, row.high], [y - 0.2] * 2, color=colour, linewidth=3)
    axes.plot([row.centre], [y - 0.2], linestyle="", marker="D", markersize=8, color=colour)


def _ratio_axis(axes: Axes, rows: tuple[DotRow, ...], same_within: float) -> None:
    """Equally wide on both sides of 1, so that no side looks longer than it is."""
    values = [value for row in rows for value in (*row.ratios, row.low, row.high)]
    reach = 1.12 * max(log(1 + same_within / 100) * 1.5, *(abs(log(value)) for value in values))
    axes.set_xlim(exp(-reach), exp(reach))
    axes.xaxis.set_major_locator(FixedLocator(ratio_ticks(reach)))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(FuncFormatter(lambda x, _: f"× {x:.2g}" if x < 1 else f"× {x:g}"))
    axes.grid(True, axis="x", color=GRID, linewidth=0.8)


def ratio_ticks(reach: float) -> list[float]:
    """Ratios to mark on an axis from exp(-reach) to exp(reach): 1, then outwards those that are far enough apart."""
    apart = 2 * reach / MOST_TICKS
    above: list[float] = []
    for tick in (tick for tick in TICKS if 1 < tick <= exp(reach)):
        if log(tick) - log(above[-1] if above else 1) >= apart:
            above.append(tick)
    return [*(1 / tick for tick in reversed(above)), 1.0, *above]
