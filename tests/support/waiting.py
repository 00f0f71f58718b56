"""How does a test wait for what another thread does? By looking often, and failing in words when it never comes."""

import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


def until(look: Callable[[], T], timeout_s: float = 15.0) -> T:
    """The first true value; AssertionError with the last one after the timeout."""
    deadline_s = time.monotonic() + timeout_s
    while not (value := look()):
        assert time.monotonic() < deadline_s, f"still {value!r} after {timeout_s:g} s"
        time.sleep(0.01)
    return value
