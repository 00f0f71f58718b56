"""Defines the interface to a program, whether a process or a container: operations, log and waiting.

Waits may be called from anywhere: a thread, a greenlet, or a signal handler. Under gevent a plain signal handler runs
in the hub, between greenlets, where no switch is possible. There the patched sleep raises, and gevent's Popen does not
notice the end of a child. `close` must work there too.
"""

import os
import sys
import time
from pathlib import Path
from typing import Protocol

import psutil


class Handle(Protocol):
    """A program. `start` returns at once; `alive` and the log show what happens to it."""

    @property
    def log(self) -> Path: ...
    @property
    def alive(self) -> bool: ...
    @property
    def pid(self) -> int | None: ...
    @property
    def exit_status(self) -> int | None: ...
    def start(self) -> None: ...
    def terminate(self) -> None: ...
    def kill(self) -> None:
        """Kill without waiting. Safe at any time, from any place, also for a program that has ended."""

    def freeze(self) -> bool:
        """Freeze the program and return True; return False if it is not running."""

    def thaw(self) -> bool: ...
    def wait(self, timeout_s: float) -> bool:
        """Wait until the program has ended; False if it is still running after ``timeout_s``."""

    def discard(self) -> None:
        """End it at once, because it was started while the run was closing."""

    def log_lines(self, *, of_this_start: bool = False) -> list[str]: ...


TAIL_BYTES = 256 * 1024


class BrokerLog:
    """The log file to which a broker appends across all its starts."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._began = 0  # offset in the file at which the latest start begins

    def mark_start(self) -> None:
        self._began = self.path.stat().st_size if self.path.exists() else 0

    def lines(self, *, of_this_start: bool = False) -> list[str]:
        """Return the last lines, at most about TAIL_BYTES; empty if the file does not exist."""
        try:
            with self.path.open("rb") as file:
                size = file.seek(0, os.SEEK_END)
                file.seek(max(self._began if of_this_start else 0, size - TAIL_BYTES))
                return file.read().decode("utf-8", errors="replace").splitlines()
        except OSError:
            return []


POLL_S = 0.05


def pause(seconds: float = POLL_S) -> None:
    """Sleep, letting other greenlets run if possible."""
    if _in_the_hub():
        sys.modules["gevent.monkey"].get_original("time", "sleep")(seconds)
    else:
        time.sleep(seconds)


def has_ended(pid: int) -> bool:
    """Return whether our child process has ended, reaped or not; this checks the system instead of a Popen."""
    try:
        return psutil.Process(pid).status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


def _in_the_hub() -> bool:
    gevent, monkey = sys.modules.get("gevent"), sys.modules.get("gevent.monkey")
    if gevent is None or monkey is None or not monkey.is_module_patched("time"):
        return False
    return gevent.getcurrent() is gevent.get_hub()
