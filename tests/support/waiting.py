"""How does a test wait for what another thread does? By looking often, and failing in words when it never comes.

Its patience is a minute: a machine that is busy with other things may leave any process alone for seconds, and nobody
who waits for what comes waits longer for it.
"""

import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


def until(look: Callable[[], T], timeout_s: float = 60.0) -> T:
    """The first true value; AssertionError with the last one after the timeout."""
    deadline_s = time.monotonic() + timeout_s
    while not (value := look()):
        assert time.monotonic() < deadline_s, f"still {value!r} after {timeout_s:g} s"
        time.sleep(0.01)
    return value


def settled_for(look: Callable[[], T], for_s: float, timeout_s: float = 120.0) -> T:
    """A value that stayed the same for so long; AssertionError when it never does."""
    deadline_s = time.monotonic() + timeout_s
    value, since_s = look(), time.monotonic()
    while time.monotonic() - since_s < for_s:
        assert time.monotonic() < deadline_s, f"still changing, now {value!r}, after {timeout_s:g} s"
        time.sleep(0.01)
        if (now := look()) != value:
            value, since_s = now, time.monotonic()
    return value
