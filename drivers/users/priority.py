"""Gives the threads that send and receive real-time priority: other work on the machine delays them less.

Linux only. The threads are Python's main thread, where gevent's loop paces STOMP and AMQP clients, and the threads of
Java clients, including the sampler that detects when a JVM stood still. A load generator that uses most of a core would
starve the brokers, so the priority is then given back.
"""

import os
import re
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import gevent
import psutil

from drivers.realtime import give_back, raise_priority, why_refused
from records.errors import UserError

WATCH_EVERY_S = 1.0
MOST_CORES = 0.7
"""If these threads use more than this share of a core between two checks, they give the priority back."""
JAVA_THREADS = re.compile(r"brokerbench-sen|stall-sampler|ActiveMQ (Transp|Sessio)|Thread-\d+ \(Ac")
"""The kernel's names of the threads: the first 15 letters."""


class RealTimePriority:
    """Real-time priority of one process, from `start` to `stop`. ``note``: called once if it was given back early."""

    def __init__(self, note: Callable[[str], None]) -> None:
        self._note = note
        self._main = os.getpid()
        self._raised: set[int] = set()
        self._used_s = 0.0
        self._watch: gevent.Greenlet | None = None

    def start(self) -> None:
        """Raise this process's priority. Raises UserError if that is not permitted."""
        if why := why_refused():
            raise UserError(why)
        self._raise_all()
        self._used_s = self._cpu_s()
        self._watch = gevent.spawn(self._keep_watching)

    def stop(self) -> None:
        """Give the priority back; may be repeated."""
        watch, self._watch = self._watch, None
        if watch is not None and watch is not gevent.getcurrent():
            watch.kill(block=False)
        for thread in self._raised:
            with suppress(OSError):  # it has ended
                give_back(thread)
        self._raised.clear()

    def _keep_watching(self) -> None:
        while self._watch is not None:
            gevent.sleep(WATCH_EVERY_S)
            self._look()

    def _look(self) -> None:
        """Give new threads the priority too; take it from all if they use too much."""
        before_s, self._used_s = self._used_s, self._cpu_s()
        if self._used_s - before_s > MOST_CORES * WATCH_EVERY_S:
            self.stop()
            self._note(
                "the load generator gave up its real-time priority: it used most of a core, and brokers would starve"
            )
        else:
            self._raise_all()

    def _raise_all(self) -> None:
        for thread in {self._main, *_java_threads()} - self._raised:
            with suppress(OSError):  # it has ended
                raise_priority(thread)
                self._raised.add(thread)

    def _cpu_s(self) -> float:
        """Return the CPU time of the raised threads so far. A thread that has ended no longer counts."""
        return sum(
            thread.user_time + thread.system_time for thread in psutil.Process().threads() if thread.id in self._raised
        )


def _java_threads() -> list[int]:
    threads = []
    for task in Path("/proc/self/task").iterdir():
        with suppress(OSError):
            if JAVA_THREADS.match((task / "comm").read_text(encoding="utf-8")):
                threads.append(int(task.name))
    return threads
