"""A network of brokers in memory, whose faults a test controls one by one.

    producer ─► broker a ─┐                        ┌─ broker a ─► consumer (0 hops)
                          ├─ queues of the network ┤
    producer ─► broker b ─┘                        └─ broker b ─► consumer (1 hop for what entered at a)

All brokers share their queues and topics, as if every message were stored and forwarded (after ``delivery_delay_s``). A
broker can be killed, frozen and restored; chosen messages can be dropped, duplicated, held back or corrupted; logins
and destinations can be refused. Tests plant known faults with these controls, and check that the measuring code finds
exactly these faults.

One lock guards everything. Under the lock connections only receive callbacks; they run them on their own threads.
"""

import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Protocol

from drivers.contract import ConnectFailed, Destination, Outcome, Outgoing, Refused, Subscription
from drivers.memory.queues import MemoryDestinations, MemorySubscription, Stored, Waiting
from records.errors import UserError
from records.loads.selectors import Selector, parse
from records.units import NS_PER_S
from topologies.model.endpoints import Credentials, Endpoint


class Tampering(StrEnum):
    """The change that the network makes to a chosen message after it has confirmed it."""

    DROP = "drop"
    DUPLICATE = "duplicate"
    HOLD_BACK = "hold back"  # delivered after the next message
    CORRUPT = "corrupt"  # the last byte of the body is flipped


class Member(Protocol):
    """The methods of a connection that the network uses. All of them return at once."""

    broker: str
    client_id: str
    takers: list[MemorySubscription]

    def is_open(self) -> bool: ...
    def answer(self, token: object, outcome: Outcome, reason: str) -> None: ...
    def drop(self, reason: str) -> None: ...


@dataclass
class _Broker:
    alive: bool = True
    frozen: bool = False
    refuses_logins: bool = False
    holds_answers: bool = False
    members: list[Member] = field(default_factory=list)
    unread: list[tuple[Member, Callable[[], None]]] = field(default_factory=list)  # written while the broker was frozen


class MemoryNetwork:
    """The brokers of one network, by name, and the controls of a test. Safe from any thread."""

    def __init__(
        self,
        brokers: Iterable[str],
        *,
        credentials: Credentials | None = None,
        delivery_delay_s: float = 0.0,
        most_per_s: float | None = None,
        clock: Callable[[], int] = time.perf_counter_ns,
    ) -> None:
        self.clock = clock
        self._credentials = credentials
        self._changed = threading.Condition(threading.RLock())
        self._brokers = {name: _Broker() for name in brokers}
        self._places = MemoryDestinations(clock)
        self._tamperer = Tamperer()
        self._delivery = DelayedDelivery(delivery_delay_s, most_per_s, self._changed, clock, self._places.deliver)
        self._refused: set[str] = set()

    def endpoint(self, broker: str) -> Endpoint:
        """Return the endpoint ``memory://NAME``. Raises KeyError for an unknown broker."""
        self._broker(broker)
        return Endpoint(broker, "memory", f"memory://{broker}")

    # Controls: faults of brokers.

    def kill(self, broker: str) -> None:
        """Lose every connection at once; sends without an answer never get one. The network keeps messages."""
        with self._changed:
            state = self._broker(broker)
            state.alive, members = False, list(state.members)
            state.unread.clear()
            for member in members:
                member.drop(f"broker {broker} was killed")
            for member in members:
                self._remove(member)
            self._changed.notify_all()

    def restore(self, broker: str) -> None:
        """Make the killed broker accept connections again."""
        with self._changed:
            state = self._broker(broker)
            state.alive, state.frozen, state.holds_answers = True, False, False
            self._changed.notify_all()

    def freeze(self, broker: str) -> None:
        """Stop the broker: connections stay open, nothing is read, answered or delivered."""
        with self._changed:
            self._broker(broker).frozen = True

    def thaw(self, broker: str) -> None:
        """Continue the frozen broker, which handles everything written to it in the meantime."""
        with self._changed:
            state = self._broker(broker)
            state.frozen, unread = False, list(state.unread)
            state.unread.clear()
            for member, read in unread:
                if member.is_open():
                    read()
            self._places.dispatch()
            self._changed.notify_all()

    def hold_answers(self, broker: str) -> None:
        """Store messages but send no answers until the broker is restored: in doubt, although they arrived."""
        with self._changed:
            self._broker(broker).holds_answers = True

    def refuse_logins(self, broker: str, *, refuse: bool = True) -> None:
        with self._changed:
            self._broker(broker).refuses_logins = refuse

    # Controls: the handling of single messages, and the present state.

    def refuse(self, destination: str) -> None:
        """Make sends to ``queue://x`` or ``topic://x`` fail, and reject subscriptions to it."""
        with self._changed:
            self._refused.add(str(Destination.parse(destination)))

    def tamper(self, tampering: Tampering, destination: str, nth: int) -> None:
        """Apply the tampering to the nth message (1, 2 …, resends included) that any broker accepts for
        ``destination``."""
        with self._changed:
            self._tamperer.plan(tampering, str(Destination.parse(destination)), nth)

    def browse(self, queue: str) -> list[Stored]:
        """Return the messages on a queue: delivered and not acknowledged, then waiting."""
        with self._changed:
            return self._places.browse(queue)

    def depths(self) -> dict[str, int]:
        """Return the number of messages on each queue, including delivered and unacknowledged ones."""
        with self._changed:
            return self._places.depths()

    def connections(self, broker: str) -> int:
        """Return how many connections a broker has."""
        with self._changed:
            return len(self._broker(broker).members)

    def close(self) -> None:
        """Kill every broker and stop the threads."""
        with self._changed:
            self._delivery.close()
            for broker in self._brokers:
                self.kill(broker)

    # The calls of connections.

    def log_in(self, member: Member, credentials: Credentials, timeout_s: float) -> None:
        """Add a connection to its broker. Raises ConnectFailed or Refused."""
        name = member.broker
        with self._changed:
            state = self._brokers.get(name)
            if state is None:
                raise ConnectFailed(f"no broker {name!r} in memory: there are {', '.join(self._brokers)}")
            if not self._changed.wait_for(lambda: not (state.alive and state.frozen), timeout_s):
                raise ConnectFailed(f"broker {name} did not answer within {timeout_s} s")
            if not state.alive:
                raise ConnectFailed(f"broker {name} is not running: connection refused")
            if state.refuses_logins or self._credentials not in (None, credentials):
                raise Refused(f"broker {name}: user name or password is wrong")
            state.members.append(member)

    def take(self, member: Member, message: Outgoing) -> int:
        """Accept a message written to a connection; return when (ns). ConnectionError if the connection is gone."""
        with self._changed:
            self._require_open(member)
            sent_ns = self.clock()
            self._read_soon(member, lambda: self._accept(member, message))
            return sent_ns

    def commit(self, member: Member, messages: Sequence[Outgoing], answer: Callable[[Outcome, str], None]) -> None:
        """Commit messages of a transaction; ``answer`` gets the outcome of all. ConnectionError if the connection is
        gone."""
        with self._changed:
            self._require_open(member)
            self._read_soon(member, lambda: self._accept_together(member, messages, answer))

    def subscribe(
        self, member: Member, subscription: Subscription, take: Callable[[MemorySubscription, int, Waiting], None]
    ) -> int:
        """Add a subscriber; waits while the broker is frozen. Raises `Refused`, or ConnectionError if it is killed."""
        state = self._broker(member.broker)
        with self._changed:
            self._changed.wait_for(lambda: not (state.frozen and member.is_open()))
            self._require_open(member)
            selector = self._refuse_subscription(member, subscription)
            source = self._places.source(member.client_id, subscription)
            taker = MemorySubscription(source, subscription.prefetch, lambda: not state.frozen, take, selector)
            source.takers.append(taker)
            member.takers.append(taker)
            began_ns = self.clock()
            source.dispatch()
            return began_ns

    def acknowledge(self, member: Member, taker: MemorySubscription, number: int) -> None:
        """Acknowledge. Lost with the connection, because the broker would never read it."""
        with self._changed:
            if member.is_open():
                self._read_soon(member, lambda: taker.acknowledge(number))

    def stop_delivering(self, member: Member) -> None:
        """Close the connection's deliveries: all its writes are read, and it gets nothing else. Waits while
        frozen."""
        state = self._broker(member.broker)
        with self._changed:
            self._changed.wait_for(lambda: not (state.frozen and member.is_open()))
            for taker in member.takers:
                taker.source.leave(taker)

    def log_out(self, member: Member) -> None:
        """Remove a connection from its broker."""
        with self._changed:
            self._remove(member)

    # Inside; the lock is held.

    def _broker(self, name: str) -> _Broker:
        try:
            return self._brokers[name]
        except KeyError:
            raise KeyError(f"no broker {name!r} in this network: there are {', '.join(self._brokers)}") from None

    def _require_open(self, member: Member) -> None:
        if not member.is_open():
            raise ConnectionError(f"the connection to {member.broker} is gone")

    def _read_soon(self, member: Member, read: Callable[[], None]) -> None:
        state = self._brokers[member.broker]
        if state.frozen:
            state.unread.append((member, read))
        else:
            read()

    def _accept(self, member: Member, message: Outgoing) -> None:
        destination = str(message.destination)
        refused = destination in self._refused
        if message.durable and not self._brokers[member.broker].holds_answers:
            reason = f"broker {member.broker} accepts no messages for {destination}" if refused else ""
            member.answer(message.token, Outcome.FAILED if refused else Outcome.ACKED, reason)
        if not refused:
            self._store(member, message)

    def _accept_together(
        self, member: Member, messages: Sequence[Outgoing], answer: Callable[[Outcome, str], None]
    ) -> None:
        """Accept all messages, or none if one goes to a refused destination."""
        refused = sorted({str(message.destination) for message in messages} & self._refused)
        if not self._brokers[member.broker].holds_answers:
            reason = f"broker {member.broker} accepts no messages for {', '.join(refused)}" if refused else ""
            answer(Outcome.FAILED if refused else Outcome.ACKED, reason)
        for message in messages if not refused else ():
            self._store(member, message)

    def _store(self, member: Member, message: Outgoing) -> None:
        stored = Stored(message.body, member.broker, self.clock(), message.headers)
        for copy in self._tamperer.passed(str(message.destination), stored):
            self._delivery.forward(message.destination, copy)

    def _refuse_subscription(self, member: Member, subscription: Subscription) -> Selector | None:
        """Return its selector, if it has one. Raises `Refused`."""
        if str(subscription.destination) in self._refused:
            raise Refused(f"broker {member.broker} refuses subscriptions to {subscription.destination}")
        try:
            return parse(subscription.selector) if subscription.selector else None
        except UserError as error:
            raise Refused(f"broker {member.broker}: {error}") from error

    def _remove(self, member: Member) -> None:
        """Take back unacknowledged messages; its topic subscriptions end unless they are durable."""
        members = self._brokers[member.broker].members
        if member in members:
            members.remove(member)
        for taker in member.takers:
            taker.source.take_back(taker)
        self._places.end_unused()
        member.takers.clear()


class Tamperer:
    """Counts accepted messages by destination (``queue://x``), and applies the planned tampering to the chosen ones."""

    def __init__(self) -> None:
        self._planned: dict[tuple[str, int], Tampering] = {}
        self._accepted: Counter[str] = Counter()
        self._held_back: dict[str, list[Stored]] = {}

    def plan(self, tampering: Tampering, destination: str, nth: int) -> None:
        """Apply the tampering to the nth message (1, 2 …) for ``destination``."""
        self._planned[destination, nth] = tampering

    def passed(self, destination: str, stored: Stored) -> list[Stored]:
        """Return the messages that continue in place of an incoming message."""
        self._accepted[destination] += 1
        tampering = self._planned.get((destination, self._accepted[destination]))
        if tampering is Tampering.DROP:
            return []
        if tampering is Tampering.HOLD_BACK:
            self._held_back.setdefault(destination, []).append(stored)
            return []
        if tampering is Tampering.CORRUPT:
            flipped = stored.body[:-1] + bytes([stored.body[-1] ^ 0xFF])
            stored = replace(stored, body=flipped)
        copies = 2 if tampering is Tampering.DUPLICATE else 1
        return [stored] * copies + self._held_back.pop(destination, [])


class DelayedDelivery:
    """Calls ``deliver`` later, on its own thread, or at once if there is neither delay nor limit.

    ``most_per_s``: limit of a slow broker in messages per second; None: no limit. ``changed`` is the lock of the
    network: it is held when a method is called, and when ``deliver`` is.
    """

    def __init__(
        self,
        delay_s: float,
        most_per_s: float | None,
        changed: threading.Condition,
        clock: Callable[[], int],
        deliver: Callable[[Destination, Stored], None],
    ) -> None:
        self._delay_ns = int(delay_s * NS_PER_S)
        self._apart_ns = int(NS_PER_S / most_per_s) if most_per_s else 0
        self._last_ns = 0
        self._changed = changed
        self._clock = clock
        self._deliver = deliver
        self._delayed: deque[tuple[int, Destination, Stored]] = deque()
        self._postman: threading.Thread | None = None
        self._closed = False

    def forward(self, destination: Destination, stored: Stored) -> None:
        if not self._delay_ns and not self._apart_ns:
            return self._deliver(destination, stored)
        self._last_ns = max(self._clock() + self._delay_ns, self._last_ns + self._apart_ns)
        self._delayed.append((self._last_ns, destination, stored))
        if self._postman is None:
            self._postman = threading.Thread(target=self._deliver_delayed, name="memory-network", daemon=True)
            self._postman.start()
        return self._changed.notify_all()

    def close(self) -> None:
        """End the thread with the next change. Messages that are not delivered by then never are."""
        self._closed = True

    def _deliver_delayed(self) -> None:
        with self._changed:
            while not self._closed:
                early_ns = self._delayed[0][0] - self._clock() if self._delayed else None
                if early_ns is None or early_ns > 0:
                    self._changed.wait(None if early_ns is None else early_ns / NS_PER_S)
                else:
                    _, destination, stored = self._delayed.popleft()
                    self._deliver(destination, stored)
