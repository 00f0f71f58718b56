"""Gives the threads that send and receive real-time priority: other work on the machine makes them less late.

Linux only. The threads are Python's main thread, where gevent's loop paces STOMP and AMQP clients, and those of Java
clients. They share a core fairly with each other (SCHED_RR), and their children run as usual (SCHED_RESET_ON_FORK): no
broker inherits the priority. A load generator that uses most of a core would starve the brokers, so the priority is
given back then.
"""

import os
import re
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import gevent
import psutil

LEVEL = 1
WATCH_EVERY_S = 1.0
MOST_CORES = 0.7
"""If these threads use more of a core between two looks, they give the priority back."""
JAVA_THREADS = re.compile(r"brokerbench-sen|ActiveMQ (Transp|Sessio)|Thread-\d+ \(Ac")
"""As the kernel has their names: the first 15 letters."""
HOW = "run as root, or let this user have real-time priority (ulimit -r 1, or LimitRTPRIO=1 of a systemd unit)"


class PriorityRefused(Exception):
    """This machine permits no real-time priority: says why, and the next step."""


def why_refused() -> str:
    """Why this process could have no real-time priority; '' if it could. Changes nothing that lasts."""
    if not hasattr(os, "sched_setscheduler"):
        return "real-time priority is for Linux only"
    before, level = os.sched_getscheduler(0), os.sched_getparam(0)
    try:
        _raise(0)
        os.sched_setscheduler(0, before, level)
    except OSError as error:
        return f"real-time priority is not permitted here ({error.strerror}): {HOW}"
    return ""


class RealTimePriority:
    """Of one process, from `start` to `stop`. ``note``: told once if the priority was given back early."""

    def __init__(self, note: Callable[[str], None]) -> None:
        self._note = note
        self._main = os.getpid()
        self._raised: set[int] = set()
        self._used_s = 0.0
        self._watch: gevent.Greenlet | None = None

    def start(self) -> None:
        """Raises PriorityRefused."""
        if why := why_refused():
            raise PriorityRefused(why)
        self._raise_all()
        self._used_s = self._cpu_s()
        self._watch = gevent.spawn(self._keep_watching)

    def stop(self) -> None:
        """Give it back; may be repeated."""
        watch, self._watch = self._watch, None
        if watch is not None and watch is not gevent.getcurrent():
            watch.kill(block=False)
        for thread in self._raised:
            with suppress(OSError):  # it has ended
                os.sched_setscheduler(thread, os.SCHED_OTHER, os.sched_param(0))
        self._raised.clear()

    def _keep_watching(self) -> None:
        while self._watch is not None:
            gevent.sleep(WATCH_EVERY_S)
            self._look()

    def _look(self) -> None:
        """New threads get the priority too; all lose it if they use too much."""
        before_s, self._used_s = self._used_s, self._cpu_s()
        if self._used_s - before_s > MOST_CORES * WATCH_EVERY_S:
            self.stop()
            self._note(
                "the load generator gave its real-time priority back: it used most of a core, and brokers would starve"
            )
        else:
            self._raise_all()

    def _raise_all(self) -> None:
        for thread in {self._main, *_java_threads()} - self._raised:
            with suppress(OSError):  # it has ended
                _raise(thread)
                self._raised.add(thread)

    def _cpu_s(self) -> float:
        """CPU time of the raised threads so far. One that has ended takes its time along."""
        return sum(one.user_time + one.system_time for one in psutil.Process().threads() if one.id in self._raised)


def _raise(thread: int) -> None:
    os.sched_setscheduler(thread, os.SCHED_RR | os.SCHED_RESET_ON_FORK, os.sched_param(LEVEL))


def _java_threads() -> list[int]:
    found = []
    for task in Path("/proc/self/task").iterdir():
        with suppress(OSError):
            if JAVA_THREADS.match((task / "comm").read_text(encoding="utf-8")):
                found.append(int(task.name))
    return found
