"""Says what came of each step of a load whose rate changes: a sentence, a table, and latency beside the rate."""

from dataclasses import dataclass

from records.load import Limit, StepResult
from reports.values import Table, columns_of, table_of


@dataclass(frozen=True)
class RatePoint:
    """A step: the messages a second that were due (mean), the percentiles in ms (None if not known), and if it held."""

    rate_per_s: float
    p50_ms: float | None
    p99_ms: float | None
    held: bool


def steps_sentence(steps: list[StepResult], held_per_s: float | None, limit: Limit) -> str:
    """Up to which rate every step was held, and what limited it; '' without steps."""
    if not steps:
        return ""
    not_held = limit["not_held_per_s"]
    if not_held is None:
        return f"Every step was held, up to {_number(held_per_s or 0.0)} messages/s."
    if held_per_s is None:
        told = f"The load was not held at {_number(not_held)} messages/s, its lowest rate"
    else:
        told = f"The load was held up to {_number(held_per_s)} messages/s, and not at {_number(not_held)} messages/s"
    return f"{told}: {limit['why']}."


def held_step(steps: list[StepResult], held_per_s: float | None) -> StepResult | None:
    """The last step of the highest rate that was held; None if none was."""
    return next((step for step in reversed(steps) if step["held"] and _rate(step) == held_per_s), None)


def steps_table(steps: list[StepResult]) -> Table:
    """A row a step."""
    columns = columns_of(
        StepResult,
        ("Step", None, step_name),
        *("from_s", "until_s", "due_per_s", "sent_per_s", "received_per_s", "backlog"),
        *(f"due_to_received_ms.{name}" for name in ("p50", "p99", "p99_9", "max")),
        ("Held", None, lambda step: "yes" if step["held"] else "no"),
    )
    return table_of("Steps of the load", steps, columns, "The load ended before its first step did.")


def step_name(step: StepResult) -> str:
    """``100/s`` or ``100 → 1,000/s``."""
    first, last = _number(step["from_per_s"]), _number(step["to_per_s"])
    return f"{first}/s" if first == last else f"{first} → {last}/s"


def rate_points(steps: list[StepResult]) -> tuple[RatePoint, ...]:
    """From the lowest rate to the highest."""
    points = (
        RatePoint(step["due_per_s"], step["due_to_received_ms"]["p50"], step["due_to_received_ms"]["p99"], step["held"])
        for step in sorted(steps, key=_rate)
    )
    return tuple(point for point in points if point.p50_ms is not None)


def _rate(step: StepResult) -> float:
    return (step["from_per_s"] + step["to_per_s"]) / 2


def _number(per_s: float) -> str:
    """16000.0 -> 16,000; 0.5 -> 0.5."""
    return f"{round(per_s, 3):,.10g}"
