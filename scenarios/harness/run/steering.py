"""Steers a load by what is received while it runs: by a search for the highest rate, or by steps of clients.

The search climbs by doubling, then closes in by bisection. Each rate is tried for some seconds. In the rest after it
the backlog drains, and the next rate is chosen. Steps of clients end after the first one that was not held.

What is decided here steers the load only. Whether a step was held is told by the analysis, from the recorded events.
"""

import logging
import math
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from drivers.users.live_latency import RECEIVED, UNTIMED
from drivers.users.session import RateChange, Tally, Window
from records.client_steps import ClientSteps
from records.percentiles import quantiles_ns
from records.rate_search import AFTER_A_STEP_S, SearchSettings, rest_of
from records.rate_steps import LEAST_SHARE, RateStep, ends_s, judged_seconds
from records.units import NS_PER_MS, NS_PER_S
from scenarios.harness.options.plan import Plan
from scenarios.harness.run.record import RunRecord

log = logging.getLogger("brokerbench")

AHEAD_S = 4.0
"""A new rate is told so long before: a JVM has its due times 3 s ahead, and the message to it takes its time."""
GRACE_S = 1.2
"""After a step is over: until every process has reported what it received."""
REST_AT_MOST_S = 90.0
CLOSE_ENOUGH = 1.05
"""The search ends when the lowest rate that was not held is no more than so many times the highest that was."""


@dataclass
class NextRate:
    """Which rate to try next. ``held``: the highest that was held; ``failed``: those that were not, and are higher.

    A rate is tried twice before it ends the search: a pause of anything else on the machine may have spoilt it.
    """

    begin_per_s: float
    least_per_s: float = 0.5
    held: float = 0.0
    failed: list[float] = field(default_factory=list)
    _tried_again: set[float] = field(default_factory=set)

    def per_s(self) -> float | None:
        """Messages a second; None: the search is over."""
        lowest = min(self.failed, default=math.inf)
        if math.isinf(lowest):
            return self.held * 2 if self.held else self.begin_per_s
        if not self.held and lowest / 2 >= self.least_per_s:
            return lowest / 2
        if self.held and lowest > self.held * CLOSE_ENOUGH:
            return _rounded(math.sqrt(lowest * self.held))
        return None if lowest in self._tried_again else lowest

    def note(self, per_s: float, *, held: bool) -> None:
        """What came of the rate that was tried."""
        if held:
            self.held = max(self.held, per_s)
            self.failed = [rate for rate in self.failed if rate > per_s]
        else:
            if per_s in self.failed:
                self._tried_again.add(per_s)
            self.failed.append(per_s)


def _rounded(per_s: float) -> float:
    """Three digits: 1241.7 -> 1240."""
    return float(f"{per_s:.3g}")


@dataclass(frozen=True)
class Reception:
    """What was received in the judged seconds of a step: of all that was due, and the p99, where it is known."""

    share: float
    p99_ms: float | None

    def held(self, p99_ms: float) -> bool:
        return self.share >= LEAST_SHARE and (self.p99_ms is None or self.p99_ms <= p99_ms)

    def __str__(self) -> str:
        p99 = "" if self.p99_ms is None else f", 99 % within {self.p99_ms:.3g} ms"
        return f"{min(self.share, 1.0):.1%} of what was due arrived{p99}"


def reception_of(tally: Tally, seconds: range, due_per_s: float) -> Reception:
    """``due_per_s``: deliveries that are due a second, copies for several subscribers included."""
    timed = within(tally.live.seconds(RECEIVED), seconds)
    untimed = within(tally.live.seconds(UNTIMED), seconds)
    share = (timed.total() + untimed.total()) / (due_per_s * len(seconds))
    (p99_ns,) = quantiles_ns(timed, [0.99])
    return Reception(share, None if p99_ns is None else p99_ns / NS_PER_MS)


def within(counts: Mapping[int, Counter[int]], seconds: range) -> Counter[int]:
    """The counts of these seconds together."""
    return sum((counts[second] for second in seconds if second in counts), Counter())


class RateSearch:
    """The search of one run. Times are seconds of the load, whole ones where steps begin and end.

    ``copies``: how many deliveries each message should have.
    """

    def __init__(
        self,
        settings: SearchSettings,
        producers: int,
        copies: float,
        change_rate: Callable[[RateChange], None],
        run_record: RunRecord,
    ) -> None:
        self._settings, self._producers, self._copies = settings, producers, copies
        self._change_rate, self._run_record = change_rate, run_record
        self._next = NextRate(settings.begin_per_s, least_per_s=float(producers))
        self.over = False
        self._steps = list(settings.first_steps(producers))
        self._judged = 0  # how many of the steps

    @classmethod
    def of(cls, plan: Plan, change_rate: Callable[[RateChange], None], run_record: RunRecord) -> "RateSearch":
        """The search that a plan asks for."""
        assert plan.options.search is not None
        return cls(plan.options.search, sum(plan.producers.values()), plan.copies, change_rate, run_record)

    @property
    def live_s(self) -> int:
        """For how many seconds back receptions have to be known by second."""
        return self._settings.step_s + math.ceil(GRACE_S) + 2

    def is_over(self, tally: Tally, window: Window, now_ns: int) -> bool:
        """Look at what was received so far, and change the rate if it is time; True when the search is over."""
        now_s = (now_ns - window.load_began_ns) / NS_PER_S
        if window.is_open or now_s < 0:
            return False
        ends = ends_s(self._steps)
        if now_s < ends[-2] + GRACE_S:
            return False
        if self._judged < len(self._steps):
            self._judge(tally, range(ends[-2] - self._steps[-2].for_s, ends[-2]))
            self._judged = len(self._steps)
        if self._backlog(tally, window, now_s) > self._tolerated:
            return self._gives_up(now_s - ends[-2])
        per_s, from_s = self._next.per_s(), math.ceil(now_s + AHEAD_S)
        self.over = per_s is None
        if per_s is None or self._is_too_late(from_s, window):
            return True
        self._try(per_s, window, from_s, ends[-2])
        return False

    def _is_too_late(self, from_s: int, window: Window) -> bool:
        """Whether the load ends before another step would."""
        ends_s = math.inf if window.load_ends_ns is None else (window.load_ends_ns - window.load_began_ns) / NS_PER_S
        return from_s + self._settings.step_s + AFTER_A_STEP_S > ends_s

    def _gives_up(self, rested_s: float) -> bool:
        """Whether the backlog has been too long in draining; the run says so then."""
        if rested_s <= REST_AT_MOST_S:
            return False
        self._run_record.warning(
            f"the search for the highest rate ended early: {REST_AT_MOST_S:g} s after the load of "
            f"{self._steps[-2].from_per_s:g} messages a second, its backlog had not drained"
        )
        self.over = True
        return True

    def _judge(self, tally: Tally, step: range) -> None:
        per_s = self._steps[-2].from_per_s
        reception = reception_of(tally, judged_seconds(step.start, step.stop), per_s * self._copies)
        held = reception.held(self._settings.p99_ms)
        self._next.note(per_s, held=held)
        log.info("%s messages a second: %s: %s", f"{per_s:,g}", "held" if held else "not held", reception)

    @property
    def _tolerated(self) -> float:
        """Deliveries that may be under way when the next step begins."""
        return 0.05 * self._steps[-2].from_per_s * self._copies + 2 * self._producers

    def _backlog(self, tally: Tally, window: Window, now_s: float) -> float:
        """Deliveries that are due by now and did not come."""
        warm_up_s = (window.load_began_ns - window.warm_up_began_ns) / NS_PER_S
        due = warm_up_s * self._settings.begin_per_s + sum(step.messages for step in self._steps[:-1])
        due += (now_s - ends_s(self._steps)[-2]) * self._steps[-1].from_per_s
        return due * self._copies - tally.received

    def _try(self, per_s: float, window: Window, from_s: int, rest_from_s: int) -> None:
        """The rest lasts until then."""
        self._steps[-1] = rest_of(self._producers, from_s - rest_from_s)
        next_steps = (RateStep(per_s, per_s, self._settings.step_s), rest_of(self._producers))
        self._steps += next_steps
        shares = tuple(step.of_one_in(self._producers) for step in next_steps)
        self._change_rate(RateChange(window.load_began_ns + from_s * NS_PER_S, shares))
        self._run_record.update(rate_steps=tuple(self._steps))
        self._run_record.write()


LEAST_MESSAGES = 1_000
"""A p99 takes so many."""


class ClientStepsWatch:
    """Looks at each step of one run when it is over."""

    def __init__(self, clients: ClientSteps) -> None:
        self._clients = clients
        self._judged = 0  # how many of the steps

    @property
    def live_s(self) -> int:
        """For how many seconds back receptions have to be known by second."""
        return max(step.for_s for step in self._clients.steps) + 3

    def is_over(self, tally: Tally, window: Window, now_ns: int) -> bool:
        """Whether a step is over that was not held: no further client has to be added then."""
        now_s = (now_ns - window.load_began_ns) / NS_PER_S
        if window.is_open or self._judged == len(self._clients.steps):
            return False
        step, (from_s, until_s) = self._clients.steps[self._judged], self._clients.spans_s[self._judged]
        if now_s < until_s + GRACE_S:
            return False
        self._judged += 1
        connected, p99_ms = tally.ready.total(), p99_of(tally, range(from_s, until_s))
        held = connected >= step.clients and (p99_ms is None or p99_ms <= self._clients.p99_ms)
        p99 = "" if p99_ms is None else f", 99 % within {p99_ms:.3g} ms"
        verdict = "held" if held else "not held, so the load ends"
        log.info("%s clients: %s: %s connected%s", f"{step.clients:,}", verdict, f"{connected:,}", p99)
        return not held


def p99_of(tally: Tally, seconds: range) -> float | None:
    """From due to received, in milliseconds; None if too few messages were received in these seconds."""
    timed = within(tally.live.seconds(RECEIVED), seconds)
    (p99_ns,) = quantiles_ns(timed, [0.99])
    return None if p99_ns is None or timed.total() < LEAST_MESSAGES else p99_ns / NS_PER_MS
