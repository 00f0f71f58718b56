"""Tells how long the threads of a process were ready to run and waited for a core: the run-queue wait.

On a machine with too few cores this is time that no broker's settings can win back. Linux counts it for each thread, in
the second number of ``/proc/PID/task/TID/schedstat`` (its Documentation/scheduler/sched-stats.rst). No file has a
process's sum.
"""

import os
import time

MOST_THREADS = 500
"""Each thread takes a file to read. Of a process with more there is no figure."""
THREADS_AT_ONCE = 16
PAUSE_S = 0.001
"""After so many threads, some 0.1 ms, the others of this process get their turn: a load may be paced beside it.

A pause of 0 s would not do: under gevent those who wait for a time or a socket would not get theirs.
"""


class CoreWaits:
    """The waits of one process since it began, as one counter that never goes back when a thread ends.

    A wait counts once it is over. What a thread waited between the last reading and its end is not in it.
    """

    def __init__(self, pid: int) -> None:
        self._tasks = _tasks_of(pid)
        self._of_thread: dict[str, int] = {}
        self._total_ns = 0

    def total_ns(self) -> int | None:
        """None where it cannot be told: the process is gone, has too many threads, or the system does not count it."""
        try:
            threads = os.listdir(self._tasks)  # noqa: PTH208 - names alone, a hundred a second and broker
        except OSError:
            return None
        if len(threads) > MOST_THREADS:
            return None
        now = {}
        for number, thread in enumerate(threads, 1):
            if (waited_ns := _waited_ns(f"{self._tasks}/{thread}/schedstat")) is not None:
                now[thread] = waited_ns
            if number % THREADS_AT_ONCE == 0:
                time.sleep(PAUSE_S)
        if not now:
            return None
        self._total_ns += sum(_grown(self._of_thread.get(thread, 0), waited_ns) for thread, waited_ns in now.items())
        self._of_thread = now
        return self._total_ns


def _tasks_of(pid: int) -> str:
    return f"/proc/{pid}/task"


def _grown(before_ns: int, now_ns: int) -> int:
    """A thread that has waited less than before is a new one, with the number of one that ended."""
    return now_ns - before_ns if now_ns >= before_ns else now_ns


def _waited_ns(path: str) -> int | None:
    """None of a thread that has ended, and on a kernel that does not count."""
    try:
        handle = os.open(path, os.O_RDONLY)
    except OSError:
        return None
    try:
        return int(os.read(handle, 80).split()[1])
    except (OSError, IndexError, ValueError):
        return None
    finally:
        os.close(handle)
