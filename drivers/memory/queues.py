"""The queues and topics of the brokers in memory.

A queue dispatches in order, to its subscribers in rotation, within the prefetch of each. A topic has a queue for each
subscription. Plain data without a lock: `drivers.memory.network` guards it.
"""

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from itertools import count

from drivers.contract import PLAIN, Destination, MessageHeaders, Refused, Subscription
from records.loads.selectors import Selector
from records.units import NS_PER_MS

EXPIRED = "ExpiryQueue"  # as Artemis names it


@dataclass(frozen=True)
class Stored:
    """A message as a broker stores it: where and when (ns) it entered the network.

    ``expired``: it is a dead letter, because its time to live was over.
    """

    body: bytes
    entered_at: str
    entered_ns: int
    headers: MessageHeaders = PLAIN
    expired: bool = False

    def is_over(self, now_ns: int) -> bool:
        """Whether its time to live is over. A dead letter lives forever."""
        live_ns = self.headers.time_to_live_ms * NS_PER_MS
        return 0 < live_ns <= now_ns - self.entered_ns and not self.expired


@dataclass(eq=False)
class Waiting:
    """A message in a queue; redelivered once a subscriber received it and did not acknowledge it."""

    stored: Stored
    redelivered: bool = False


@dataclass(eq=False)
class MemorySubscription:
    """One subscription of one connection. ``unacked``: messages that it received and did not acknowledge, oldest
    first."""

    source: "Queue"
    prefetch: int
    is_ready: Callable[[], bool]
    take: Callable[["MemorySubscription", int, Waiting], None]
    selector: Selector | None = None
    unacked: dict[int, Waiting] = field(default_factory=dict)

    def wants(self, waiting: Waiting) -> bool:
        """Whether it can receive this message now."""
        selected = self.selector is None or self.selector.matches(waiting.stored.headers.properties)
        return selected and len(self.unacked) < self.prefetch and self.is_ready()

    def acknowledge(self, number: int) -> None:
        if self.unacked.pop(number, None) is not None:
            self.source.dispatch()


_delivery_numbers = count(1)


@dataclass(eq=False)
class Queue:
    """Messages, and the subscribers that receive them in rotation. A topic has one queue for each subscription.

    ``bury`` receives each waiting message whose time to live, by ``clock``, is over.
    """

    clock: Callable[[], int]
    bury: Callable[[Stored], None]
    waiting: deque[Waiting] = field(default_factory=deque)
    takers: deque[MemorySubscription] = field(default_factory=deque)
    mortal: bool = False  # a message that may expire was here

    def put(self, stored: Stored) -> None:
        self.mortal = self.mortal or stored.headers.time_to_live_ms > 0
        self.waiting.append(Waiting(stored))
        self.dispatch()

    def dispatch(self) -> None:
        """Deliver waiting messages while a matching subscriber has room."""
        self._expire()
        unwanted: deque[Waiting] = deque()
        while self.waiting and any(len(taker.unacked) < taker.prefetch for taker in self.takers):
            waiting = self.waiting.popleft()
            taker = self._next_taker(waiting)
            if taker is None:
                unwanted.append(waiting)
                if not any(taker.selector for taker in self.takers):
                    break
                continue
            number = next(_delivery_numbers)
            taker.unacked[number] = waiting
            taker.take(taker, number, waiting)
        self.waiting.extendleft(reversed(unwanted))

    def _expire(self) -> None:
        """Remove expired messages. Brokers check waiting messages when they deliver, and when a client browses."""
        if not self.mortal:
            return
        now_ns = self.clock()
        over = [waiting.stored for waiting in self.waiting if waiting.stored.is_over(now_ns)]
        if over:
            self.waiting = deque(waiting for waiting in self.waiting if not waiting.stored.is_over(now_ns))
        for stored in over:
            self.bury(stored)

    def leave(self, taker: MemorySubscription) -> None:
        """Stop delivering to this subscriber. Its later acknowledgments still count."""
        if taker in self.takers:
            self.takers.remove(taker)

    def take_back(self, taker: MemorySubscription) -> None:
        """Put unacknowledged messages of the subscriber back at the front, marked as redelivered."""
        self.leave(taker)
        for waiting in reversed(taker.unacked.values()):
            waiting.redelivered = True
            self.waiting.appendleft(waiting)
        taker.unacked.clear()
        self.dispatch()

    def browse(self) -> list[Stored]:
        """Return all messages: delivered and unacknowledged, then waiting."""
        self._expire()
        unacked = [waiting for taker in self.takers for waiting in taker.unacked.values()]
        return [waiting.stored for waiting in (*unacked, *self.waiting)]

    def _next_taker(self, waiting: Waiting) -> MemorySubscription | None:
        for _ in range(len(self.takers)):
            taker = self.takers[0]
            self.takers.rotate(-1)
            if taker.wants(waiting):
                return taker
        return None


class MemoryDestinations:
    """The queues of a network, and its topics. Both are created by their first message or subscription.

    A message whose time to live is over goes to the queue `EXPIRED`.
    """

    def __init__(self, clock: Callable[[], int]) -> None:
        self._clock = clock
        self._queues: dict[str, Queue] = {}
        self._topics: dict[str, dict[str, Queue]] = {}
        self._topic_subscriptions = count(1)

    def deliver(self, destination: Destination, stored: Stored) -> None:
        if destination.kind == "queue":
            self._queue(destination.name).put(stored)
        else:
            for subscription in self._topics.get(destination.name, {}).values():
                subscription.put(stored)

    def source(self, client_id: str, subscription: Subscription) -> Queue:
        """Return the queue to receive from; on a topic the subscription's own. Raises `Refused` for a durable one in
        use."""
        destination = subscription.destination
        if destination.kind == "queue":
            return self._queue(destination.name)
        durable = subscription.durable_name
        own = f"{client_id}/{durable}" if durable else f"#{next(self._topic_subscriptions)}"
        source = self._topics.setdefault(destination.name, {}).setdefault(own, self._new_queue())
        if source.takers:
            raise Refused(f"durable subscription {own} of {destination} is in use")
        return source

    def _queue(self, name: str) -> Queue:
        return self._queues.setdefault(name, self._new_queue())

    def _new_queue(self) -> Queue:
        return Queue(self._clock, self._bury)

    def _bury(self, stored: Stored) -> None:
        self._queue(EXPIRED).put(replace(stored, expired=True))

    def end_unused(self) -> None:
        """End topic subscriptions without a consumer, unless they are durable."""
        for subscriptions in self._topics.values():
            for own in [own for own, source in subscriptions.items() if own.startswith("#") and not source.takers]:
                del subscriptions[own]

    def dispatch(self) -> None:
        """Dispatch the waiting messages of all queues."""
        for source in (*self._queues.values(), *(own for topic in self._topics.values() for own in topic.values())):
            source.dispatch()

    def browse(self, queue: str) -> list[Stored]:
        """Return the messages on a queue: delivered and not acknowledged, then waiting."""
        return self._queues[queue].browse() if queue in self._queues else []

    def depths(self) -> dict[str, int]:
        """Return the number of messages on each queue, including delivered and unacknowledged ones."""
        for queue in list(self._queues.values()):
            queue.browse()  # expired messages go to another queue
        return {name: len(queue.browse()) for name, queue in self._queues.items()}
