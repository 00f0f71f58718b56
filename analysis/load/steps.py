"""Computes the result of each step of a load whose rate changes. Runs on the driver, on few rows.

Steps begin and end at whole seconds of the load, like the rows of the result tables.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import inf

import pyarrow as pa
import pyarrow.compute as pc

from analysis.latency.seconds import LatencyBySecond
from analysis.latency.timing import FROM_DUE
from analysis.load.rates import by_second
from records.figures.load import StepResult
from records.figures.step_judgement import StepCounts, StepJudgement, estimate_due, held_by_rate, judge, reconcile
from records.loads.arrivals import FIXED, max_shortfall
from records.loads.rate_steps import RateStep, ends_s, judged_seconds
from records.run import PRODUCER, RunInfo, SearchedStep

EVENTS = ("due", "sent", "acked", "received")

Counts = Mapping[str, Mapping[int, int]]
"""Messages by event and second of the load."""


@dataclass(frozen=True)
class Asked:
    """The requested load in steps, and the live results of a search.

    ``p99_ms``: a step with a higher p99 from due to received is not held; None: there is no limit.
    """

    steps: Sequence[RateStep]
    producers: int = 0
    p99_ms: float | None = None
    searched: Sequence[SearchedStep] = ()
    arrivals: str = FIXED

    @classmethod
    def of(cls, info: RunInfo) -> "Asked":
        producers = sum(user.count for user in info.users if user.role == PRODUCER)
        return cls(info.rate_steps, producers, info.held_p99_ms, info.searched, info.arrivals)

    def estimate_due(self, scheduled: float, recorded: int) -> float:
        """Return the scheduled number of due messages. ``recorded``: number of recorded due messages."""
        return estimate_due(scheduled, max_shortfall(scheduled, self.producers, self.arrivals), recorded)

    def found_at(self, from_s: int) -> StepJudgement | None:
        """Return the search's live result for the step that begins at ``from_s``."""
        return next((StepJudgement(step.held, step.why) for step in self.searched if step.from_s == from_s), None)


def step_results(
    asked: Asked, rates: pa.Table, latency: LatencyBySecond, load_s: float | None, copies: float
) -> list[StepResult]:
    """Return results for the steps that the load completed, except rests.

    ``rates``: the result table. ``load_s``: length of the load; None if unknown. ``copies``: expected number of
    deliveries per message.
    """
    counts = {event: by_second(rates, event) for event in EVENTS}
    ends = ends_s(asked.steps)
    whole = [
        place
        for place, step in enumerate(asked.steps)
        if load_s is not None and ends[place] <= load_s + 0.5 and not step.rest
    ]
    return [_result(asked, place, ends[place], counts, latency, copies) for place in whole]


def held_per_s(results: Sequence[StepResult]) -> float | None:
    """Return the highest held rate (mean of its step) that is below all rates that were not held; 0 if none was held.

    None without steps, or if some steps are unknown and none is known to be held.
    """
    held = held_by_rate((mean_per_s(step), step["held"]) for step in results)
    lost = min((rate for rate, verdict in held.items() if verdict is False), default=inf)
    highest = max((rate for rate, verdict in held.items() if verdict and rate < lost), default=None)
    return 0.0 if highest is None and held and None not in held.values() else highest


def within_seconds(table: pa.Table, seconds: range) -> pa.Table:
    """Return the rows of these seconds of the load."""
    at_s = table["second"]
    return table.filter(pc.and_(pc.greater_equal(at_s, seconds.start), pc.less(at_s, seconds.stop)))


def mean_per_s(step: StepResult) -> float:
    """Return the requested rate of a step; the mean rate of a ramp."""
    return (step["from_per_s"] + step["to_per_s"]) / 2


def _result(
    asked: Asked, place: int, until_s: int, counts: Counts, latency: LatencyBySecond, copies: float
) -> StepResult:
    """Return the result of the step at index ``place``."""
    step = asked.steps[place]
    from_s = until_s - step.for_s
    within = {event: _sum(counts[event], from_s, until_s) for event in EVENTS}
    judgement = reconcile(
        judge(_counts(asked, place, until_s, counts, latency, copies), asked.p99_ms), asked.found_at(from_s)
    )
    return StepResult(
        from_per_s=step.from_per_s,
        to_per_s=step.to_per_s,
        from_s=float(from_s),
        until_s=float(until_s),
        due_per_s=asked.estimate_due(step.messages, within["due"]) / step.for_s,
        sent_per_s=within["sent"] / step.for_s,
        acked_per_s=within["acked"] / step.for_s,
        received_per_s=within["received"] / step.for_s,
        backlog=_backlog(counts, until_s, copies),
        due_to_received_ms=latency.figures(FROM_DUE, judged_seconds(from_s, until_s)),
        held=judgement.held,
        why=judgement.why,
        broken=judgement.broken,
    )


def _counts(
    asked: Asked, place: int, until_s: int, counts: Counts, latency: LatencyBySecond, copies: float
) -> StepCounts:
    """Count messages. Due messages come from the schedule: a stopped producer does not record unsent messages."""
    step = asked.steps[place]
    from_s = until_s - step.for_s
    seconds = judged_seconds(from_s, until_s)
    scheduled = step.messages_in(range(seconds.start - from_s, seconds.stop - from_s))
    due = asked.estimate_due(scheduled, _sum(counts["due"], seconds.start, seconds.stop)) * copies
    of_warm_up, recorded = _until(counts["due"], 0), _until(counts["due"], until_s)
    scheduled_by_then = of_warm_up + sum(earlier.messages for earlier in asked.steps[: place + 1])
    due_by_then = asked.estimate_due(scheduled_by_then, recorded) * copies
    return StepCounts(
        due=due,
        received=_sum(counts["received"], seconds.start, seconds.stop),
        waiting=due_by_then - _until(counts["received"], until_s),
        per_s=step.to_per_s * copies,
        latencies=latency.counts(FROM_DUE, seconds),
        timed=due,
    )


def _backlog(counts: Counts, until_s: int, copies: float) -> int:
    """Return the outstanding deliveries of messages sent by then, including the warm-up."""
    return max(round(_until(counts["sent"], until_s) * copies) - _until(counts["received"], until_s), 0)


def _until(by_second: Mapping[int, int], until_s: int) -> int:
    return sum(count for at_s, count in by_second.items() if at_s < until_s)


def _sum(by_second: Mapping[int, int], from_s: int, until_s: int) -> int:
    return sum(by_second.get(at_s, 0) for at_s in range(from_s, until_s))
