"""Follows each gate's figure from night to night: the middle of every arm's runs, and their range."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import median

import pyarrow as pa
import pyarrow.compute as pc

from reports.comparison.metrics import Metric
from reports.nightly.judging import Cell
from reports.values import Column, Table

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
