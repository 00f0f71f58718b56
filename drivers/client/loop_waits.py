"""Lets greenlets wait in gevent's loop: until the next turn of the loop, or until a due time in nanoseconds.

gevent's ``sleep(0)`` does not end a turn: a greenlet that sleeps for 0 s runs again before gevent checks sockets and
timers, for as long as the 5 ms of Python's switch interval. A message that becomes due in that time is late by the same
amount. `let_others_run` ends the turn.

gevent's own timers wait in whole milliseconds. `DueTimer` is one Linux timerfd per process. It covers all times that
the greenlets of the process wait for; gevent's loop watches it like a socket. On other systems, and in a process that
gevent has not patched, `due_timer` is None.

An idle core takes 0.1 to 0.3 ms to wake a process, and creating a message takes 0.1 ms. So the timer wakes a greenlet
up to `LEAD_NS` early. The greenlet creates its message and then reads the clock until the message is due
(`drivers.client.pacing.wait_until_due`). At high rates this reading would take a core from the brokers, so it has a
budget: `SPIN_SHARE` of the time. Without budget the timer wakes at the due time.
"""

import ctypes
import heapq
import itertools
import os
import sys
import time
from collections.abc import Callable
from typing import Generic, TypeVar

import gevent
from gevent import get_hub, monkey
from gevent.hub import Waiter

from drivers.client.pacing import LEAD_NS
from records.units import NS_PER_S

READABLE = 1
CLOCK_MONOTONIC, TFD_TIMER_ABSTIME = 1, 1
SPIN_SHARE = 0.05
MOST_SPIN_NS = 2_000_000
"""Largest unused budget that is kept."""

T = TypeVar("T")


class OfProcess(Generic[T]):
    """A value per process, made at its first use. A forked process makes a new one, as it has another loop."""

    def __init__(self, make: Callable[[], T]) -> None:
        """``make``: may raise OSError."""
        self._make = make
        self._made: dict[int, T | None] = {}

    def get(self) -> T | None:
        """Return the value, or None if it cannot be made: not on Linux, or gevent has not patched this process."""
        pid = os.getpid()
        if pid not in self._made:
            self._made.clear()
            self._made[pid] = self._make_here()
        return self._made[pid]

    def _make_here(self) -> T | None:
        if not sys.platform.startswith("linux") or not monkey.is_module_patched("threading"):
            return None
        try:
            return self._make()
        except OSError:
            return None


class LoopTurns:
    """Wakes greenlets in the next turn of the loop, with a file that is always readable. Raises OSError."""

    def __init__(self) -> None:
        self._fd = os.eventfd(1, os.EFD_NONBLOCK | os.EFD_CLOEXEC)
        self._watcher = get_hub().loop.io(self._fd, READABLE)
        self._waiting: list[Waiter[None]] = []

    def wait(self) -> None:
        """Wait until the loop has checked every socket and timer once."""
        mine: Waiter[None] = Waiter()
        self._waiting.append(mine)
        if len(self._waiting) == 1:
            self._watcher.start(self._turned)
        mine.get()

    def close(self) -> None:
        self._watcher.stop()
        self._watcher.close()
        os.close(self._fd)

    def _turned(self) -> None:
        """Wake the greenlets of this turn; gevent's loop calls it. A greenlet that waits again is woken in the next."""
        woken, self._waiting = self._waiting, []
        self._watcher.stop()
        for waiter in woken:
            waiter.switch(None)


_turns = OfProcess(LoopTurns)


def let_others_run() -> None:
    """Wait until the other runnable greenlets have run under gevent; otherwise let other threads run."""
    if (turns := _turns.get()) is not None:
        turns.wait()
    else:
        time.sleep(0)


class _Timespec(ctypes.Structure):
    _fields_ = [("seconds", ctypes.c_long), ("nanoseconds", ctypes.c_long)]


class _Itimerspec(ctypes.Structure):
    _fields_ = [("interval", _Timespec), ("value", _Timespec)]


class DueTimer:
    """The times that the greenlets of one process wait for, on the clock of `time.monotonic_ns`. Raises OSError."""

    def __init__(self) -> None:
        self._libc = ctypes.CDLL(None, use_errno=True)
        self._fd = self._libc.timerfd_create(CLOCK_MONOTONIC, os.O_NONBLOCK | os.O_CLOEXEC)
        if self._fd < 0:
            raise OSError(ctypes.get_errno(), "timerfd_create")
        self._waiting: list[tuple[int, int, Waiter[None]]] = []  # a heap: due time, order of arrival, waiter
        self._arrivals = itertools.count()
        self._set_ns = 0  # the time that the timerfd is set to; 0: none
        self._budget = SpinBudget(time.monotonic_ns())
        self.early_wakes = 0
        self._loop = gevent.get_hub().loop
        self._watcher = self._loop.io(self._fd, READABLE)
        self._watcher.start(self._expired)

    def wait_until(self, due_ns: int) -> None:
        """Let other greenlets run until ``due_ns`` or at most `LEAD_NS` before it, or until `wake_all`."""
        mine: Waiter[None] = Waiter()
        heapq.heappush(self._waiting, (due_ns, next(self._arrivals), mine))
        if not self._set_ns or due_ns < self._set_ns:
            self._set(due_ns)
        mine.get()

    def wake_all(self) -> None:
        """Wake all waiting greenlets at once."""
        woken, self._waiting = self._waiting, []
        self._set_ns = 0
        for _, _, waiter in woken:
            self._loop.run_callback(waiter.switch, None)

    def close(self) -> None:
        self.wake_all()
        self._watcher.stop()
        self._watcher.close()
        os.close(self._fd)

    def _expired(self) -> None:
        """Switch to each greenlet directly; gevent's loop calls it shortly before the time has come."""
        try:
            os.read(self._fd, 8)
        except BlockingIOError:
            return  # it has been set again since
        self._set_ns = 0
        while self._waiting and self._may_go(self._waiting[0][0]):
            heapq.heappop(self._waiting)[2].switch(None)
        if self._waiting:
            self._set(self._waiting[0][0])

    def _may_go(self, due_ns: int) -> bool:
        now_ns = time.monotonic_ns()
        early_ns = due_ns - now_ns
        if early_ns > 0 and early_ns > self._budget.lead_ns(now_ns):
            return False
        if early_ns > 0:
            self._budget.spent(early_ns)
            self.early_wakes += 1
        return True

    def _set(self, due_ns: int) -> None:
        """Set the timer. A time that has passed expires at once."""
        self._set_ns = due_ns
        expires_ns = due_ns - self._budget.lead_ns(time.monotonic_ns())
        at = _Itimerspec(value=_Timespec(*divmod(max(1, expires_ns), NS_PER_S)))
        if self._libc.timerfd_settime(self._fd, TFD_TIMER_ABSTIME, ctypes.byref(at), None):
            raise OSError(ctypes.get_errno(), "timerfd_settime")


class SpinBudget:
    """How long a process may still read the clock while it waits: `SPIN_SHARE` of the elapsed time."""

    def __init__(self, now_ns: int) -> None:
        self._left_ns, self._seen_ns = 0.0, now_ns

    def lead_ns(self, now_ns: int) -> int:
        """Return how early a greenlet may be woken now: `LEAD_NS`, or 0 if less budget is left."""
        earned_ns = SPIN_SHARE * (now_ns - self._seen_ns)
        self._left_ns, self._seen_ns = min(MOST_SPIN_NS, self._left_ns + earned_ns), now_ns
        return LEAD_NS if self._left_ns >= LEAD_NS else 0

    def spent(self, early_ns: int) -> None:
        """Record that a greenlet was woken this early. It creates its message in a part of that time."""
        self._left_ns -= early_ns


_due_timer = OfProcess(DueTimer)


def due_timer() -> DueTimer | None:
    """Return this process's timer, made at its first use; a forked process makes a new one."""
    return _due_timer.get()
