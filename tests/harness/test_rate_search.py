"""Checks the search for the highest rate: the rate that it tries next, its end, and how it judges receipts."""

from collections import Counter
from collections.abc import Callable
from itertools import pairwise
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from drivers.users.session import RateChange, Tally, Window
from harness.run.steering import AHEAD_S, CLOSE_ENOUGH, NextRate, RateSearch, step_counts
from records.figures.buckets import bucket_of
from records.figures.step_judgement import StepCounts, StepJudgement, judge
from records.loads.rate_search import SearchSettings
from records.loads.rate_steps import LEAST_SHARE, RateStep, ends_s
from records.loads.send_schedule import SteppedSchedule
from records.run import SearchedStep
from records.units import NS_PER_S

LIMITS = st.floats(1, 200_000)
BEGINS = st.floats(1, 200_000)
MS = 1_000_000


def searched(begin_per_s: float, holds: Callable[[float], bool]) -> NextRate:
    """Run a search to its end."""
    search = NextRate(begin_per_s)
    for _ in range(100):
        per_s = search.per_s()
        if per_s is None:
            return search
        search.note(per_s, held=holds(per_s))
    raise AssertionError("it does not end")


@given(LIMITS, BEGINS)
def test_any_limit_is_found_from_any_begin_within_five_percent(limit_per_s: float, begin_per_s: float) -> None:
    """Starts far below (another tool's search stayed at one message per second) and far above (another's fell to 0)."""
    search = searched(begin_per_s, lambda per_s: per_s <= limit_per_s)
    assert limit_per_s / CLOSE_ENOUGH <= search.held <= limit_per_s
    assert limit_per_s <= min(search.failed) <= search.held * CLOSE_ENOUGH


@given(LIMITS, BEGINS, st.integers(0, 12))
def test_one_rate_that_was_spoilt_by_chance_does_not_end_the_search_below_the_limit(
    limit_per_s: float, begin_per_s: float, spoilt: int
) -> None:
    tries = Counter[str]()

    def holds(per_s: float) -> bool:
        tries["all"] += 1
        return per_s <= limit_per_s and tries["all"] != spoilt

    search = searched(begin_per_s, holds)
    assert limit_per_s / CLOSE_ENOUGH <= search.held <= limit_per_s


def test_a_topology_that_holds_nothing_ends_the_search() -> None:
    search = searched(200, lambda per_s: False)
    assert (search.held, search.per_s()) == (0.0, None)


def tally(received: dict[int, int], took_ms: int | None = 5) -> Tally:
    noted = Tally()
    noted.live.begin(0, 100, by_due=True)
    for at_s, count in received.items():
        noted.received += count
        for _ in range(count):
            noted.live.received(at_s * NS_PER_S + 900 * MS, None if took_ms is None else took_ms * MS)
    return noted


def counts_of(noted: Tally, per_s: float = 100.0, for_s: int = 20) -> StepCounts:
    """Return the counts of one step with one producer, without a warm-up."""
    return step_counts(noted, [RateStep(per_s, per_s, for_s)], 0.0, 1, 1.0)


def test_a_rate_is_judged_by_due_and_received_messages() -> None:
    """Another tool's search settled on a rate that its producers could not send."""
    slow = judge(counts_of(tally(dict.fromkeys(range(20), 80))), 500)
    assert slow == StepJudgement(
        False, "80.0% of the due messages were received, and at least 99% is required", "received"
    )
    assert judge(counts_of(tally(dict.fromkeys(range(20), 99))), 500).held


@pytest.mark.parametrize(("took_ms", "held"), [(20, True), (40, False), (None, None)])
def test_a_rate_whose_p99_is_over_the_limit_is_not_held(took_ms: int | None, held: bool | None) -> None:
    """Without latencies the rate is unknown: another process sent all messages."""
    assert judge(counts_of(tally(dict.fromkeys(range(20), 100), took_ms)), 30).held is held


def test_the_first_fifth_of_a_step_is_not_judged() -> None:
    """A far broker's messages arrive late, but their number at each moment is the same."""
    late = counts_of(tally({0: 0, 1: 50} | dict.fromkeys(range(2, 10), 100)), for_s=10)
    assert (late.received, late.latencies) == (800, {bucket_of(5 * MS): 800})


def test_messages_are_timed_by_their_due_second() -> None:
    """Messages that were due in the step and arrived after it count; the analysis counts by due time too."""
    noted = tally(dict.fromkeys(range(20), 100))
    for late in range(12):
        noted.live.received(20 * NS_PER_S + late, 2_000 * MS)
    assert sum(counts_of(noted).latencies.values()) == 1_612
    assert sum(counts_of(tally(dict.fromkeys(range(20), 100), 17_000)).latencies.values()) == 0


class PlantedSearch:
    """A search by one producer, over a topology with the given capacity in messages per second for each second."""

    def __init__(self, settings: SearchSettings, serves_per_s: int, took_ms: int = 1, timed: float = 1.0) -> None:
        self._took_ms, self._timed = took_ms, timed
        self.changes: list[RateChange] = []
        self.found: tuple[SearchedStep, ...] = ()
        self.steps: tuple[RateStep, ...] = ()
        self.warnings: list[str] = []
        self._schedule = SteppedSchedule(0, settings.begin_per_s, steps=settings.first_steps(1))
        self._schedule.set_load_times(0, None)
        self._search = RateSearch(settings, 1, 1.0, self._change, self._record())
        self._serves_per_s = serves_per_s

    def _change(self, change: RateChange) -> None:
        self.changes.append(change)
        self.live.keep(change.live_s)
        self._schedule.change(change.from_ns, change.steps)

    def _record(self) -> Any:
        def update(
            rate_steps: tuple[RateStep, ...] | None = None, searched: tuple[SearchedStep, ...] | None = None
        ) -> None:
            self.steps, self.found = rate_steps or self.steps, searched or self.found

        return SimpleNamespace(update=update, warning=self.warnings.append, write=lambda: None)

    def run(self, load_s: int | None = None) -> int:
        """Run the search, and return its duration in seconds."""
        window = Window(0, 0, None if load_s is None else load_s * NS_PER_S)
        tally = Tally()
        self.live = tally.live
        tally.live.begin(0, self._search.live_s, by_due=True)
        for at_s in range(2_000):
            ends_ns = (at_s + 1) * NS_PER_S
            served = min(self._schedule.slots_planned(ends_ns - 1) - tally.received, self._serves_per_s)
            tally.received += served
            for number in range(served):
                is_timed = number < served * self._timed
                tally.live.received(at_s * NS_PER_S + 950 * MS, self._took_ms * MS if is_timed else None)
            if self._search.is_over(tally, window, ends_ns):
                return at_s
        raise AssertionError("it does not end")


@pytest.fixture
def planted() -> PlantedSearch:
    search = PlantedSearch(SearchSettings(100, step_s=10), serves_per_s=730)
    search.run()
    return search


def test_a_search_steps_up_to_the_limit_and_records_each_step_and_rest(planted: PlantedSearch) -> None:
    tried = [step.from_per_s for step in planted.steps if not step.rest]
    assert tried[:5] == [100, 200, 400, 800, 566]
    assert tried[-1] > 730  # the lowest rate that was not held, again
    assert tried[-1] in tried[:-1]
    assert max(per_s for per_s in tried if per_s <= 730 / LEAST_SHARE) >= 730 / CLOSE_ENOUGH
    assert [step.rest for step in planted.steps] == [False, True] * len(tried)


def test_a_new_rate_is_told_in_time_and_begins_with_a_whole_second(planted: PlantedSearch) -> None:
    begins = [0, *(change.from_ns // NS_PER_S for change in planted.changes)]
    assert all(change.from_ns % NS_PER_S == 0 for change in planted.changes)
    steps = planted.steps
    for (earlier, later), (step, rest) in zip(
        pairwise(begins), zip(steps[::2], steps[1::2], strict=True), strict=False
    ):
        assert later - earlier == step.for_s + rest.for_s >= step.for_s + AHEAD_S


def test_a_step_that_would_not_end_within_the_load_is_not_begun() -> None:
    short = PlantedSearch(SearchSettings(100, step_s=10), serves_per_s=730)
    assert short.run(load_s=50) < 50
    assert [step.from_per_s for step in short.steps if not step.rest] == [100, 200, 400]
    assert ends_s(short.steps)[-2] <= 48


def test_a_backlog_that_does_not_drain_ends_the_search_and_is_told() -> None:
    """Messages that are lost in transit never arrive."""
    lossy = PlantedSearch(SearchSettings(1_000, step_s=10), serves_per_s=0)
    assert lossy.run() < 110
    assert "its backlog had not drained" in lossy.warnings[0]


def test_a_step_of_few_messages_is_lengthened_for_its_p99() -> None:
    settings = SearchSettings(100, step_s=5, p99_ms=50)
    assert [settings.step_for(per_s, 6) for per_s in (12.5, 100, 400, 9)] == [107, 14, 5, 5]
    low = PlantedSearch(SearchSettings(20, step_s=5), serves_per_s=1_000, took_ms=900)
    low.run()
    assert [(step.from_per_s, step.for_s) for step in low.steps if not step.rest] == [(20, 67), (20, 67)]
    assert [found.held for found in low.found] == [False, False]


def test_an_unknown_rate_is_tried_longer_once() -> None:
    """Half of the messages come from another process, so half of them can be timed."""
    halved = PlantedSearch(SearchSettings(200, step_s=5), serves_per_s=730, timed=0.5)
    halved.run()
    tried = [(step.from_per_s, step.for_s) for step in halved.steps if not step.rest]
    assert tried[:4] == [(200, 8), (200, 14), (400, 8), (800, 5)]
    assert [found.held for found in halved.found[:4]] == [None, True, True, False]
    assert "a p99 needs 1,000" in halved.found[0].why


def test_what_the_search_found_is_recorded_by_step(planted: PlantedSearch) -> None:
    """The analysis compares its own result with the record."""
    begins = [0, *ends_s(planted.steps)]
    assert [found.from_s for found in planted.found] == begins[:-1:2]
    assert all(
        found.held == (step.from_per_s <= 730 / LEAST_SHARE)
        for found, step in zip(planted.found, planted.steps[::2], strict=True)
    )
