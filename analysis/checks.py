"""Does a run's summary meet a check? What cannot be told is unknown, never passed."""

from collections.abc import Iterable, Mapping

from records.checks import Check
from records.summary import CheckResult


def evaluate(checks: Iterable[Check], summary: Mapping[str, object]) -> list[CheckResult]:
    """Each check on the figures of a summary, in the order given."""
    return [_evaluate(check, value_at(summary, check.metric)) for check in checks]


def value_at(summary: Mapping[str, object], metric: str) -> float | None:
    """The number at a dotted path (``latency_ms.due_to_received.p99``); None where there is none."""
    found: object = summary
    for key in metric.split("."):
        if not isinstance(found, Mapping) or key not in found:
            return None
        found = found[key]
    return found if isinstance(found, int | float) and not isinstance(found, bool) else None


def rule(check: Check) -> str:
    """``<= 0``, ``>= 100`` or both."""
    bounds = ((">=", check.at_least), ("<=", check.at_most))
    return " and ".join(f"{sign} {bound:g}" for sign, bound in bounds if bound is not None)


def _evaluate(check: Check, value: float | None) -> CheckResult:
    outcome = _outcome(check, value)
    return CheckResult(name=check.name, metric=check.metric, value=value, rule=rule(check), outcome=outcome)


def _outcome(check: Check, value: float | None) -> str:
    if value is None or not rule(check):  # a check without a bound demands nothing that could hold
        return "unknown"
    high_enough = check.at_least is None or value >= check.at_least
    low_enough = check.at_most is None or value <= check.at_most
    return "pass" if high_enough and low_enough else "fail"
