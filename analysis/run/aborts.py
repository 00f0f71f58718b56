"""Compares the conditions of ``--abort-on`` that ended a load with the figures of the analysis.

An aborted run never passes. If the figures of all events do not confirm the condition, that is an additional reason.
"""

from collections.abc import Iterable, Mapping, Sequence

from analysis.run.checks import value_at
from records.figures.abort import Abort
from records.figures.summary import AbortResult


def aborted(aborts: Iterable[Abort], summary: Mapping[str, object]) -> list[AbortResult]:
    """Return a result for each condition that ended the load."""
    return [_result(abort, value_at(summary, abort.condition.figure)) for abort in aborts]


def _result(abort: Abort, analysed: float | None) -> AbortResult:
    return AbortResult(
        condition=str(abort.condition),
        figure=abort.condition.figure,
        value=abort.value,
        rule=abort.condition.rule,
        at_s=abort.at_s,
        in_warm_up=abort.in_warm_up,
        analysed=analysed,
        confirmed=None if abort.with_warm_up else abort.condition.holds(analysed),
    )


def failures(aborts: Sequence[Abort], results: Sequence[AbortResult], doubtful: Mapping[str, str]) -> list[str]:
    """Return a sentence for each condition that the figures do not refute. ``results``: results of ``aborts``."""
    return [
        f"{abort}{_doubt(doubtful.get(result['figure'], ''))}"
        for abort, result in zip(aborts, results, strict=True)
        if result["confirmed"] is not False
    ]


def _doubt(why: str) -> str:
    return f"; the analyzed figure is doubtful, as {why}" if why else ""


def unconfirmed(aborts: Sequence[Abort], results: Sequence[AbortResult]) -> list[str]:
    """Return a sentence for each condition that the figures of all events do not meet."""
    return [
        f"{abort}; {_not_met(result['analysed'])}"
        for abort, result in zip(aborts, results, strict=True)
        if result["confirmed"] is False
    ]


def _not_met(analysed: float | None) -> str:
    if analysed is None:
        return "the analysis does not confirm that, as it has no such figure"
    return f"the analysis does not confirm that: over all events it is {analysed:.6g}"
