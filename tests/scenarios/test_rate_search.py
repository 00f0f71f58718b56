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
from records.rate_search import SearchSettings
from records.rate_steps import LEAST_SHARE, RateStep, ends_s, judged_seconds
from records.send_schedule import SteppedSchedule
from records.units import NS_PER_S
from scenarios.harness.run.steering import AHEAD_S, CLOSE_ENOUGH, NextRate, RateSearch, Reception, reception_of

LIMITS = st.floats(1, 200_000)
BEGINS = st.floats(1, 200_000)
MS = 1_000_000


def searched(begin_per_s: float, holds: Callable[[float], bool]) -> NextRate:
    """A search to its end."""
    search = NextRate(begin_per_s)
    for _ in range(100):
        per_s = search.per_s()
        if per_s is None:
            return search
        search.note(per_s, held=holds(per_s))
    raise AssertionError("it does not end")


@given(LIMITS, BEGINS)
def test_any_limit_is_found_from_any_begin_within_five_percent(limit_per_s: float, begin_per_s: float) -> None:
    """From far below (a peer's search stayed at one message a second) and from far above (a peer's fell to 0)."""
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
    noted.live.begin(0, 100)
    for at_s, count in received.items():
        noted.received += count
        for _ in range(count):
            noted.live.received(at_s * NS_PER_S, None if took_ms is None else took_ms * MS)
    return noted


def test_a_rate_is_judged_by_what_arrives_of_what_is_due_and_not_by_what_producers_could_send() -> None:
    """A peer's search settled on a rate that its producers could not send."""
    slow = reception_of(tally(dict.fromkeys(range(20), 80)), judged_seconds(0, 10), 100.0)
    assert (slow.share, slow.held(500)) == (0.8, False)
    assert reception_of(tally(dict.fromkeys(range(20), 99)), judged_seconds(0, 10), 100.0).held(500)


@pytest.mark.parametrize(("took_ms", "held"), [(20, True), (40, False), (None, True)])
def test_a_rate_whose_p99_is_over_the_limit_is_not_held(took_ms: int | None, held: bool) -> None:
    assert reception_of(tally(dict.fromkeys(range(10), 100), took_ms), judged_seconds(0, 10), 100.0).held(30) is held


def test_the_first_fifth_of_a_step_is_not_judged() -> None:
    """A far broker's messages arrive late, and there are as many at each moment all the same."""
    late = {0: 0, 1: 50} | dict.fromkeys(range(2, 10), 100)
    assert reception_of(tally(late), judged_seconds(0, 10), 100.0) == Reception(1.0, pytest.approx(5, rel=0.01))


class Planted:
    """A search by one producer, over a topology that serves so many messages a second, second by second."""

    def __init__(self, settings: SearchSettings, serves_per_s: int) -> None:
        self.changes: list[RateChange] = []
        self.steps: tuple[RateStep, ...] = ()
        self.warnings: list[str] = []
        self._schedule = SteppedSchedule(0, settings.begin_per_s, steps=settings.first_steps(1))
        self._schedule.load_is(0, None)
        self._search = RateSearch(settings, 1, 1.0, self._change, self._record())
        self._serves_per_s = serves_per_s

    def _change(self, change: RateChange) -> None:
        self.changes.append(change)
        self._schedule.change(change.from_ns, change.steps)

    def _record(self) -> Any:
        def update(rate_steps: tuple[RateStep, ...]) -> None:
            self.steps = rate_steps

        return SimpleNamespace(update=update, warning=self.warnings.append, write=lambda: None)

    def run(self, load_s: int | None = None) -> int:
        """Until it is over; returns after how many seconds."""
        window = Window(0, 0, None if load_s is None else load_s * NS_PER_S)
        tally = Tally()
        tally.live.begin(0, self._search.live_s)
        for at_s in range(2_000):
            ends_ns = (at_s + 1) * NS_PER_S
            served = min(self._schedule.slots_planned(ends_ns - 1) - tally.received, self._serves_per_s)
            tally.received += served
            for _ in range(served):
                tally.live.received(at_s * NS_PER_S, 1)
            if self._search.is_over(tally, window, ends_ns):
                return at_s
        raise AssertionError("it does not end")


@pytest.fixture
def planted() -> Planted:
    search = Planted(SearchSettings(100, step_s=10), serves_per_s=730)
    search.run()
    return search


def test_a_search_steps_up_to_the_limit_and_records_each_step_and_rest(planted: Planted) -> None:
    tried = [step.from_per_s for step in planted.steps if not step.rest]
    assert tried[:5] == [100, 200, 400, 800, 566]
    assert tried[-1] > 730  # the lowest that was not held, again
    assert tried[-1] in tried[:-1]
    assert max(per_s for per_s in tried if per_s <= 730 / LEAST_SHARE) >= 730 / CLOSE_ENOUGH
    assert [step.rest for step in planted.steps] == [False, True] * len(tried)


def test_a_new_rate_is_told_in_time_and_begins_with_a_whole_second(planted: Planted) -> None:
    begins = [0, *(change.from_ns // NS_PER_S for change in planted.changes)]
    assert all(change.from_ns % NS_PER_S == 0 for change in planted.changes)
    steps = planted.steps
    for (earlier, later), (step, rest) in zip(
        pairwise(begins), zip(steps[::2], steps[1::2], strict=True), strict=False
    ):
        assert later - earlier == step.for_s + rest.for_s >= step.for_s + AHEAD_S


def test_a_step_that_would_not_end_within_the_load_is_not_begun() -> None:
    short = Planted(SearchSettings(100, step_s=10), serves_per_s=730)
    assert short.run(load_s=45) < 45
    assert [step.from_per_s for step in short.steps if not step.rest] == [100, 200, 400]
    assert ends_s(short.steps)[-2] <= 43


def test_a_backlog_that_does_not_drain_ends_the_search_and_is_told() -> None:
    """What is lost on the way never arrives."""
    lossy = Planted(SearchSettings(1_000, step_s=10), serves_per_s=0)
    assert lossy.run() < 110
    assert "its backlog had not drained" in lossy.warnings[0]
