"""Writes a comparison as JSON (docs/comparison.schema.json), and as Markdown for CI job summaries and pull requests."""

import json
from collections.abc import Sequence
from math import exp
from typing import Any, cast

from reports.comparison.arms import Arm
from reports.comparison.comparison import ArmFigure, Comparison
from reports.comparison.confounders import confounder_lines
from reports.comparison.metrics import METRICS
from reports.comparison.runs import AnalysedRun
from reports.comparison.sentences import answer, answers, doubts, doubts_of, lead, messages
from reports.comparison.statistics import LEVEL, Estimate
from reports.comparison.tables import ArmCell, ArmTable, arm_table
from reports.comparison.verdicts import FirstVerdict
from reports.parts.formats import plain, table_lines
from reports.parts.numbers import joined

COMPARISON_VERSION = 3


def document(comparisons: Sequence[Comparison]) -> dict[str, Any]:
    """Return the comparison as plain values. Ratios are to the first arm, times in ms. Unknown values are null."""
    leading = comparisons[0]
    return {
        "comparison_version": COMPARISON_VERSION,
        "answer": answer(comparisons),
        "arms_by": leading.design.field,
        "beside": list(confounder_lines(comparisons)),
        "reference": leading.reference.name,
        "level": LEVEL,
        "blocks_needed": leading.needed,
        "same_within_percent": leading.same_within,
        "scenarios": [_scenario(comparison) for comparison in comparisons],
    }


def _scenario(comparison: Comparison) -> dict[str, Any]:
    design = comparison.design
    return {
        "scenario": comparison.scenario,
        "blocks": list(design.blocks),
        "blocks_recorded": design.recorded,
        "primary": [metric.path for metric in comparison.primary],
        "tests": _tests(comparison),
        "figures": [_figure(figure) for figure in comparison.figures.values()],
        "arms": [_arm(arm) for arm in design.arms],
        "control": _arm(design.control) if design.control else None,
        "unlike": [str(difference) for difference in design.unlike],
        "doubts": list(doubts_of(comparison)),
    }


def _arm(arm: Arm) -> dict[str, Any]:
    return {"name": arm.name, "runs": [_run(run) for run in arm.runs]}


def document_text(comparisons: Sequence[Comparison]) -> str:
    return json.dumps(document(comparisons), indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def _tests(comparison: Comparison) -> list[dict[str, Any]]:
    return [
        {
            "figure": test.figure.metric.path,
            "arm": test.figure.arm,
            "verdict": test.verdict.word,
            "reasons": list(test.verdict.reasons),
            "ratio": ratio_document(test.figure.against),
            "p": test.p,
            "p_holm": test.adjusted_p,
            "blocks_used": len(test.figure.used),
            "first_verdict": _first_verdict(test.first),
        }
        for test in comparison.tests
    ]


def _first_verdict(verdict: FirstVerdict | None) -> dict[str, Any] | None:
    """Return the earlier verdict if it replaces the one by all blocks."""
    if verdict is None:
        return None
    return {
        "blocks": verdict.blocks,
        "blocks_used": verdict.used,
        "verdict": verdict.word,
        "reasons": list(verdict.reasons),
        "ratio": ratio_document(verdict.estimate),
        "p": verdict.p,
        "p_holm": verdict.adjusted_p,
    }


def _figure(figure: ArmFigure) -> dict[str, Any]:
    return {
        "figure": figure.metric.path,
        "arm": figure.arm,
        "unit": figure.metric.unit,
        "higher_is_better": figure.metric.higher_is_better,
        "values": list(figure.values),
        "own": _estimate(figure.own),
        "ratios": [None if ratio is None else exp(ratio) for ratio in figure.log_ratios],
        "ratio": ratio_document(figure.against),
        "told_apart": figure.interval_excludes_1,
        "left_out": {"doubtful": figure.doubtful, "missing": figure.missing},
    }


def ratio_document(log_ratio: Estimate | None) -> dict[str, float | None] | None:
    """Return a ratio from its logarithms; None without an estimate."""
    return _ends(log_ratio, exp(log_ratio.center), exp(log_ratio.low), exp(log_ratio.high)) if log_ratio else None


def _estimate(estimate: Estimate | None) -> dict[str, float | None] | None:
    return _ends(estimate, estimate.center, estimate.low, estimate.high) if estimate else None


def _ends(estimate: Estimate, center: float, low: float, high: float) -> dict[str, float | None]:
    """Return an estimate with its interval. An estimate from one value has no interval."""
    if not estimate.has_interval:
        return {"estimate": center, "low": None, "high": None, "confidence": None}
    return {"estimate": center, "low": low, "high": high, "confidence": estimate.confidence}


def _run(run: AnalysedRun) -> dict[str, Any]:
    return {
        "run": run.name,
        "verdict": run.summary["verdict"],
        "reasons": list(run.summary["reasons"]),
        "began": run.summary["wall"],
        "command": list(run.info.command),
        "doubtful": run.summary["timing"]["doubtful"],
        "figures": {path: metric.value(run.summary) for path, metric in METRICS.items()},
        "messages": dict(cast(dict[str, int], run.summary["messages"])),
    }


def markdown(comparisons: Sequence[Comparison]) -> str:
    table, leading = arm_table(comparisons), comparisons[0]
    title = " vs ".join(arm.name for arm in leading.design.arms)
    lines = [f"## {plain(title)}", "", *(f"**{plain(line)}**\n" for line in answers(comparisons))]
    lines += [plain(messages(comparisons)), ""]
    if any(comparison.design.unlike for comparison in comparisons):
        lines += ["> **The compared runs differ in more than the arms**, as --allow-unlike permits: see below.", ""]
    if lines_beside := confounder_lines(comparisons):
        lines += [
            f"What differs besides the {plain(leading.design.field)}:",
            "",
            *(f"- {plain(line)}" for line in lines_beside),
            "",
        ]
    lines += [plain(lead(comparisons)), "", *_arms(leading.design.field, table)]
    if table.left_out:
        lines += ["", f"Figures left out: {plain(joined(list(table.left_out)))}."]
    lines += ["", "### Verdicts", ""]
    for comparison in comparisons:
        under = f"{plain(comparison.scenario)}, " if len(comparisons) > 1 else ""
        for test in comparison.tests:
            about = f"**{test.verdict.word}**: {under}{plain(test.figure.arm)}, `{test.figure.metric.path}`."
            lines.append(f"- {about} {plain(' '.join(test.verdict.reasons))}")
    lines += ["", "### What to doubt", "", *(f"- {plain(doubt)}" for doubt in doubts(comparisons))]
    return "\n".join(lines) + "\n"


def _arms(field: str, table: ArmTable) -> list[str]:
    titles = (plain(field), *map(plain, table.arms))
    rows = [
        (plain(f"{row.scenario}: {row.title}" if row.scenario else row.title), *map(_cell, row.cells))
        for row in table.rows
    ]
    return table_lines(titles, rows)


def _cell(cell: ArmCell) -> str:
    return "<br>".join(plain(part) for part in (cell.value, cell.note, cell.against) if part)
