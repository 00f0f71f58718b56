"""Whose answer is that? Each request to the JVM has a number, which comes back with its answer.

Users share a client, and one may have stopped waiting by the time that it is answered: nobody else may take it for his.
What was done for him all the same is not forgotten either: whoever asked says what becomes of it.
"""

import itertools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from drivers.jvm.hub import Answer

ENDED, UNHEARD = "ended", "unheard"

OnLate = Callable[..., None]
"""(what the answer is, its values), of an answer that nobody waits for any more"""


class Requests:
    """What was asked for and not answered yet. Any thread may ask; the hub answers."""

    def __init__(self) -> None:
        self._numbers = itertools.count(1)
        self._open: dict[int, tuple[Answer, OnLate]] = {}

    @contextmanager
    def new(self, on_late: OnLate) -> Iterator[tuple[int, Answer]]:
        """A number for one request and where its answer will be, for as long as somebody waits for that."""
        number, answer = next(self._numbers), Answer()
        self._open[number] = answer, on_late
        try:
            yield number, answer
        finally:
            answer.give(UNHEARD)
            if answer.what != UNHEARD:
                del self._open[number]

    def answered(self, number: int, what: str, *values: Any) -> None:
        """Hand the answer over, or what it brings to ``on_late``."""
        answer, on_late = self._open.get(number, (Answer(), None))
        answer.give(what, *values)
        if answer.what == UNHEARD and on_late:
            del self._open[number]
            on_late(what, *values)

    def end(self) -> None:
        """There will be no answers any more: who waits is told `ENDED`."""
        for answer, _ in tuple(self._open.values()):
            answer.give(ENDED)
