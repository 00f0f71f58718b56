"""Makes the JSON document of a comparison; docs/comparison.schema.json describes it."""

import json
from collections.abc import Sequence
from math import exp
from typing import Any, cast

from reports.comparison.arms import Arm
from reports.comparison.comparison import ArmFigure, Comparison
from reports.comparison.metrics import METRICS
from reports.comparison.runs import FinishedRun
from reports.comparison.sentences import answer, doubts_of
from reports.comparison.statistics import LEVEL, Estimate

COMPARISON_VERSION = 2


def document(comparisons: Sequence[Comparison]) -> dict[str, Any]:
    """Plain values. Ratios are to the first arm. Times are in milliseconds. Unknown values are null."""
    first = comparisons[0]
    return {
        "comparison_version": COMPARISON_VERSION,
        "answer": answer(comparisons),
        "arms_by": first.design.field,
        "reference": first.reference.name,
        "level": LEVEL,
        "blocks_needed": first.needed,
        "same_within_percent": first.same_within,
        "scenarios": [_scenario(each) for each in comparisons],
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


def text(comparisons: Sequence[Comparison]) -> str:
    return json.dumps(document(comparisons), indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def _tests(comparison: Comparison) -> list[dict[str, Any]]:
    return [
        {
            "figure": test.figure.metric.path,
            "arm": test.figure.arm,
            "verdict": test.verdict.word,
            "reasons": list(test.verdict.reasons),
            "ratio": _ratio(test.figure.against),
            "p": test.p,
            "p_holm": test.adjusted_p,
            "blocks_used": len(test.figure.used),
        }
        for test in comparison.tests
    ]


def _figure(figure: ArmFigure) -> dict[str, Any]:
    return {
        "figure": figure.metric.path,
        "arm": figure.arm,
        "unit": figure.metric.unit,
        "higher_is_better": figure.metric.higher_is_better,
        "values": list(figure.values),
        "own": _estimate(figure.own),
        "ratios": [None if ratio is None else exp(ratio) for ratio in figure.log_ratios],
        "ratio": _ratio(figure.against),
        "told_apart": figure.told_apart,
        "left_out": {"doubtful": figure.doubtful, "missing": figure.missing},
    }


def _ratio(found: Estimate | None) -> dict[str, float] | None:
    if found is None:
        return None
    ends = {"estimate": exp(found.centre), "low": exp(found.low), "high": exp(found.high)}
    return {**ends, "confidence": found.confidence}


def _estimate(found: Estimate | None) -> dict[str, float] | None:
    if found is None:
        return None
    return {"estimate": found.centre, "low": found.low, "high": found.high, "confidence": found.confidence}


def _run(run: FinishedRun) -> dict[str, Any]:
    return {
        "run": run.name,
        "verdict": run.summary["verdict"],
        "reasons": list(run.summary["reasons"]),
        "began": run.summary["wall"],
        "command": list(run.info.command),
        "timing_known": run.doubtful is not None,
        "doubtful": run.doubtful or {},
        "figures": {path: metric.value(run.summary) for path, metric in METRICS.items()},
        "messages": dict(cast(dict[str, int], run.summary["messages"])),
    }
