"""Measures wall time and CPU time of this process or its children, and samples other processes."""

import json
import os
import resource
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

BODY_BYTES, IN_FLIGHT, PREFETCH, WARM_UP = 1_024, 500, 1_000, 5_000  # the same on every side of a comparison
USER = "brokerbench"


class Stopwatch:
    """Measures wall time and CPU time since its creation.

    Create it after the warm-up messages, so that one-time costs such as loading code are not measured.
    """

    def __init__(self) -> None:
        self._began_s, self._cpu_s = time.perf_counter(), _cpu_s()

    def stop(self, messages: int) -> str:
        """Return one line of JSON: messages per second, and CPU time per message (us, user and system)."""
        wall_s, cpu_s = time.perf_counter() - self._began_s, _cpu_s() - self._cpu_s
        return json.dumps({"messages_per_s": messages / wall_s, "cpu_us_per_message": cpu_s / messages * 1e6})


@contextmanager
def sampling(look: Callable[[], None], every_s: float) -> Iterator[None]:
    """Call ``look`` every ``every_s`` seconds in a thread until the block ends."""
    over = threading.Event()

    def look_until_over() -> None:
        while not over.wait(every_s):
            look()

    thread = threading.Thread(target=look_until_over)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def children_cpu_s() -> float:
    """Return the total CPU time of all ended child processes, user and system."""
    times = os.times()
    return times.children_user + times.children_system


def _cpu_s() -> float:
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime
