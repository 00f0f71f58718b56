"""Steers a load by the messages received so far: searches for the highest rate, or ends steps of clients.

The search doubles the rate, then bisects. Each rate is tried for some seconds. In the rest after it, the backlog drains
and the next rate is chosen. Steps of clients end after the first step that was not held.

The analysis judges each step by the same rule (`records.figures.step_judgement`), but from all events. If it comes to
the opposite result, the step is unknown.
"""

import logging
import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from math import ceil

from drivers.users.live_latency import DUE, RECEIVED, UNTIMED
from drivers.users.session import RateChange, Tally, Window
from harness.options.plan import Plan
from harness.run.record import RunRecord
from records.figures.step_judgement import StepCounts, estimate_due, judge, p99_violation
from records.loads.arrivals import FIXED, max_shortfall
from records.loads.client_steps import ClientSteps
from records.loads.rate_search import AFTER_A_STEP_S, SearchSettings, make_pause_step
from records.loads.rate_steps import RateStep, ends_s, judged_seconds
from records.run import SearchedStep
from records.units import MS_PER_S, NS_PER_S

log = logging.getLogger("brokerbench")

AHEAD_S = 4.0
"""Time from the announcement of a new rate to its begin: JVMs receive due times 3 s ahead, and messages take time."""
GRACE_S = 1.2
"""Time after a step until every process has reported the messages it received."""
REST_AT_MOST_S = 90.0
CLOSE_ENOUGH = 1.05
"""The search ends when the lowest rate not held is at most this multiple of the highest rate held."""


@dataclass
class NextRate:
    """Chooses the next rate. ``held``: the highest rate held; ``failed``: higher rates that were not held.

    A rate is tried twice before it ends the search, because other work on the machine may have disturbed it.
    """

    begin_per_s: float
    least_per_s: float = 0.5
    held: float = 0.0
    failed: list[float] = field(default_factory=list)
    _tried_again: set[float] = field(default_factory=set)

    def per_s(self) -> float | None:
        """Return the next rate in messages per second, or None if the search is over."""
        lowest = min(self.failed, default=math.inf)
        if math.isinf(lowest):
            return self.held * 2 if self.held else self.begin_per_s
        if not self.held and lowest / 2 >= self.least_per_s:
            return lowest / 2
        if self.held and lowest > self.held * CLOSE_ENOUGH:
            return _rounded(math.sqrt(lowest * self.held))
        return None if lowest in self._tried_again else lowest

    def note(self, per_s: float, *, held: bool) -> None:
        """Record the result of a rate."""
        if held:
            self.held = max(self.held, per_s)
            self.failed = [rate for rate in self.failed if rate > per_s]
        else:
            if per_s in self.failed:
                self._tried_again.add(per_s)
            self.failed.append(per_s)


def _rounded(per_s: float) -> float:
    """Round to three significant digits: 1241.7 -> 1240."""
    return float(f"{per_s:.3g}")


def step_counts(
    tally: Tally,
    steps: Sequence[RateStep],
    warm_up_messages: float,
    producers: int,
    copies: float,
    arrivals: str = FIXED,
) -> StepCounts:
    """Count the deliveries of the last of ``steps``, as far as they are known during the load.

    ``steps``: all steps since the load began. ``warm_up_messages``: messages due before it. ``copies``: deliveries per
    message.
    """
    until_s, live = ends_s(steps)[-1], tally.live
    step, from_s = steps[-1], until_s - steps[-1].for_s
    seconds = judged_seconds(from_s, until_s)
    latencies = counts_within(live.seconds(DUE), seconds)
    received, untimed = (
        counts_within(live.seconds(RECEIVED), seconds).total(),
        counts_within(live.seconds(UNTIMED), seconds).total(),
    )
    scheduled = step.messages_in(range(seconds.start - from_s, seconds.stop - from_s))
    slack = ceil(max_shortfall(scheduled, producers, arrivals) * copies)
    due = estimate_due(scheduled * copies, slack, 0 if untimed else latencies.total())
    later = range(until_s, max((*live.seconds(RECEIVED), *live.seconds(UNTIMED)), default=until_s) + 1)
    received_later = (
        counts_within(live.seconds(RECEIVED), later).total() + counts_within(live.seconds(UNTIMED), later).total()
    )
    due_by_then = warm_up_messages + sum(step.messages for step in steps)
    slack_by_then = ceil(max_shortfall(due_by_then, producers, arrivals) * copies)
    return StepCounts(
        due=due,
        received=received + untimed,
        waiting=estimate_due(due_by_then * copies, slack_by_then, 0) - (tally.received - received_later),
        per_s=step.to_per_s * copies,
        latencies=latencies,
        timed=latencies.total() if untimed else due,
    )


def counts_within(counts: Mapping[int, Counter[int]], seconds: range) -> Counter[int]:
    """Return the sum of the counts of these seconds."""
    return sum((counts[second] for second in seconds if second in counts), Counter())


class RateSearch:
    """Searches for the highest rate in one run. Times are seconds of the load; steps begin and end at whole seconds.

    ``copies``: expected deliveries per message.
    """

    def __init__(
        self,
        settings: SearchSettings,
        producers: int,
        copies: float,
        change_rate: Callable[[RateChange], None],
        run_record: RunRecord,
        arrivals: str = FIXED,
    ) -> None:
        self._arrivals = arrivals
        self._settings, self._producers, self._copies = settings, producers, copies
        self._change_rate, self._run_record = change_rate, run_record
        self._next = NextRate(settings.begin_per_s, settings.least_per_s(producers, copies))
        self.over = False
        self._again: float | None = None  # a rate with an unknown result, to be tried for longer
        self._retried: set[float] = set()
        self._timed_share = 1.0  # of the deliveries of the last step
        self._found: tuple[SearchedStep, ...] = ()
        self._steps = list(settings.first_steps(producers))
        self._judged = 0  # how many of the steps

    @classmethod
    def of(cls, plan: Plan, change_rate: Callable[[RateChange], None], run_record: RunRecord) -> "RateSearch":
        """Return the search of a plan."""
        assert plan.options.search is not None
        producers = sum(plan.producers.values())
        return cls(plan.options.search, producers, plan.copies, change_rate, run_record, plan.info.arrivals)

    @property
    def live_s(self) -> int:
        """Number of past seconds for which receptions by second must be kept."""
        return self._live_s(self._steps[-2])

    def _live_s(self, step: RateStep) -> int:
        return step.for_s + math.ceil(self._known_after_s) + 2

    @property
    def _known_after_s(self) -> float:
        """Seconds from the end of a step until the messages that arrived within the limit are known."""
        return GRACE_S + min(self._settings.p99_ms / MS_PER_S, REST_AT_MOST_S)

    def is_over(self, tally: Tally, window: Window, now_ns: int) -> bool:
        """Check the messages received so far, and change the rate if it is time. Returns True if the search is over."""
        now_s = (now_ns - window.load_began_ns) / NS_PER_S
        if window.is_open or now_s < 0:
            return False
        ends = ends_s(self._steps)
        if now_s < ends[-2] + self._known_after_s:
            return False
        if self._judged < len(self._steps):
            self._judge(tally, window)
            self._judged = len(self._steps)
        if self._backlog(tally, window, now_s) > self._tolerated:
            return self._gives_up(now_s - ends[-2])
        per_s, from_s = self._again or self._next.per_s(), math.ceil(now_s + AHEAD_S)
        self.over = per_s is None
        if per_s is None or self._is_too_late(per_s, from_s, window):
            return True
        self._try(per_s, window, from_s, ends[-2])
        return False

    def _is_too_late(self, per_s: float, from_s: int, window: Window) -> bool:
        """Whether the load ends before another step would."""
        ends_s = math.inf if window.load_ends_ns is None else (window.load_ends_ns - window.load_began_ns) / NS_PER_S
        return from_s + self._step_s(per_s) + AFTER_A_STEP_S > ends_s

    def _step_s(self, per_s: float) -> int:
        return self._settings.step_for(per_s, self._producers, self._copies, self._timed_share)

    def _gives_up(self, rested_s: float) -> bool:
        """Whether the backlog drains too slowly. If so, the search ends and the run gets a warning."""
        if rested_s <= REST_AT_MOST_S:
            return False
        self._run_record.warning(
            f"the search for the highest rate ended early: {REST_AT_MOST_S:g} s after the load of "
            f"{self._steps[-2].from_per_s:g} messages per second, its backlog had not drained"
        )
        self.over = True
        return True

    def _judge(self, tally: Tally, window: Window) -> None:
        """Record and log the result of the finished step. An unknown result is retried if a longer step can help.

        Otherwise the search goes on as if the step had been held, and the analysis decides from all events.
        """
        step, from_s = self._steps[-2], ends_s(self._steps)[-2] - self._steps[-2].for_s
        warm_up_messages = self._warm_up_messages(window)
        counts = step_counts(tally, self._steps[:-1], warm_up_messages, self._producers, self._copies, self._arrivals)
        self._timed_share = min(sum(counts.latencies.values()) / counts.received, 1.0) if counts.received else 1.0
        judgement, per_s = judge(counts, self._settings.p99_ms), step.from_per_s
        log.info("%s messages per second: %s", f"{per_s:,g}", judgement)
        self._found = (*self._found, SearchedStep(from_s, judgement.held, judgement.why))
        self._run_record.update(searched=self._found)
        self._run_record.write()
        self._again = None
        if judgement.held is None and step.for_s < self._step_s(per_s) and per_s not in self._retried:
            self._retried.add(per_s)
            self._again = per_s
            return
        self._next.note(per_s, held=judgement.held is not False)

    def _warm_up_messages(self, window: Window) -> float:
        return (window.load_began_ns - window.warm_up_began_ns) / NS_PER_S * self._settings.begin_per_s

    @property
    def _tolerated(self) -> float:
        """Number of deliveries that may be under way when the next step begins."""
        return 0.05 * self._steps[-2].from_per_s * self._copies + 2 * self._producers

    def _backlog(self, tally: Tally, window: Window, now_s: float) -> float:
        """Return the number of deliveries that are due and have not arrived."""
        due = self._warm_up_messages(window) + sum(step.messages for step in self._steps[:-1])
        due += (now_s - ends_s(self._steps)[-2]) * self._steps[-1].from_per_s
        return due * self._copies - tally.received

    def _try(self, per_s: float, window: Window, from_s: int, rest_from_s: int) -> None:
        """End the rest at ``from_s``, and add a step with the rate and another rest."""
        self._steps[-1] = make_pause_step(self._producers, from_s - rest_from_s)
        next_steps = (RateStep(per_s, per_s, self._step_s(per_s)), make_pause_step(self._producers))
        self._steps += next_steps
        shares = tuple(step.of_one_in(self._producers) for step in next_steps)
        begins_ns = window.load_began_ns + from_s * NS_PER_S
        self._change_rate(RateChange(begins_ns, shares, self._live_s(next_steps[0])))
        self._run_record.update(rate_steps=tuple(self._steps))
        self._run_record.write()


LATE_AT_MOST_S = 3.0
"""Maximum wait for late messages after a step of clients."""


class ClientStepsWatch:
    """Checks each step of clients when it is over. ``run_record`` gets the step that was not held."""

    def __init__(self, clients: ClientSteps, run_record: RunRecord | None = None) -> None:
        self._clients, self._run_record = clients, run_record
        self._judged = 0  # how many of the steps

    @property
    def _known_after_s(self) -> float:
        return GRACE_S + min(self._clients.p99_ms / MS_PER_S, LATE_AT_MOST_S)

    @property
    def live_s(self) -> int:
        """Number of past seconds for which receptions by second must be kept."""
        return max(step.for_s for step in self._clients.steps) + math.ceil(self._known_after_s) + 2

    def is_over(self, tally: Tally, window: Window, now_ns: int) -> bool:
        """Whether a finished step was not held, so that adding further clients is unnecessary."""
        now_s = (now_ns - window.load_began_ns) / NS_PER_S
        if window.is_open or self._judged == len(self._clients.steps):
            return False
        step, (from_s, until_s) = self._clients.steps[self._judged], self._clients.spans_s[self._judged]
        if now_s < until_s + self._known_after_s:
            return False
        self._judged += 1
        connected = tally.ready.total()
        slow = p99_violation(counts_within(tally.live.seconds(DUE), range(from_s, until_s)), self._clients.p99_ms)
        held = connected >= step.clients and not slow
        verdict = "no limit exceeded so far" if held else "not held, so the load ends"
        why = f"{connected:,} connected{'; ' * bool(slow)}{slow}"
        log.info("%s clients: %s: %s", f"{step.clients:,}", verdict, why)
        if not held and self._run_record:
            self._run_record.update(searched=(SearchedStep(from_s, False, why),))
        return not held
