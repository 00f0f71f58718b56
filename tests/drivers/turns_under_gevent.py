"""Checks turns of the loop in a process that gevent has patched; `tests/drivers/test_turns.py` runs these."""

import time
from collections.abc import Callable

import gevent

from drivers.client.loop_waits import DueTimer, LoopTurns, let_others_run

MS = 1_000_000
TURNS = 400


def turns_until_woken(end_turn: Callable[[], None]) -> int:
    """How many turns of a busy greenlet it takes until one is woken whose time came during the first of them."""
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

    def busy(which: int) -> None:
        while max(counts.values()) < TURNS:
            counts[which] += 1
            let_others_run()

    gevent.joinall([gevent.spawn(busy, which) for which in counts], timeout=20, raise_error=True)
    assert max(counts.values()) - min(counts.values()) <= 1


def test_one_that_was_killed_while_it_waited_holds_nobody_up() -> None:
    turns = LoopTurns()
    killed = gevent.spawn(turns.wait)
    gevent.idle()
    killed.kill()
    gevent.spawn(turns.wait).join(timeout=20)
    turns.close()
