"""Lays a comparison out as flat tables: one row a value, a ratio or a test. The page's CSV files are these."""

import csv
import io
from math import exp
from typing import cast

from reports.comparison.comparison import ArmFigure, Comparison, Test
from reports.comparison.metrics import METRICS
from reports.export.csv_tables import no_formula
from reports.parts.values import ANY, Cell, Column, Table


def values(comparison: Comparison) -> Table:
    """Every figure and every count of every run, whether or not the page shows it."""
    titles = ("arm", "block", "run", "figure", "value", "unit", "doubtful")
    rows: list[tuple[Cell, ...]] = []
    for arm in comparison.design.rows:
        for block, run in zip(comparison.design.blocks, arm.runs, strict=True):
            begin = (arm.name, block, run.name)
            rows += [(*begin, m.path, m.value(run.summary), m.unit, run.doubt(m)) for m in METRICS.values()]
            counts = cast(dict[str, int], run.summary["messages"])
            rows += [(*begin, f"messages.{name}", count, "messages", "") for name, count in counts.items()]
    return Table("Figures of every run", _columns(titles, "value"), tuple(rows))


def ratios(comparison: Comparison) -> Table:
    """One row a figure, an arm and a block that could be used."""
    titles = ("figure", "arm", "block", "ratio")
    rows = tuple(
        (figure.metric.path, figure.arm, block, exp(ratio))
        for figure in against_first(comparison)
        for block, ratio in zip(comparison.design.blocks, figure.log_ratios, strict=True)
        if ratio is not None
    )
    return Table("Ratios to the first arm, by block", _columns(titles, "ratio"), rows)


def effects(comparison: Comparison) -> Table:
    """One row a figure and an arm: estimate, interval, and the verdict of a primary figure.

    Figures that have no ratio in any arm are left out, unless they are primary.
    """
    numbers = ("blocks", "ratio", "low", "high", "confidence", "p", "p (Holm)")
    tests = {(test.figure.metric.path, test.figure.arm): test for test in comparison.tests}
    rows: list[tuple[Cell, ...]] = []
    figures = against_first(comparison)
    told = {figure.metric.path for figure in figures if figure.used} | {path for path, _ in tests}
    for figure in (figure for figure in figures if figure.metric.path in told):
        test, found = tests.get((figure.metric.path, figure.arm)), figure.against
        ends = (exp(found.low), exp(found.high), found.confidence) if found and found.has_interval else (None,) * 3
        estimated = (exp(found.centre) if found else None, *ends)
        tested = (test.p, test.adjusted_p, _verdict(test)) if test else (None, None, "described only")
        rows.append((figure.metric.path, figure.arm, len(figure.used), *estimated, *tested))
    columns = _columns(("figure", "arm", *numbers, "verdict"), *numbers)
    return Table("Effects against the first arm", columns, tuple(rows))


def _verdict(test: Test) -> str:
    return f"{test.verdict.word} (first {test.first.blocks} blocks)" if test.first else test.verdict.word


def against_first(comparison: Comparison) -> list[ArmFigure]:
    first = comparison.reference.name
    return [figure for (_, arm), figure in comparison.figures.items() if arm != first]


def _columns(titles: tuple[str, ...], *numeric: str) -> tuple[Column, ...]:
    return tuple(Column(title, ANY if title in numeric else None) for title in titles)


def as_csv(table: Table) -> str:
    """Comma-separated with a header; an absent value is an empty field, and no text is a formula."""
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow([no_formula(column.title) for column in table.columns])
    writer.writerows([_csv_cell(value) for value in row] for row in table.rows)
    return buffer.getvalue()


def _csv_cell(value: Cell) -> Cell:
    if value is None:
        return ""
    return no_formula(value) if isinstance(value, str) else value
