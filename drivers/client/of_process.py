"""Keeps one thing of gevent's loop a process, such as a timer that all of its greenlets wait for."""

import os
import sys
from collections.abc import Callable
from typing import Generic, TypeVar

from gevent import monkey

T = TypeVar("T")


class OfProcess(Generic[T]):
    """Makes it at its first use. A forked process makes its own, as it has another loop."""

    def __init__(self, make: Callable[[], T]) -> None:
        """``make``: may raise OSError."""
        self._make = make
        self._made: dict[int, T | None] = {}

    def get(self) -> T | None:
        """None where it cannot be made: not on Linux, or gevent has not patched this process."""
        pid = os.getpid()
        if pid not in self._made:
            self._made.clear()
            self._made[pid] = self._make_here()
        return self._made[pid]

    def _make_here(self) -> T | None:
        if not sys.platform.startswith("linux") or not monkey.is_module_patched("threading"):
            return None
        try:
            return self._make()
        except OSError:
            return None
