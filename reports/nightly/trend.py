"""Follows each gate's figure from night to night: the middle of every arm's runs, and their range."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import nan
from statistics import median

import pyarrow as pa
import pyarrow.compute as pc
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FixedLocator

from reports.comparison.metrics import Metric
from reports.nightly.judging import Cell
from reports.parts.style import legend, legend_height, look, new_figure, plain_axes
from reports.parts.values import Column, Table

MOST_NIGHTS = 60


@dataclass(frozen=True)
class TrendLine:
    """One arm. Three values a night: smallest, middle and largest of its runs; None where it has none."""

    name: str
    style: int
    low: tuple[float | None, ...]
    middle: tuple[float | None, ...]
    high: tuple[float | None, ...]


@dataclass(frozen=True)
class Trend:
    """One figure of one cell over the nights, the oldest first."""

    cell: str
    metric: Metric
    nights: tuple[str, ...]
    lines: tuple[TrendLine, ...]


def trends(history: pa.Table, cells: Sequence[Cell]) -> tuple[Trend, ...]:
    """A trend for each figure that a gate compares. Doubtful values are left out."""
    return tuple(_trend(history, cell, metric) for cell in cells for metric in _metrics(cell))


def _metrics(cell: Cell) -> list[Metric]:
    return list(dict.fromkeys(gate.metric for gate in cell.gates))


def _trend(history: pa.Table, cell: Cell, metric: Metric) -> Trend:
    of_figure = pc.equal(history["figure"], metric.path)
    of_cell = pc.and_(pc.equal(history["scenario"], cell.scenario), pc.equal(history["topology"], cell.topology))
    alike = pc.and_(of_cell, pc.equal(history["setup"], cell.setup))
    rows = history.filter(pc.and_(of_figure, alike)).sort_by("began").to_pylist()
    nights = tuple(dict.fromkeys(row["night"] for row in rows))[-MOST_NIGHTS:]
    arms = dict.fromkeys(row["arm"] for row in sorted(rows, key=lambda row: not row["reference"]))
    lines = tuple(_line(arm, style, nights, rows) for style, arm in enumerate(arms))
    return Trend(cell.name, metric, nights, lines)


def _line(arm: str, style: int, nights: Sequence[str], rows: Sequence[dict[str, object]]) -> TrendLine:
    values: dict[str, list[float]] = {night: [] for night in nights}
    for row in rows:
        if row["arm"] == arm and row["night"] in values and row["value"] is not None and not row["doubtful"]:
            values[str(row["night"])].append(float(row["value"]))  # type: ignore[arg-type]
    each = [values[night] for night in nights]
    return TrendLine(arm, style, *(tuple(of(found) if found else None for found in each) for of in (min, median, max)))


def trend_table(trend: Trend) -> Table:
    title = f"{trend.metric.title} of {trend.cell}, night by night"
    columns = (Column("Night"), *(Column(name, 3) for line in trend.lines for name in _titles(line)))
    return Table(title, columns, tuple(_rows(trend)), sortable=False)


def _titles(line: TrendLine) -> tuple[str, str, str]:
    return (f"{line.name}: smallest", f"{line.name}: middle", f"{line.name}: largest")


def _rows(trend: Trend) -> Iterator[tuple[str | float | None, ...]]:
    for at, night in enumerate(trend.nights):
        yield (night, *(values[at] for line in trend.lines for values in (line.low, line.middle, line.high)))


HEIGHT = 230
MOST_LABELS = 5


def draw_trend(trend: Trend) -> Figure:
    handles = [Line2D([], [], linewidth=2, markersize=5, label=line.name, **look(line.style)) for line in trend.lines]
    figure = new_figure(HEIGHT + legend_height(handles))
    axes = figure.subplots()
    plain_axes(axes, trend.metric.unit)
    at = range(len(trend.nights))
    for line in trend.lines:
        low, middle, high = ([nan if each is None else each for each in values] for values in _of(line))
        axes.fill_between(at, low, high, color=look(line.style)["color"], alpha=0.18, linewidth=0)
        axes.plot(at, middle, linewidth=2, markersize=5, **look(line.style))
    axes.set_ylim(bottom=0)
    every = max(1, -(-len(trend.nights) // MOST_LABELS))
    axes.xaxis.set_major_locator(FixedLocator(list(at)[::every]))
    axes.set_xticklabels(trend.nights[::every])
    legend(figure, handles)
    return figure


def _of(line: TrendLine) -> tuple[tuple[float | None, ...], ...]:
    return (line.low, line.middle, line.high)
