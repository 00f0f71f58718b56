"""Runs a bare loop in Java beside a run: it only waits for due times, as a load generator does at best.

Its times are of the same clock as a run's (`tests/drivers/jvm/test_clocks.py`), so that those within the load can be
told from the others.
"""

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from records.units import NS_PER_MS
from scenarios.harness.options.run_options import REALTIME
from scenarios.java_parts import find_java_parts

SOURCES = Path(__file__).with_name("java")
NUMBERS_A_TIME = 2


@contextmanager
def bare_loop(rate: str, priority: str, file: Path) -> Iterator[None]:
    """A process that wakes ``rate`` times a second while the block runs; ``file`` is complete afterwards."""
    parts = find_java_parts("openwire")
    classes = parts.compiler.compiled((SOURCES,), ())
    java = str(parts.home / "bin" / "java")
    command = [java, "-XX:+UseSerialGC", "-cp", str(classes), "brokerbench.BareLoop", rate, str(file)]
    before = raise_all_priorities if priority == REALTIME else None
    loop = subprocess.Popen(command, stdin=subprocess.PIPE, preexec_fn=before)
    try:
        yield
    finally:
        loop.communicate()  # its input ends, and so does the loop


def raise_all_priorities() -> None:
    """Of a process that is about to begin: all of its threads inherit it, unlike those of `drivers.realtime`."""
    os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(1))


def lateness_ms(file: Path, began_ns: int, ended_ns: int) -> Any:
    """How late (ms) it was at each time that was due from ``began_ns`` until before ``ended_ns``."""
    due_ns, woke_ns = np.fromfile(file, dtype=">i8").reshape(-1, NUMBERS_A_TIME).T
    return (woke_ns - due_ns)[(due_ns >= began_ns) & (due_ns < ended_ns)] / NS_PER_MS
