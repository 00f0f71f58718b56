"""Gives each request to the JVM a number, which comes back with its answer.

Users share a client, and one may have stopped waiting before its answer comes: no other thread may take that answer.
Late answers go to a handler that the requester supplied.
"""

import itertools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from drivers.jvm.hub import JavaReply

ENDED, UNHEARD = "ended", "unheard"

OnLate = Callable[..., None]
"""(what the answer is, its values), of an answer that nobody waits for any more"""


class Requests:
    """Requests without an answer yet. Any thread may ask; the hub answers."""

    def __init__(self) -> None:
        self._numbers = itertools.count(1)
        self._open: dict[int, tuple[JavaReply, OnLate]] = {}

    @contextmanager
    def new(self, on_late: OnLate) -> Iterator[tuple[int, JavaReply]]:
        """A number for one request, and the place of its answer, until the wait ends."""
        number, answer = next(self._numbers), JavaReply()
        self._open[number] = answer, on_late
        try:
            yield number, answer
        finally:
            answer.give(UNHEARD)
            if answer.what != UNHEARD:
                del self._open[number]

    def answered(self, number: int, what: str, *values: Any) -> None:
        """Hand the answer over, or what it brings to ``on_late``."""
        answer, on_late = self._open.get(number, (JavaReply(), None))
        answer.give(what, *values)
        if answer.what == UNHEARD and on_late:
            del self._open[number]
            on_late(what, *values)

    def end(self) -> None:
        """There will be no answers any more: who waits is told `ENDED`."""
        for answer, _ in tuple(self._open.values()):
            answer.give(ENDED)
