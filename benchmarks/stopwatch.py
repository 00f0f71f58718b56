"""Measures wall time and CPU of this process or of its children, and looks at others now and then."""

import json
import os
import resource
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

BODY_BYTES, IN_FLIGHT, PREFETCH, WARM_UP = 1_024, 500, 1_000, 5_000  # of every side of a comparison
USER = "brokerbench"


class Stopwatch:
    """Runs from when it is made. The messages before that pay for what is loaded and made once."""

    def __init__(self) -> None:
        self._began_s, self._cpu_s = time.perf_counter(), _cpu_s()

    def stop(self, messages: int) -> str:
        """One line of JSON: messages per second, and CPU (us, user and system) per message."""
        wall_s, cpu_s = time.perf_counter() - self._began_s, _cpu_s() - self._cpu_s
        return json.dumps({"messages_per_s": messages / wall_s, "cpu_us_per_message": cpu_s / messages * 1e6})


@contextmanager
def looking(look: Callable[[], None], every_s: float) -> Iterator[None]:
    """Calls ``look`` every so many seconds, in a thread, until the block ends."""
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
    """The CPU of all ended child processes together: user and system."""
    times = os.times()
    return times.children_user + times.children_system


def _cpu_s() -> float:
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime
