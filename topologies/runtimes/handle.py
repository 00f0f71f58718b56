"""Defines how a run handles one program, in a process and in a container alike: the operations, its log, and waits.

The waits are in calls that may come from anywhere: a thread, a greenlet, or a signal handler. Under gevent a plain
signal handler runs in the hub, between greenlets, where no switch is possible. There the patched sleep raises, and
gevent's Popen does not notice the end of a child. `close` must work there too.
"""

import os
import sys
import time
from pathlib import Path
from typing import Protocol

import psutil


class Handle(Protocol):
    """One program, however it is run. `start` returns at once; `alive` and the log tell what becomes of it."""

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
        """Does not wait. May be called at any moment, anywhere, and for one that is gone."""

    def freeze(self) -> bool:
        """False when it does not run."""

    def thaw(self) -> bool: ...
    def wait(self, timeout_s: float) -> bool:
        """Wait until it is gone; False when it still is there after ``timeout_s``."""

    def discard(self) -> None:
        """It was started while the run closed: end it at once."""

    def log_lines(self, *, of_this_start: bool = False) -> list[str]: ...


TAIL_BYTES = 256 * 1024


class BrokerLog:
    """A file that a broker appends to over all its starts."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._began = 0  # where in the file the latest start begins

    def mark_start(self) -> None:
        self._began = self.path.stat().st_size if self.path.exists() else 0

    def lines(self, *, of_this_start: bool = False) -> list[str]:
        """The last lines, at most some TAIL_BYTES of them; none if there is no such file."""
        try:
            with self.path.open("rb") as file:
                size = file.seek(0, os.SEEK_END)
                file.seek(max(self._began if of_this_start else 0, size - TAIL_BYTES))
                return file.read().decode("utf-8", errors="replace").splitlines()
        except OSError:
            return []


POLL_S = 0.05


def pause(seconds: float = POLL_S) -> None:
    """Sleep, letting other greenlets run where that is possible."""
    if _in_the_hub():
        sys.modules["gevent.monkey"].get_original("time", "sleep")(seconds)
    else:
        time.sleep(seconds)


def has_ended(pid: int) -> bool:
    """Whether a child of ours is over, be it reaped or not; asks the system, not a Popen."""
    try:
        return psutil.Process(pid).status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


def _in_the_hub() -> bool:
    gevent, monkey = sys.modules.get("gevent"), sys.modules.get("gevent.monkey")
    if gevent is None or monkey is None or not monkey.is_module_patched("time"):
        return False
    return gevent.getcurrent() is gevent.get_hub()
