"""Decides whether a step of a load was held. The live search and the analysis both use this rule.

A step is held if three conditions are met. After its first fifth, at least 99 % of the due messages were received in
time. At its end at most one second's messages were waiting. With a limit, the p99 from due to received was within it. A
p99 needs 1,000 messages. With fewer the step is unknown, unless ten messages or more exceed the limit.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from math import ceil, floor, inf

from records.figures.buckets import value_ns
from records.figures.percentiles import LEAST_BEYOND, rank_of, values_needed
from records.loads.rate_steps import LEAST_SHARE, judged_seconds
from records.units import NS_PER_MS, ms_text

P99 = 0.99
MOST_BACKLOG_S = 1.0
"""At the end of a step, at most as many messages may wait as are due in this many seconds at its last rate."""
MARGIN = 1.05
"""A step is planned for more messages than its p99 needs, as a few may be due just outside it."""
RECEIVED, WAITING, TAIL = RULES = ("received", "waiting", "p99")
WORDS = {True: "held", False: "not held", None: "unknown"}


@dataclass(frozen=True)
class StepCounts:
    """Deliveries in the judged seconds of a step; a message to several subscribers counts once for each.

    ``due``, ``received``: within these seconds. ``waiting``: due before the end of the step and not received by then.
    ``per_s``: due per second at the step's last rate. ``latencies``: from due to received, by bucket of
    `records.figures.buckets`, for the deliveries that were due in these seconds. ``timed``: how many of these
    deliveries would have a latency if all had been received. This is ``due``, or fewer if some are received by a
    process that cannot know their due time.
    """

    due: float
    received: int
    waiting: float
    per_s: float
    latencies: Mapping[int, int] = field(default_factory=dict)
    timed: float = 0.0


@dataclass(frozen=True)
class StepJudgement:
    """``held``: None if unknown. ``why``: the figures, and which of them decided.

    ``broken``: the rule that was broken if the step was not held, one of `RULES`; otherwise None.
    """

    held: bool | None
    why: str
    broken: str | None = None

    def __str__(self) -> str:
        return f"{WORDS[self.held]}: {self.why}"


@dataclass(frozen=True)
class _Tail:
    """The slow end of the latencies. ``p99_ms``: infinite if more than 1 % never arrived."""

    messages: int
    beyond: int
    p99_ms: float
    most_ms: float

    @property
    def exceeds(self) -> bool:
        return self.messages - self.beyond < rank_of(P99, self.messages)

    @property
    def held(self) -> bool | None:
        if self.exceeds:
            return False if self.beyond >= LEAST_BEYOND else None
        return True if self.messages >= values_needed(P99) else None

    def __str__(self) -> str:
        if self.messages < values_needed(P99):
            return (
                f"{self.beyond:,} of {self.messages:,} messages took more than {self.most_ms:g} ms or did not arrive, "
                f"and a p99 needs {values_needed(P99):,}"
            )
        p99 = "over 1% did not arrive, so p99 is unknown" if self.p99_ms == inf else f"p99 was {ms_text(self.p99_ms)}"
        return f"{p99}, and at most {self.most_ms:g} ms is allowed"


def estimate_due(scheduled: float, slack: float, known: float) -> float:
    """Estimate the number of messages due within some seconds; ``known`` of them were recorded or seen.

    ``slack``: the most that it may be below ``scheduled`` (`records.loads.arrivals.max_shortfall`).
    """
    return max(scheduled - slack, known)


def judge(counts: StepCounts, p99_ms: float | None) -> StepJudgement:
    """Judge a step. ``p99_ms``: the highest p99 of a step that is held; None without a limit."""
    share = counts.received / counts.due if counts.due else 1.0
    arrived = f"{floor(1_000 * min(share, 1.0)) / 10}% of the due messages were received"
    if share < LEAST_SHARE:
        return StepJudgement(False, f"{arrived}, and at least {LEAST_SHARE:.0%} is required", RECEIVED)
    if counts.waiting > MOST_BACKLOG_S * counts.per_s:
        why = f"{counts.waiting:,.0f} messages waited at its end, and at most {counts.per_s:,.0f} are allowed"
        return StepJudgement(False, why, WAITING)
    if p99_ms is None:
        return StepJudgement(True, arrived)
    tail = _tail(counts, p99_ms)
    return StepJudgement(tail.held, f"{arrived}; {tail}", TAIL if tail.held is False else None)


def p99_violation(latencies: Mapping[int, int], most_ms: float) -> str:
    """Return why the p99 of these latencies, by bucket, exceeds a limit; empty if it does not, or too few exceed it."""
    received = sum(latencies.values())
    tail = _tail(StepCounts(received, received, 0, received, latencies), most_ms)
    return str(tail) if tail.held is False else ""


def reconcile(recorded: StepJudgement, searched: StepJudgement | None) -> StepJudgement:
    """Return the judgement by the recorded events, or unknown if the search found the opposite.

    ``searched``: None without a search, or if it ended before it judged the step. The search sees less data than is
    recorded, so if it could not decide, the recorded events do.
    """
    verdicts = {recorded.held, recorded.held if searched is None else searched.held}
    if searched is None or verdicts != {True, False}:
        return recorded
    return StepJudgement(None, f"while the load ran it was found {searched}; by the recorded events it was {recorded}")


def held_by_rate(steps: Iterable[tuple[float, bool | None]]) -> dict[float, bool | None]:
    """Return whether each rate was held, from (rate, held) of each step in order.

    If a rate was tried again, the last try counts. A rate that was not held stays so if a later try is unknown.
    """
    held_by_rate: dict[float, bool | None] = {}
    for rate, held in steps:
        if held is not None or held_by_rate.get(rate) is not False:
            held_by_rate[rate] = held
    return held_by_rate


def seconds_for_p99(deliveries_per_s: float, producers: int) -> int:
    """Return how long a step must be for its judged seconds to have enough deliveries for a p99."""
    judged_s = ceil((MARGIN * values_needed(P99) + producers) / deliveries_per_s)
    for_s = ceil(judged_s * 1.25)
    return for_s if len(judged_seconds(0, for_s)) >= judged_s else for_s + 1


def _tail(counts: StepCounts, most_ms: float) -> _Tail:
    received = sum(counts.latencies.values())
    messages = max(round(counts.timed), received)
    within = sum(count for bucket, count in counts.latencies.items() if value_ns(bucket) <= most_ms * NS_PER_MS)
    rank, passed, p99_ms = rank_of(P99, messages), 0, inf
    for bucket in sorted(counts.latencies):
        passed += counts.latencies[bucket]
        if passed >= rank:
            p99_ms = value_ns(bucket) / NS_PER_MS
            break
    return _Tail(messages, messages - within, p99_ms, most_ms)
