"""Measures the run-queue wait of a process: the time for which threads were ready to run but waited for a core.

On a machine with too few cores, no broker setting can win this time back. Linux counts it per thread, in the second
number of ``/proc/PID/task/TID/schedstat`` (its Documentation/scheduler/sched-stats.rst). Linux has no file with the sum
for a process.
"""

import os
import time

MOST_THREADS = 500
"""One file is read per thread. Processes with more threads have no figure."""
THREADS_AT_ONCE = 16
PAUSE_S = 0.001
"""Pause after this many threads, or about 0.1 ms, so that other threads run: this process may pace a load.

A pause of 0 s would not help: under gevent, greenlets that wait for a time or a socket would not run.
"""


class CoreWaits:
    """The waits of a process since its start, as a counter that never decreases when a thread ends.

    A wait counts once it is over. A thread's waits between the last reading and its end are not included.
    """

    def __init__(self, pid: int) -> None:
        self._tasks = _tasks_of(pid)
        self._of_thread: dict[str, int] = {}
        self._total_ns = 0

    def total_ns(self) -> int | None:
        """Return the total.

        None if the process is gone or has too many threads, or if the system does not count waits.
        """
        try:
            threads = os.listdir(self._tasks)  # noqa: PTH208 - names alone, a hundred per second and broker
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
    """Return the growth of a thread's wait.

    A thread with a smaller wait than before is a new thread that has the number of an ended thread.
    """
    return now_ns - before_ns if now_ns >= before_ns else now_ns


def _waited_ns(path: str) -> int | None:
    """Return the wait of a thread; None if it has ended, or if the kernel does not count waits."""
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
