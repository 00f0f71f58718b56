"""Tells what came of each step of a load whose rate changes. Plain values and Arrow in and out; no Spark.

Steps begin and end with whole seconds of the load, as the result tables have them.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from math import inf

import pyarrow as pa
import pyarrow.compute as pc

from analysis.latency.figures import latency_of
from analysis.load.rates import by_second
from records.load import StepResult
from records.rate_steps import LEAST_SHARE, RateStep, ends_s, judged_seconds

EVENTS = ("due", "sent", "acked", "received")
MOST_BACKLOG_S = 1.0
"""A step is held only if no more messages wait at its end than are due in so many seconds of its last rate."""

Counts = Mapping[str, Mapping[int, int]]
"""Messages by event and second of the load."""


def step_results(
    steps: Sequence[RateStep],
    rates: pa.Table,
    latency: pa.Table,
    load_s: float | None,
    copies: float,
    p99_ms: float | None = None,
) -> list[StepResult]:
    """The steps that the load went through to their ends, rests left out.

    ``rates``: the result table. ``latency``: `analysis.events.run.Results.latency_by_second`. ``load_s``: how long the
    load lasted; None if unknown. ``copies``: how many deliveries each message should have. ``p99_ms``: with a higher
    p99 from due to received a step is not held; None: whatever it is.
    """
    counts = {event: by_second(rates, event) for event in EVENTS}
    ends = [0, *ends_s(steps)]
    spans = [(step, from_s, until_s) for step, (from_s, until_s) in zip(steps, pairwise(ends), strict=True)]
    whole = [span for span in spans if load_s is not None and span[2] <= load_s + 0.5 and not span[0].rest]
    return [_result(step, from_s, until_s, counts, latency, copies, p99_ms) for step, from_s, until_s in whole]


def held_per_s(results: Sequence[StepResult]) -> float | None:
    """The highest rate (mean of its step) that was held, with every lower one; None if none was.

    Of a rate that was tried again, the last time counts.
    """
    held = {mean_per_s(step): step["held"] for step in results}
    lost = min((rate for rate in held if not held[rate]), default=inf)
    return max((rate for rate in held if rate < lost), default=None)


def within_seconds(table: pa.Table, seconds: range) -> pa.Table:
    """The rows of these seconds of the load."""
    at_s = table["second"]
    return table.filter(pc.and_(pc.greater_equal(at_s, seconds.start), pc.less(at_s, seconds.stop)))


def mean_per_s(step: StepResult) -> float:
    """The rate that was asked for, of a ramp its mean."""
    return (step["from_per_s"] + step["to_per_s"]) / 2


def _result(
    step: RateStep,
    from_s: int,
    until_s: int,
    counts: Counts,
    latency: pa.Table,
    copies: float,
    p99_ms: float | None,
) -> StepResult:
    within = {event: _sum(counts[event], from_s, until_s) for event in EVENTS}
    backlog = _backlog(counts, until_s, copies)
    timed = within_seconds(latency.filter(pc.equal(latency["measure"], "due_to_received")), range(from_s, until_s))
    of_step = latency_of(timed)
    seconds = judged_seconds(from_s, until_s)
    judged_p99_ms = latency_of(within_seconds(timed, seconds))["p99"]
    judged = {event: _sum(counts[event], seconds.start, seconds.stop) for event in EVENTS}
    return StepResult(
        from_per_s=step.from_per_s,
        to_per_s=step.to_per_s,
        from_s=float(from_s),
        until_s=float(until_s),
        due_per_s=within["due"] / step.for_s,
        sent_per_s=within["sent"] / step.for_s,
        acked_per_s=within["acked"] / step.for_s,
        received_per_s=within["received"] / step.for_s,
        backlog=backlog,
        due_to_received_ms=of_step,
        held=all(_holds(step, judged, backlog, copies)) and _within_limit(judged_p99_ms, p99_ms),
    )


def _holds(step: RateStep, judged: Mapping[str, int], backlog: int, copies: float) -> Iterator[bool]:
    yield judged["sent"] >= LEAST_SHARE * judged["due"]
    yield judged["received"] >= LEAST_SHARE * judged["due"] * copies
    yield backlog <= MOST_BACKLOG_S * step.to_per_s * copies


def _within_limit(p99_ms: float | None, most_ms: float | None) -> bool:
    """Too few messages for a p99 break no limit."""
    return p99_ms is None or most_ms is None or p99_ms <= most_ms


def _backlog(counts: Counts, until_s: int, copies: float) -> int:
    """Deliveries that were still to come of what had been sent by then, warm-up included."""
    sent, received = (
        sum(count for at_s, count in counts[event].items() if at_s < until_s) for event in ("sent", "received")
    )
    return max(round(sent * copies) - received, 0)


def _sum(by_second: Mapping[int, int], from_s: int, until_s: int) -> int:
    return sum(by_second.get(at_s, 0) for at_s in range(from_s, until_s))
