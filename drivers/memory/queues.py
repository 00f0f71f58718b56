"""The queues of the brokers in memory: they dispatch in order, in turn, within each taker's prefetch.

Plain data without a lock of its own: `drivers.memory.network` guards it.
"""

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import count


@dataclass(frozen=True)
class Stored:
    """A message as a broker holds it: where and when (ns) it entered the network."""

    body: bytes
    entered_at: str
    entered_ns: int


@dataclass(eq=False)
class Waiting:
    """A message in a queue; redelivered once a taker had it and did not acknowledge it."""

    stored: Stored
    redelivered: bool = False


@dataclass(eq=False)
class Taker:
    """One subscription of one connection. ``unacked`` holds what it has and did not acknowledge, oldest first."""

    source: "Queue"
    prefetch: int
    is_ready: Callable[[], bool]
    take: Callable[["Taker", int, Waiting], None]
    unacked: dict[int, Waiting] = field(default_factory=dict)

    def acknowledge(self, number: int) -> None:
        if self.unacked.pop(number, None) is not None:
            self.source.dispatch()


_delivery_numbers = count(1)


@dataclass(eq=False)
class Queue:
    """Messages, and who takes them in turn. A topic has one of these for each subscription."""

    waiting: deque[Waiting] = field(default_factory=deque)
    takers: deque[Taker] = field(default_factory=deque)

    def put(self, stored: Stored) -> None:
        self.waiting.append(Waiting(stored))
        self.dispatch()

    def dispatch(self) -> None:
        """Deliver waiting messages while a consumer has room."""
        while self.waiting:
            taker = self._next_taker()
            if taker is None:
                return
            waiting, number = self.waiting.popleft(), next(_delivery_numbers)
            taker.unacked[number] = waiting
            taker.take(taker, number, waiting)

    def leave(self, taker: Taker) -> None:
        """No more for this taker; what it still acknowledges counts."""
        if taker in self.takers:
            self.takers.remove(taker)

    def take_back(self, taker: Taker) -> None:
        """Messages that the consumer did not acknowledge go to the front again, marked as redelivered."""
        self.leave(taker)
        for waiting in reversed(taker.unacked.values()):
            waiting.redelivered = True
            self.waiting.appendleft(waiting)
        taker.unacked.clear()
        self.dispatch()

    def browse(self) -> list[Stored]:
        """All messages: with takers, unacknowledged, and waiting."""
        unacked = [waiting for taker in self.takers for waiting in taker.unacked.values()]
        return [waiting.stored for waiting in (*unacked, *self.waiting)]

    def _next_taker(self) -> Taker | None:
        for _ in range(len(self.takers)):
            taker = self.takers[0]
            self.takers.rotate(-1)
            if len(taker.unacked) < taker.prefetch and taker.is_ready():
                return taker
        return None
