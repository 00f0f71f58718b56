"""Ends the turn of a greenlet so that whoever waits for a socket or a time goes first.

gevent's ``sleep(0)`` does not: a greenlet that sleeps for 0 s runs again before gevent looks at sockets and timers, for
as long as the 5 ms of Python's switch interval. A message that becomes due meanwhile is late by as much.
"""

import os
import time

from gevent import get_hub
from gevent.hub import Waiter

from drivers.client.of_process import OfProcess

READABLE = 1


class LoopTurns:
    """Wakes greenlets in the next turn of the loop, by a file that is always readable. Raises OSError."""

    def __init__(self) -> None:
        self._fd = os.eventfd(1, os.EFD_NONBLOCK | os.EFD_CLOEXEC)
        self._watcher = get_hub().loop.io(self._fd, READABLE)
        self._waiting: list[Waiter[None]] = []

    def wait(self) -> None:
        """Until the loop has looked at every socket and timer once."""
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
        """Called by gevent's loop. One that waits again is woken in the turn after this one."""
        woken, self._waiting = self._waiting, []
        self._watcher.stop()
        for one in woken:
            one.switch(None)


_of_process = OfProcess(LoopTurns)


def let_others_run() -> None:
    """Under gevent, until the other greenlets that could run had their turn; elsewhere other threads have it."""
    if (turns := _of_process.get()) is not None:
        turns.wait()
    else:
        time.sleep(0)
