"""Waits for a condition that another thread changes: checks often, and fails with a message after a time limit.

The time limit is a minute, since a busy machine may stop any process for seconds. A wait ends as soon as its condition
holds.
"""

import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")
LOOK_EVERY_S = 0.01


def until(look: Callable[[], T], timeout_s: float = 60.0) -> T:
    """Return the first true value. Raises AssertionError with the last value after the timeout."""
    deadline_s = time.monotonic() + timeout_s
    while not (value := look()):
        assert time.monotonic() < deadline_s, f"still {value!r} after {timeout_s:g} s"
        time.sleep(LOOK_EVERY_S)
    return value


def settled_for(look: Callable[[], T], for_s: float, timeout_s: float = 120.0) -> T:
    """Return a value that stayed the same for ``for_s``. Raises AssertionError if it never does.

    While the whole machine is suspended, nothing changes: so the time between two looks counts only up to a limit.
    """
    began_s = looked_s = time.monotonic()
    value, calm_s = look(), 0.0
    while calm_s < for_s:
        assert looked_s < began_s + timeout_s, f"still changing, now {value!r}, after {timeout_s:g} s"
        time.sleep(LOOK_EVERY_S)
        before_s, looked_s = looked_s, time.monotonic()
        calm_s += min(looked_s - before_s, 10 * LOOK_EVERY_S)
        if (now := look()) != value:
            value, calm_s = now, 0.0
    return value
