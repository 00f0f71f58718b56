"""Draws the outage of each client as a dot, one row of dots for each fault and role.

Clients that never came back are counted at the right edge.
"""

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FuncFormatter, LogLocator, NullFormatter

from reports.figures.style import GRID, INK, MUTED, SMALL, look, new_figure, plain_axes, shortened
from reports.numbers import significant
from reports.values import OutageRow

ROW, ROOM = 64, 66
LEAST_MS = 0.1
LINEAR_UP_TO = 20  # times the shortest outage
SPREAD = 0.34  # of a row's height, so that dots of equal outages stand beside each other
STEPS = 7


def draw(rows: tuple[OutageRow, ...]) -> Figure:
    figure = new_figure(ROOM + ROW * len(rows))
    axes = figure.subplots()
    plain_axes(axes, "outage, ms")
    _scale(axes, rows)
    for at, row in enumerate(rows):
        _draw_row(axes, -at, row)
    axes.set_ylim(0.5 - len(rows), 0.75)
    axes.yaxis.set_major_locator(FixedLocator([]))
    axes.grid(True, axis="x", color=GRID, linewidth=0.8)
    return figure


def _scale(axes: Axes, rows: tuple[OutageRow, ...]) -> None:
    """From 0, so that lengths can be compared; logarithmic where the longest outage would hide the others."""
    values = [max(value, LEAST_MS) for row in rows for value in row.outages_ms] or [1.0]
    if max(values) <= LINEAR_UP_TO * min(values):
        axes.set_xlim(0, max(values) * 1.15)
        axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.10g}"))
        return
    axes.set_xscale("log")
    axes.set_xlim(min(values) / 1.5, max(values) * 2)
    axes.xaxis.set_major_locator(LogLocator(base=10, subs=(1, 2, 5), numticks=9))
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: significant(value, 1)))


def _draw_row(axes: Axes, y: float, row: OutageRow) -> None:
    """The middle client's outage is a line through the dots."""
    colour, marker = look(row.style)["color"], look(row.style)["marker"]
    name = shortened(f"{row.name} ({len(row.outages_ms) + row.never:,})")
    axes.text(0.0, y + 0.42, name, transform=axes.get_yaxis_transform(), fontsize=SMALL, color=INK)
    values = sorted(max(value, LEAST_MS) for value in row.outages_ms)
    if values:
        middle = values[(len(values) - 1) // 2]
        axes.plot([middle, middle], [y - 0.3, y + 0.22], color=MUTED, linewidth=1.6)
    heights = [y - 0.04 + SPREAD * ((at * 3 % STEPS) / (STEPS - 1) - 0.5) for at in range(len(values))]
    axes.plot(values, heights, linestyle="", marker=marker, markersize=6, color=colour, alpha=0.6)
    if row.never:
        told = f"{row.never:,} never ▸"
        axes.text(1.0, y - 0.1, told, transform=axes.get_yaxis_transform(), ha="right", fontsize=SMALL, color=INK)
