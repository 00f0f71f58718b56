"""Makes the tables of a comparison.

The table on the page has a row per figure and a column per arm. Three long tables have a row per value, per ratio and
per effect (a figure of one arm): they are the CSV files of the page.
"""

import csv
import io
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import exp
from statistics import median
from typing import cast

from reports.comparison.arms import Arm
from reports.comparison.comparison import ArmFigure, Comparison, Test
from reports.comparison.metrics import METRICS, Metric
from reports.comparison.runs import AnalysedRun
from reports.comparison.sentences import arm_of
from reports.comparison.statistics import Estimate
from reports.comparison.verdicts import effect_text
from reports.export import no_formula
from reports.parts.numbers import counted, joined, significant
from reports.parts.values import ANY, Cell, Column, Table

COUNTS = {"lost": "messages lost", "duplicated": "delivered twice"}
BY_HOPS = "latency p50 by brokers crossed, ms"
NEEDS = ("brokers", "links", "restarts to add a broker")


@dataclass(frozen=True)
class ArmCell:
    """``value``: the figure. ``note``: its interval. ``against``: its relation to the first arm. ``tone``: a class."""

    value: str
    note: str = ""
    against: str = ""
    tone: str = ""


@dataclass(frozen=True)
class FigureRow:
    """A figure with a cell for each arm. ``scenario``: its scenario if there are several; '' if it covers all."""

    title: str
    cells: tuple[ArmCell, ...]
    scenario: str = ""


@dataclass(frozen=True)
class ArmTable:
    """``left_out``: figures that no run has, with the reason."""

    arms: tuple[str, ...]
    rows: tuple[FigureRow, ...]
    left_out: tuple[str, ...]

    def row(self, title: str) -> FigureRow:
        """Return the first row with this title. Raises KeyError if there is none."""
        return {row.title: row for row in reversed(self.rows)}[title]


def arm_table(comparisons: Sequence[Comparison]) -> ArmTable:
    """Return the table. A figure has a row for the first scenario, and for each scenario with this primary figure."""
    arms, several = comparisons[0].design.rows, len(comparisons) > 1
    filled = [
        (comparison, metric)
        for comparison, metrics in zip(comparisons, _filled(comparisons), strict=True)
        for metric in metrics
    ]
    rows = [
        FigureRow(
            f"{metric.title}, {metric.unit}",
            tuple(_cell(comparison, metric, arm.name) for arm in arms),
            comparison.scenario if several else "",
        )
        for comparison, metric in filled
    ]
    runs = [[run for comparison in comparisons for run in arm_of(comparison, arm.name).runs] for arm in arms]
    rows += [FigureRow(words, tuple(count_cell(of_arm, name) for of_arm in runs)) for name, words in COUNTS.items()]
    rows.append(FigureRow(BY_HOPS, tuple(map(hops_cell, arms))))
    rows += [FigureRow(title, cells) for title, cells in zip(NEEDS, zip(*map(needs, arms), strict=True), strict=True)]
    left_out = _left_out(comparisons, {metric.path for _, metric in filled})
    return ArmTable(tuple(arm.name for arm in arms), tuple(rows), left_out)


def _filled(comparisons: Sequence[Comparison]) -> list[list[Metric]]:
    shown_paths: set[str] = set()
    metrics_by_comparison = []
    for comparison in comparisons:
        measured = [
            metric
            for metric in comparison.shown()
            if any(_measured(comparison.figures[metric.path, arm.name]) for arm in comparison.design.arms)
            and (metric.path not in shown_paths or metric in comparison.primary)
        ]
        shown_paths |= {metric.path for metric in measured}
        metrics_by_comparison.append(measured)
    return metrics_by_comparison


def _measured(figure: ArmFigure) -> bool:
    return figure.own is not None or figure.zeros > 0


def _left_out(comparisons: Sequence[Comparison], filled: set[str]) -> tuple[str, ...]:
    shown = {metric.path: metric for comparison in comparisons for metric in comparison.shown()}
    missing = [metric for path, metric in shown.items() if path not in filled]
    no_faults = not any(METRICS[path].of_faults for path in filled)
    runs = [run for comparison in comparisons for arm in comparison.design.arms for run in arm.runs]
    listed = [metric for metric in missing if not (no_faults and metric.of_faults)]
    empty = [f"{metric.title} ({doubtful_runs_note(runs, metric) or metric.if_absent})" for metric in listed]
    if no_faults:
        empty.append("outages, recovery and balance (no run had a fault, or no run measured them)")
    return tuple(empty)


def doubtful_runs_note(runs: Sequence[AnalysedRun], metric: Metric) -> str:
    """Return the number of runs with a doubtful figure, and the reason without per-run details; '' if none."""
    reasons = [reason for run in runs if (reason := run.doubt(metric))]
    if not reasons:
        return ""
    causes = Counter(reason.partition(":")[0] for reason in reasons)
    ((commonest, _),) = causes.most_common(1)
    other_causes = ", among other causes" if len(causes) > 1 else ""
    return f"left out as doubtful in {len(reasons)} of {counted(len(runs), 'run')}: {commonest}{other_causes}"


def _cell(comparison: Comparison, metric: Metric, arm: str) -> ArmCell:
    tests = {test.figure.metric.path: test for test in comparison.tests if test.figure.arm == arm}
    figure = comparison.figures[metric.path, arm]
    if figure.own is None and figure.zeros:
        return ArmCell("0", f"in each of {counted(figure.zeros, 'run')}" if figure.zeros > 1 else "one run")
    if figure.own is None:
        return ArmCell("–", doubtful_runs_note(arm_of(comparison, arm).runs, metric) or "not measured")
    return figure_cell(figure, figure.own, comparison.reference.name, tests.get(metric.path))


def figure_cell(figure: ArmFigure, own: Estimate, reference: str, test: Test | None) -> ArmCell:
    """Return the cell of a figure. ``own``: the arm's estimate. ``test``: None unless the figure is primary."""
    covers = "" if own.confidence >= 0.95 else f" ({100 * own.confidence:.0f} %)"
    note = f"{significant(own.low)} … {significant(own.high)}{covers}" if own.confidence else "one run"
    if figure.zeros:
        note += f", without {counted(figure.zeros, 'run')} of 0"
    if not figure.log_ratios:
        return ArmCell(significant(own.center), note)
    if figure.against is None:
        return ArmCell(significant(own.center), note, f"no block to compare with {reference}")
    change = effect_text(figure.against)
    if test is not None:
        word, standing_verdict = test.verdict.word, test.first
        verdict_words = (
            f"{word} by the first {standing_verdict.blocks} blocks: {effect_text(standing_verdict.estimate)}; by all: "
            if standing_verdict
            else f"{word}: "
        )
        return ArmCell(significant(own.center), note, f"{verdict_words}{change}", word)
    if figure.interval_excludes_1:
        return ArmCell(significant(own.center), note, change)
    return ArmCell(significant(own.center), note, f"not distinguishable from {reference}", "untold")


def count_cell(runs: Sequence[AnalysedRun], name: str) -> ArmCell:
    """Return the sum over all runs. The note has the smallest and the largest count of one run."""
    counts = [int(cast(dict[str, int], run.summary["messages"])[name]) for run in runs]
    return ArmCell(
        f"{sum(counts):,}", f"{min(counts):,} … {max(counts):,} per run", tone="worse" if sum(counts) else ""
    )


def hops_cell(arm: Arm) -> ArmCell:
    """Return the median run's median latency by number of brokers crossed: ``0: 1.2 · 1: 2.3``."""
    hops = sorted({number for run in arm.runs for number in run.by_hops})
    if not hops:
        return ArmCell("–", "the protocol does not report it")
    medians = [median(_p50_ms(run, number) for run in arm.runs if number in run.by_hops) for number in hops]
    return ArmCell(" · ".join(f"{number}: {significant(ms)}" for number, ms in zip(hops, medians, strict=True)))


def _p50_ms(run: AnalysedRun, hops: int) -> float:
    median_ms = run.by_hops[hops].percentile(0.5)
    assert median_ms is not None, "a number of hops is known from its messages"
    return median_ms


def needs(arm: Arm) -> tuple[ArmCell, ArmCell, ArmCell]:
    """Return the brokers, the links between them, and the brokers that adding one would restart."""
    return (
        _same(str(len(run.info.brokers)) for run in arm.runs),
        _same(str(len(run.info.links)) for run in arm.runs),
        _same(run.to_add_a_broker or "not known" for run in arm.runs),
    )


def _same(values: Iterable[str]) -> ArmCell:
    return ArmCell(joined(sorted(set(values))))


def values(comparison: Comparison) -> Table:
    """Return every figure and every count of every run, whether or not the page shows it."""
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
    """Return a table with a row per figure, arm and usable block."""
    titles = ("figure", "arm", "block", "ratio")
    rows = tuple(
        (figure.metric.path, figure.arm, block, exp(ratio))
        for figure in against_first(comparison)
        for block, ratio in zip(comparison.design.blocks, figure.log_ratios, strict=True)
        if ratio is not None
    )
    return Table("Ratios to the first arm, by block", _columns(titles, "ratio"), rows)


def effects(comparison: Comparison) -> Table:
    """Return a table with a row per figure and arm: estimate, interval, and the verdict of a primary figure.

    Figures that have no ratio in any arm are left out, unless they are primary.
    """
    numbers = ("blocks", "ratio", "low", "high", "confidence", "p", "p (Holm)")
    tests = {(test.figure.metric.path, test.figure.arm): test for test in comparison.tests}
    rows: list[tuple[Cell, ...]] = []
    figures = against_first(comparison)
    shown_paths = {figure.metric.path for figure in figures if figure.used} | {path for path, _ in tests}
    for figure in (figure for figure in figures if figure.metric.path in shown_paths):
        test, ratio = tests.get((figure.metric.path, figure.arm)), figure.against
        ends = (exp(ratio.low), exp(ratio.high), ratio.confidence) if ratio and ratio.has_interval else (None,) * 3
        estimated = (exp(ratio.center) if ratio else None, *ends)
        tested = (test.p, test.adjusted_p, _verdict(test)) if test else (None, None, "described only")
        rows.append((figure.metric.path, figure.arm, len(figure.used), *estimated, *tested))
    columns = _columns(("figure", "arm", *numbers, "verdict"), *numbers)
    return Table("Effects against the first arm", columns, tuple(rows))


def _verdict(test: Test) -> str:
    return f"{test.verdict.word} (first {test.first.blocks} blocks)" if test.first else test.verdict.word


def against_first(comparison: Comparison) -> list[ArmFigure]:
    reference = comparison.reference.name
    return [figure for (_, arm), figure in comparison.figures.items() if arm != reference]


def _columns(titles: tuple[str, ...], *numeric: str) -> tuple[Column, ...]:
    return tuple(Column(title, ANY if title in numeric else None) for title in titles)


def as_csv(table: Table) -> str:
    """Return the table as CSV with a header. An absent value is an empty field. Formulas get an apostrophe in front."""
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow([no_formula(column.title) for column in table.columns])
    writer.writerows([_csv_cell(value) for value in row] for row in table.rows)
    return buffer.getvalue()


def _csv_cell(value: Cell) -> Cell:
    if value is None:
        return ""
    return no_formula(value) if isinstance(value, str) else value
