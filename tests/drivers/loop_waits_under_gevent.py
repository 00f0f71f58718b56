"""Checks how greenlets wait, in a process that gevent has patched; `tests/drivers/test_under_gevent.py` runs these."""

import os
import time
from collections.abc import Callable, Iterator

import gevent
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from drivers.client.loop_waits import (
    MOST_SPIN_NS,
    SPIN_SHARE,
    DueTimer,
    LoopTurns,
    SpinBudget,
    due_timer,
    let_others_run,
)
from drivers.client.pacing import LEAD_NS

MS = 1_000_000


@pytest.fixture
def timer() -> Iterator[DueTimer]:
    new_timer = DueTimer()
    yield new_timer
    new_timer.close()


def waits(timer: DueTimer, due_ns: int, woken: list[int]) -> None:
    timer.wait_until(due_ns)
    assert time.monotonic_ns() >= due_ns - LEAD_NS, "woken before its time"
    woken.append(due_ns)


@given(st.lists(st.integers(-2, 30), min_size=1, max_size=20))
@settings(max_examples=20, deadline=None)
def test_wakes_on_schedule_in_any_arrival_order(
    after_ms: list[int],
) -> None:
    """No greenlet is woken earlier than the time that it takes to make a message."""
    timer, woken, now_ns = DueTimer(), list[int](), time.monotonic_ns()
    try:
        due = [now_ns + wait_ms * MS for wait_ms in after_ms]
        gevent.joinall([gevent.spawn(waits, timer, wait_ms, woken) for wait_ms in due], timeout=20, raise_error=True)
        assert sorted(woken) == sorted(due)
    finally:
        timer.close()


def test_a_nearer_time_that_comes_later_is_not_kept_waiting_by_the_farther_one(timer: DueTimer) -> None:
    woken: list[int] = []
    now_ns = time.monotonic_ns()
    far = gevent.spawn(waits, timer, now_ns + 3_600_000 * MS, woken)
    gevent.sleep(0)
    gevent.spawn(waits, timer, now_ns + 20 * MS, woken).join(timeout=20)
    assert woken == [now_ns + 20 * MS]
    far.kill()


def test_all_who_wait_go_on_when_all_are_woken(timer: DueTimer) -> None:
    waiting = [gevent.spawn(timer.wait_until, time.monotonic_ns() + 3_600_000 * MS) for _ in range(3)]
    gevent.sleep(0)
    timer.wake_all()
    assert len(gevent.joinall(waiting, timeout=20)) == 3


def test_one_who_is_killed_while_it_waits_leaves_the_others_their_times(timer: DueTimer) -> None:
    woken: list[int] = []
    due_ns = time.monotonic_ns() + 20 * MS
    gone = gevent.spawn(waits, timer, due_ns - 5 * MS, woken)
    neighbor = gevent.spawn(waits, timer, due_ns, woken)
    gevent.sleep(0)
    gone.kill()
    neighbor.join(timeout=20)
    assert woken == [due_ns]


def test_others_run_while_one_waits(timer: DueTimer) -> None:
    turns: list[int] = []
    gevent.spawn(lambda: turns.append(1))
    timer.wait_until(time.monotonic_ns() + 5 * MS)
    assert turns == [1]


def test_a_process_has_one_timer_and_its_forks_have_their_own() -> None:
    assert due_timer() is due_timer()
    own = due_timer()
    child = os.fork()
    if child == 0:
        os._exit(1 if due_timer() is own else 0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


@given(st.lists(st.integers(0, 20 * MS), min_size=1, max_size=200))
def test_greenlets_are_woken_early_for_no_more_than_the_share_of_the_time(gaps_ns: list[int]) -> None:
    budget, now_ns, early_ns = SpinBudget(0), 0, 0
    for gap_ns in gaps_ns:
        now_ns += gap_ns
        lead_ns = budget.lead_ns(now_ns)
        budget.spent(lead_ns)
        early_ns += lead_ns
    assert early_ns <= SPIN_SHARE * now_ns
    assert budget.lead_ns(now_ns + MOST_SPIN_NS * 100) == LEAD_NS


def test_a_greenlet_that_waits_alone_is_woken_early_to_make_its_message(timer: DueTimer) -> None:
    for _ in range(100):  # a busy machine may be late
        timer.wait_until(time.monotonic_ns() + 20 * MS)
        if timer.early_wakes:
            return
    raise AssertionError("never woken early")


TURNS = 400


def turns_until_woken(end_turn: Callable[[], None]) -> int:
    """Count the turns of a busy greenlet until a greenlet is woken that was due during the first turn."""
    timer, woken, due_ns = DueTimer(), list[int](), time.monotonic_ns() + 50 * MS

    def waits() -> None:
        timer.wait_until(due_ns)
        woken.append(turn)

    turn = 0
    waiting = gevent.spawn(waits)
    gevent.sleep(0.001)
    while time.monotonic_ns() < due_ns:
        pass
    while turn < TURNS and not woken:
        turn += 1
        end_turn()
    waiting.join(timeout=20)
    timer.close()
    return woken[0]


def test_one_whose_time_has_come_goes_in_the_same_turn() -> None:
    assert turns_until_woken(let_others_run) <= 2


def test_it_would_not_if_turns_ended_by_sleeping_for_no_time() -> None:
    """Or else gevent has changed, and `drivers.client.loop_waits` may go."""
    assert turns_until_woken(lambda: time.sleep(0)) > 10


def test_those_that_end_their_turns_all_go_on_in_the_next() -> None:
    counts = dict.fromkeys(range(5), 0)

    def busy(number: int) -> None:
        while max(counts.values()) < TURNS:
            counts[number] += 1
            let_others_run()

    gevent.joinall([gevent.spawn(busy, number) for number in counts], timeout=20, raise_error=True)
    assert max(counts.values()) - min(counts.values()) <= 1


def test_one_that_was_killed_while_it_waited_holds_nobody_up() -> None:
    turns = LoopTurns()
    killed = gevent.spawn(turns.wait)
    gevent.idle()
    killed.kill()
    gevent.spawn(turns.wait).join(timeout=20)
    turns.close()
