"""The queues of the brokers in memory: they dispatch in order, in turn, within each taker's prefetch.

Plain data without a lock of its own: `drivers.memory.network` guards it.
"""

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import count

from drivers.contract import PLAIN, MessageHeaders
from records.selectors import Selector
from records.units import NS_PER_MS


@dataclass(frozen=True)
class Stored:
    """A message as a broker holds it: where and when (ns) it entered the network.

    ``expired``: it is a dead letter, as its time to live was over.
    """

    body: bytes
    entered_at: str
    entered_ns: int
    headers: MessageHeaders = PLAIN
    expired: bool = False

    def is_over(self, now_ns: int) -> bool:
        """Whether its time to live is over. A dead letter lives for ever."""
        live_ns = self.headers.time_to_live_ms * NS_PER_MS
        return 0 < live_ns <= now_ns - self.entered_ns and not self.expired


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
    selector: Selector | None = None
    unacked: dict[int, Waiting] = field(default_factory=dict)

    def wants(self, waiting: Waiting) -> bool:
        """Whether it can take this message now."""
        selected = self.selector is None or self.selector.matches(waiting.stored.headers.properties)
        return selected and len(self.unacked) < self.prefetch and self.is_ready()

    def acknowledge(self, number: int) -> None:
        if self.unacked.pop(number, None) is not None:
            self.source.dispatch()


_delivery_numbers = count(1)


@dataclass(eq=False)
class Queue:
    """Messages, and who takes them in turn. A topic has one of these for each subscription.

    ``bury`` gets each waiting message whose time to live is over; ``clock`` tells that.
    """

    clock: Callable[[], int]
    bury: Callable[[Stored], None]
    waiting: deque[Waiting] = field(default_factory=deque)
    takers: deque[Taker] = field(default_factory=deque)
    mortal: bool = False  # a message that may expire was here

    def put(self, stored: Stored) -> None:
        self.mortal = self.mortal or stored.headers.time_to_live_ms > 0
        self.waiting.append(Waiting(stored))
        self.dispatch()

    def dispatch(self) -> None:
        """Deliver waiting messages while a consumer that wants them has room."""
        self._expire()
        kept: deque[Waiting] = deque()
        while self.waiting and any(len(taker.unacked) < taker.prefetch for taker in self.takers):
            waiting = self.waiting.popleft()
            taker = self._next_taker(waiting)
            if taker is None:
                kept.append(waiting)
                if not any(taker.selector for taker in self.takers):
                    break
                continue
            number = next(_delivery_numbers)
            taker.unacked[number] = waiting
            taker.take(taker, number, waiting)
        self.waiting.extendleft(reversed(kept))

    def _expire(self) -> None:
        """Brokers look at what waits when they deliver, and when somebody browses."""
        if not self.mortal:
            return
        now_ns = self.clock()
        over = [waiting.stored for waiting in self.waiting if waiting.stored.is_over(now_ns)]
        if over:
            self.waiting = deque(waiting for waiting in self.waiting if not waiting.stored.is_over(now_ns))
        for stored in over:
            self.bury(stored)

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
        self._expire()
        unacked = [waiting for taker in self.takers for waiting in taker.unacked.values()]
        return [waiting.stored for waiting in (*unacked, *self.waiting)]

    def _next_taker(self, waiting: Waiting) -> Taker | None:
        for _ in range(len(self.takers)):
            taker = self.takers[0]
            self.takers.rotate(-1)
            if taker.wants(waiting):
                return taker
        return None
