"""Whose answer is that? Each request to the JVM has a number, which comes back with its answer.

Users share a client, and one may have stopped waiting by the time that it is answered: nobody else may take it for his.
"""

import itertools
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from drivers.java_hub import Answer

ENDED = "ended"


class Requests:
    """What was asked for and not answered yet. Any thread may ask; the hub answers."""

    def __init__(self) -> None:
        self._numbers = itertools.count(1)
        self._open: dict[int, Answer] = {}

    @contextmanager
    def new(self) -> Iterator[tuple[int, Answer]]:
        """A number for one request and where its answer will be, for as long as somebody waits for that."""
        number, answer = next(self._numbers), Answer()
        self._open[number] = answer
        try:
            yield number, answer
        finally:
            del self._open[number]

    def answered(self, number: int, what: str, *values: Any) -> bool:
        """Hand the answer over; False when nobody waits for it any more."""
        answer = self._open.get(number)
        if answer is not None:
            answer.give(what, *values)
        return answer is not None

    def end(self) -> None:
        """There will be no answers any more: who waits is told `ENDED`."""
        for answer in tuple(self._open.values()):
            answer.give(ENDED)
