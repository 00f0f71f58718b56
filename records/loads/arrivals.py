"""Places a producer's sends on its schedule: evenly (``fixed``), or as a Poisson process (``poisson``).

Producers of a ``closed`` load have no schedule (`records.loads.send_schedule.ClosedSchedule`).

A schedule turns a place into a due time: at 10 sends per second, place 25.5 is 2.55 s after the start. With fixed
arrivals slot ``n`` is at place ``n``. With Poisson arrivals the gaps between places are exponentially distributed with
mean 1, so that a rate that changes in steps gives a Poisson process whose rate changes in the same steps.
"""

import random
from bisect import bisect_right
from collections import OrderedDict
from collections.abc import Sequence
from math import floor, log
from threading import Lock
from typing import ClassVar, Protocol

FIXED, POISSON, CLOSED = "fixed", "poisson", "closed"
ARRIVALS = (FIXED, POISSON)
"""The kinds of arrivals that have due times."""
LOADS = (*ARRIVALS, CLOSED)
"""The kinds of arrivals, as users write them."""

BLOCK = 1_024
"""Slots whose places are computed together."""
BLOCKS_KEPT = 64


class Arrivals(Protocol):
    """The places of one producer's slots, in ascending order. ``kind``: one of `ARRIVALS`."""

    kind: ClassVar[str]

    def place(self, slot: int) -> float:
        """Return the place of slot 0, 1, 2 …"""

    def slots_by(self, place: float) -> int:
        """Return the number of slots at or before this place."""


class FixedArrivals:
    """Slot ``n`` is at place ``n``."""

    kind: ClassVar[str] = FIXED

    def place(self, slot: int) -> float:
        """See `Arrivals.place`. An int, so that due times stay exact for any number of slots."""
        return slot

    def slots_by(self, place: float) -> int:
        """See `Arrivals.slots_by`."""
        return max(floor(place) + 1, 0)


class PoissonArrivals:
    """A Poisson process with one slot per unit of place on average. A seed and a client always give the same places.

    Places are computed in blocks: only the ends of all blocks and the places of recent blocks are kept. The lock
    protects the blocks from threads that use the same producer.
    """

    kind: ClassVar[str] = POISSON

    def __init__(self, seed: int, client: int) -> None:
        self._name = f"{seed}:arrivals:{client}"
        self._ends = [0.0]  # the last place of each block, after the origin
        self._kept: OrderedDict[int, Sequence[float]] = OrderedDict()
        self._lock = Lock()

    def place(self, slot: int) -> float:
        """See `Arrivals.place`."""
        number, index = divmod(slot, BLOCK)
        block = self._kept.get(number)
        return (block or self._block(number))[index]

    def slots_by(self, place: float) -> int:
        """See `Arrivals.slots_by`."""
        while self._ends[-1] <= place:
            self._block(len(self._ends) - 1)
        number = bisect_right(self._ends, place) - 1
        return 0 if number < 0 else number * BLOCK + bisect_right(self._block(number), place)

    def _block(self, number: int) -> Sequence[float]:
        with self._lock:
            while len(self._ends) <= number:
                self._ends.append(self._computed(len(self._ends) - 1)[-1])
            block = self._kept.get(number) or self._computed(number)
            if number == len(self._ends) - 1:
                self._ends.append(block[-1])
            self._kept[number] = block
            while len(self._kept) > BLOCKS_KEPT:
                self._kept.popitem(last=False)
        return block

    def _computed(self, number: int) -> Sequence[float]:
        uniform, place, places = random.Random(f"{self._name}:{number}").random, self._ends[number], []
        for _ in range(BLOCK):
            place -= log(1.0 - uniform())
            places.append(place)
        return places


def arrivals_of(kind: str, seed: int, client: int) -> Arrivals:
    """Return the arrivals of one producer. ``kind``: one of `ARRIVALS`. ValueError for another."""
    if kind == FIXED:
        return FixedArrivals()
    if kind == POISSON:
        return PoissonArrivals(seed, client)
    raise ValueError(f"{kind!r} is not one of {', '.join(ARRIVALS)}")


def max_shortfall(scheduled: float, producers: int, kind: str) -> float:
    """Return how far the number of messages due in some seconds may be below ``scheduled``, the rate times the time.

    Fixed arrivals: one message per producer, as each begins at a random phase. Poisson arrivals: also four standard
    deviations, which a count falls short of in 3 of 100,000 cases.
    """
    return producers + (4 * max(scheduled, 0.0) ** 0.5 if kind == POISSON else 0.0)
