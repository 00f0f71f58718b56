"""Evaluates checks and premises on a run's summary. A check that the figures cannot decide is unknown, never passed.

A run whose premises do not hold did not test its question.
"""

import math
from collections.abc import Iterable, Mapping

from records.figures.checks import LABELED, Check, label_of
from records.figures.summary import CheckResult

AT_LEAST = (
    "lost",
    "missing_unconfirmed",
    "stranded",
    "left_unconfirmed",
    "dead_lettered",
    "expired",
    "unselected",
    "pending",
)
"""Counts to which unaccounted messages may belong, so their values are the lowest possible ones."""
AT_MOST = ("gone",)
"""Counts that include unaccounted messages, so their values are the highest possible ones."""
BY_POSITION = ("lost_tails", "lost_holes", "lost_whole", "oldest_lost_s")
"""Figures that may be higher or lower if unaccounted messages survived."""
LEFTOVERS = ("leftovers", "unsent_leftovers", "foreign_leftovers")


def evaluate(checks: Iterable[Check], summary: Mapping[str, object], *, searched: bool = True) -> list[CheckResult]:
    """Evaluate the checks on a summary, in the order given.

    A check is unknown if its figure is missing or doubtful, or if places that were not searched for messages decide it.
    ``searched``: whether there are no such places.
    """
    timing = summary.get("timing")
    doubtful = timing["doubtful"] if isinstance(timing, Mapping) else {}
    return [_evaluate(check, summary, check.metric in doubtful, searched) for check in checks]


def _possible(summary: Mapping[str, object], metric: str, value: float, searched: bool) -> tuple[float, float]:
    """Return the lowest and the highest value that a figure may have, whatever places that were not searched hold."""
    parent, _, name = metric.rpartition(".")
    of_parent = value_at(summary, f"{parent}.unaccounted")
    unaccounted = (value_at(summary, "messages.unaccounted") if of_parent is None else of_parent) or 0
    if metric in LEFTOVERS and not searched:
        return value, math.inf
    if name in AT_LEAST:
        return value, value + unaccounted
    if name in AT_MOST:
        return max(0, value - unaccounted), value
    return (0, math.inf) if name in BY_POSITION and unaccounted else (value, value)


def unmet(premises: Iterable[Check], summary: Mapping[str, object], *, searched: bool = True) -> tuple[str, ...]:
    """Return a sentence for each premise that did not hold or could not be evaluated."""
    return tuple(
        f"the run did not test its question, as it needs {result['name']}: {result['metric']} is "
        f"{'not known' if result['value'] is None else format(result['value'], 'g')}, it must be {result['rule']}"
        for result in evaluate(premises, summary, searched=searched)
        if result["outcome"] != "pass"
    )


def value_at(summary: Mapping[str, object], metric: str) -> float | None:
    """Return the number at a dotted path (``latency_ms.due_to_received.p99``) or its label; None if it is missing."""
    path, label = label_of(metric)
    figure: object = summary
    keys = path.split(".")
    if label:
        figure, keys = _of_label(summary, label), [path.removeprefix(LABELED)]
    for key in keys:
        if not isinstance(figure, Mapping) or key not in figure:
            return None
        figure = figure[key]
    return figure if isinstance(figure, int | float) and not isinstance(figure, bool) else None


def _of_label(summary: Mapping[str, object], label: str) -> object:
    """Return the latencies of a consumer class or a destination."""
    by_label = summary.get("latency_by")
    groups = by_label.values() if isinstance(by_label, Mapping) else ()
    return next((group[label] for group in groups if label in group), {})


def _evaluate(check: Check, summary: Mapping[str, object], doubtful: bool, searched: bool) -> CheckResult:
    value = value_at(summary, check.metric)
    outcome = "unknown"
    if value is not None and not doubtful:
        outcome = _outcome(check, *_possible(summary, check.metric, value, searched))
    return CheckResult(name=check.name, metric=check.metric, value=value, rule=check.rule, outcome=outcome)


def _outcome(check: Check, least: float, most: float) -> str:
    """Return pass or fail if every value from ``least`` to ``most`` does, otherwise unknown."""
    if not check.rule:  # a check without a bound can neither pass nor fail
        return "unknown"
    if _is_high_enough(check, least) and _is_low_enough(check, most):
        return "pass"
    return "unknown" if _is_high_enough(check, most) and _is_low_enough(check, least) else "fail"


def _is_high_enough(check: Check, value: float) -> bool:
    return (check.at_least is None or value >= check.at_least) and (check.above is None or value > check.above)


def _is_low_enough(check: Check, value: float) -> bool:
    return (check.at_most is None or value <= check.at_most) and (check.below is None or value < check.below)
