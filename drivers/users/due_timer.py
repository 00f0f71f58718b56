"""Wakes greenlets at the nanosecond that they wait for, where gevent's own timers wait in whole milliseconds.

One Linux timerfd a process stands for all times that its greenlets wait for; gevent's loop watches it as it watches a
socket. Elsewhere, and in a process that gevent has not patched, `due_timer` is None.
"""

import ctypes
import heapq
import itertools
import os
import sys
import time

import gevent
from gevent import monkey
from gevent.event import AsyncResult

CLOCK_MONOTONIC, TFD_TIMER_ABSTIME = 1, 1
READABLE = 1
NS_PER_S = 1_000_000_000


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
        self._waiting: list[tuple[int, int, AsyncResult[None]]] = []  # a heap: due, order of arrival, who waits
        self._arrivals = itertools.count()
        self._set_ns = 0  # what the timerfd is set to; 0: nothing
        self._watcher = gevent.get_hub().loop.io(self._fd, READABLE)
        self._watcher.start(self._expired)

    def wait_until(self, due_ns: int) -> None:
        """Let other greenlets run until then, or until `wake_all`."""
        mine: AsyncResult[None] = AsyncResult()
        heapq.heappush(self._waiting, (due_ns, next(self._arrivals), mine))
        if not self._set_ns or due_ns < self._set_ns:
            self._set(due_ns)
        mine.get()

    def wake_all(self) -> None:
        """Whoever waits goes on at once."""
        woken, self._waiting = self._waiting, []
        self._set_ns = 0
        for _, _, one in woken:
            one.set(None)

    def close(self) -> None:
        self.wake_all()
        self._watcher.stop()
        self._watcher.close()
        os.close(self._fd)

    def _expired(self) -> None:
        """Called by gevent's loop once the time has come."""
        try:
            os.read(self._fd, 8)
        except BlockingIOError:
            return  # set anew since
        now_ns = time.monotonic_ns()
        while self._waiting and self._waiting[0][0] <= now_ns:
            heapq.heappop(self._waiting)[2].set(None)
        self._set_ns = 0
        if self._waiting:
            self._set(self._waiting[0][0])

    def _set(self, due_ns: int) -> None:
        """A time that has passed expires at once."""
        self._set_ns = due_ns
        at = _Itimerspec(value=_Timespec(*divmod(max(1, due_ns), NS_PER_S)))
        if self._libc.timerfd_settime(self._fd, TFD_TIMER_ABSTIME, ctypes.byref(at), None):
            raise OSError(ctypes.get_errno(), "timerfd_settime")


_of_process: dict[int, DueTimer | None] = {}


def due_timer() -> DueTimer | None:
    """This process's timer, made at its first use; a forked process makes its own."""
    pid = os.getpid()
    if pid not in _of_process:
        _of_process.clear()
        _of_process[pid] = _made()
    return _of_process[pid]


def _made() -> DueTimer | None:
    if not sys.platform.startswith("linux") or not monkey.is_module_patched("threading"):
        return None
    try:
        return DueTimer()
    except OSError:
        return None
