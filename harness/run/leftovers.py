"""Finds the messages that are left on brokers after the drain, including dead letters.

Queues are browsed one after the other. A message that crosses a link during this time can be missed: it can reach one
queue just after that queue was browsed, and leave another queue just before its turn. So all queues are browsed again
until a pass shows nothing new.

A durable subscriber that moved to another broker leaves a subscription behind. The broker shows the messages of this
subscription only to the subscriber. So a connection in the subscriber's name receives them without acknowledging them:
the broker keeps them.
"""

import logging
import re
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from drivers.contract import Browsed, Connector, Delivery, Destination, DriverError, Subscription
from harness.run.watch import BrowsingConnector
from records.loads import identity
from records.run import UserInfo
from records.store.writer import Recorder
from records.tables.schemas import CANARY_PREFIX, UNKNOWN
from topologies.model.endpoints import Credentials, Endpoint
from topologies.model.management import DurableSubscription, ManagementFailed
from topologies.model.topology import Topology

log = logging.getLogger("brokerbench")

BROWSE_TIMEOUT_S = 60.0

Copy = tuple[int, int, int]
"""One copy of a message: producer, seq, attempt."""


class Leftover(NamedTuple):
    """One message that was found: a row of the event table ``leftovers``."""

    broker: str
    queue: str
    dead_letter: bool
    producer: int
    seq: int
    attempt: int
    age_ns: int | None
    expired: bool

    @property
    def is_ours(self) -> bool:
        return self.producer != UNKNOWN

    @property
    def copy(self) -> Copy:
        return (self.producer, self.seq, self.attempt)


@dataclass(frozen=True)
class BrowseResult:
    """The result of browsing a queue once. ``leftovers``: None if the queue could not be browsed.

    ``doubt``: why the queue may have more messages; empty if it showed all.
    """

    queue: str
    leftovers: tuple[Leftover, ...] | None
    doubt: str = ""


@dataclass(frozen=True)
class DeadLetterQueues:
    """The queues of a run's brokers that have dead letters.

    ``names``: shared dead-letter queues; the names of individual ones begin with these names. ``for_expired``: queues
    that get only expired messages. Both include the products' default names, for external brokers. ``ordinary``: queues
    with these names to which the run itself sends.
    """

    names: frozenset[str] = frozenset({"ActiveMQ.DLQ", "DLQ"})
    for_expired: frozenset[str] = frozenset({"ExpiryQueue"})
    ordinary: frozenset[str] = frozenset()

    @classmethod
    def of(cls, topology: Topology, sent_to: Iterable[str] = ()) -> "DeadLetterQueues":
        """Add the names that a topology's brokers use. ``sent_to``: the destinations of producers."""
        dead = {name for broker in topology.brokers for name in broker.dead_letter_queues} | cls.names
        expired = cls.for_expired.union(*(broker.expiry_queues for broker in topology.brokers))
        return cls(frozenset(dead), expired - dead, queues_of(sent_to))

    def has(self, queue: str) -> bool:
        """Whether a queue has dead letters. ``DLQ.orders`` is an ordinary queue if the run's producers send to it."""
        if queue in self.ordinary:
            return False
        return queue in self.names | self.for_expired or any(queue.startswith(f"{name}.") for name in self.names)

    def waiting(self, depths: Mapping[str, int]) -> int:
        """Return the number of messages that consumers can still get on one broker: no dead letters, no canaries."""
        return sum(self.select_consumable(depths).values())

    def select_consumable(self, depths: Mapping[str, int]) -> dict[str, int]:
        """Return the depths of queues with messages that consumers can still get."""
        return {
            queue: depth for queue, depth in depths.items() if not (self.has(queue) or queue.startswith(CANARY_PREFIX))
        }

    def select_run_queues(
        self, depths: Mapping[str, int], destinations: Collection[str], subscribers: "Subscribers | None" = None
    ) -> dict[str, int]:
        """Return the depths of the queues that belong to a run on shared brokers.

        These are the queues of ``destinations``, dead-letter queues, and Artemis's queues for durable subscriptions of
        ``subscribers``. Other queues belong to other clients. A message that went to such a queue by mistake is not
        found, and counts as lost.
        """
        own, subscribers = queues_of(destinations), subscribers or NO_SUBSCRIBERS
        return {
            queue: depth
            for queue, depth in depths.items()
            if queue in own or self.has(queue) or subscribers.owns_queue(queue)
        }


def queues_of(destinations: Iterable[str]) -> frozenset[str]:
    """Return the names of the queues among these destinations."""
    return frozenset(parsed.name for parsed in map(Destination.parse, destinations) if parsed.kind == "queue")


def browse_broker(
    endpoint: Endpoint,
    depths: Mapping[str, int],
    browser: BrowsingConnector,
    credentials: Credentials,
    run_number: int,
    dead_letters: DeadLetterQueues,
    depths_after: Callable[[], Mapping[str, int]],
) -> Iterator[BrowseResult]:
    """Browse one broker's queues, except empty queues and queues of canaries.

    ``depths_after``: returns the current depths. Browsing makes some messages expire and leave the queue.
    """
    for queue, depth in sorted(depths.items()):
        if depth == 0 or queue.startswith(CANARY_PREFIX):
            continue
        holds = f"{endpoint.broker}: queue {queue} holds"
        try:
            shown = browser.browse(endpoint, credentials, queue, timeout_s=BROWSE_TIMEOUT_S)
        except DriverError as error:
            yield BrowseResult(queue, None, f"{holds} {depth} messages, browsing it failed: {error}")
            continue
        leftovers = tuple(_leftover(endpoint.broker, queue, message, run_number, dead_letters) for message in shown)
        depth = depth if len(leftovers) >= depth else _depth_after(queue, depth, depths_after)
        few = f"{holds} {depth} messages, browsing showed {len(leftovers)}"
        yield BrowseResult(queue, leftovers, few if len(leftovers) < depth else "")


def _depth_after(queue: str, before: int, depths_after: Callable[[], Mapping[str, int]]) -> int:
    """Return the current depth of a queue, or the depth before if the broker does not report it."""
    try:
        return depths_after().get(queue, 0)
    except ManagementFailed:
        return before


def _leftover(broker: str, queue: str, message: Browsed, run_number: int, dead_letters: DeadLetterQueues) -> Leftover:
    reading, dead = identity.read(message.body, run_number), dead_letters.has(queue)
    return Leftover(
        broker,
        queue,
        dead,
        reading.producer,
        reading.seq,
        reading.attempt,
        message.age_ns,
        queue in dead_letters.for_expired or (dead and message.expired),
    )


MOST_PASSES = 4
PAUSE_S = 1.0
"""Pause between two passes while messages move."""
STILL_MOVED = "messages still moved between brokers during the last look at their queues (number {})"


class Sightings:
    """The results of browsing so far."""

    def __init__(self) -> None:
        self._last: dict[tuple[str, str], tuple[Leftover, ...]] = {}  # latest results, by (broker, queue)
        self._gone: dict[tuple[str, Copy], Leftover] = {}  # seen on a queue (by name), but not in the latest result
        self._seen: set[Copy] = set()

    def queues(self, broker: str) -> list[str]:
        """Return the queues of a broker that were browsed."""
        return [queue for of_broker, queue in self._last if of_broker == broker]

    def take(self, broker: str, look: BrowseResult) -> bool:
        """Add a result. Return whether it has a message that was not on this queue before.

        A dead letter is new only if it was not seen on any queue before: otherwise it expired between two passes.
        """
        if look.leftovers is None:
            return False
        before = self._last.get((broker, look.queue), ())
        ours = [leftover for leftover in look.leftovers if leftover.is_ours]
        copies = Counter(leftover.copy for leftover in ours)
        arrived = copies - Counter(leftover.copy for leftover in before)
        moved_on = (leftover for leftover in before if leftover.is_ours and leftover.copy not in copies)
        self._gone |= {(look.queue, leftover.copy): leftover for leftover in moved_on}
        self._last[broker, look.queue] = look.leftovers
        dead = any(leftover.dead_letter for leftover in ours)
        is_new = not self._seen.issuperset(arrived) if dead else bool(arrived)
        self._seen.update(arrived)
        return is_new

    def leftovers(self) -> Iterator[Leftover]:
        """Yield each message where it was last seen; repeatedly if the latest results of several queues have it.

        A message that is in no latest result counts where it was seen before, unless a dead-letter queue or another
        broker's queue of the same name has it now.
        """
        last = [leftover for leftovers in self._last.values() for leftover in leftovers]
        queued = {(leftover.queue, leftover.copy) for leftover in last}
        dead = {leftover.copy for leftover in last if leftover.dead_letter}
        yield from last
        yield from (leftover for key, leftover in self._gone.items() if key not in queued and leftover.copy not in dead)


@dataclass(frozen=True)
class Pass:
    """The result of one pass over all queues.

    ``new``: a message is on a queue where it was not before. ``grew``: a queue grew after it was browsed.
    """

    new: bool
    grew: bool

    @property
    def moving(self) -> bool:
        return self.new or self.grew


class LeftoverSearch:
    """Searches all brokers for leftover messages."""

    def __init__(
        self,
        brokers: Sequence[str],
        depths: Callable[[str], Mapping[str, int]],
        look: Callable[[str, Mapping[str, int]], Iterable[BrowseResult]],
        dead_letters: DeadLetterQueues,
        *,
        linked: bool,
        again_within_s: float = BROWSE_TIMEOUT_S,
        pause_s: float = PAUSE_S,
    ) -> None:
        """Prepare a search.

        ``depths``: returns messages by queue for one broker; raises ManagementFailed. ``look``: browses one broker's
        queues with these depths, except empty ones. ``linked``: whether messages can cross between brokers; if not, one
        pass is enough. ``again_within_s``: the longest time from the begin of the first pass to the begin of the last.
        """
        self._brokers, self._depths, self._look, self._dead_letters = brokers, depths, look, dead_letters
        self._linked, self._again_within_s, self._pause_s = linked, again_within_s, pause_s
        self._sightings = Sightings()
        self._doubts: list[str] = []  # doubts of the latest pass

    def run(self) -> list[str]:
        """Browse all queues until a pass shows nothing new. Return sentences about messages that are not known."""
        until_s = time.monotonic() + self._again_within_s
        showed, passes = self._pass(), 1
        moving = showed.grew  # messages in the first pass are always new, so only growth means that they move
        while self._linked and showed.moving and passes < MOST_PASSES and time.monotonic() < until_s:
            if moving:
                time.sleep(self._pause_s)
            showed, passes = self._pass(), passes + 1
            moving = showed.moving
        if self._linked and moving:
            log.warning("%s", text := STILL_MOVED.format(passes))
            self._doubts.append(text)
        return list(dict.fromkeys(self._doubts))

    def leftovers(self) -> Iterator[Leftover]:
        """Yield every message that was found."""
        return self._sightings.leftovers()

    def _pass(self) -> Pass:
        """Browse all queues once.

        Dead-letter queues are last, because a message that expires during the pass moves there. By then the other
        queues have been counted again, so a message that moved between them is noticed at its new queue.
        """
        self._doubts = []
        has_new, grew = False, False
        counted: dict[str, Mapping[str, int] | None] = {}
        for broker in self._brokers:
            counted[broker] = self._count(broker)
            has_new |= self._browse(broker, counted[broker], dead=False)
        for broker in self._brokers:
            now = self._count(broker)
            grew |= self._grew(counted[broker], now)
            has_new |= self._browse(broker, now, dead=True)
        return Pass(has_new, grew)

    def _count(self, broker: str) -> Mapping[str, int] | None:
        """Return the depths of a broker's queues; None if the broker does not report them."""
        try:
            return self._depths(broker)
        except ManagementFailed as error:
            self._doubts.append(f"what is left on {broker} is not known: {error}")
            return None

    def _grew(self, before: Mapping[str, int] | None, now: Mapping[str, int] | None) -> bool:
        if before is None or now is None:
            return False
        return any(depth > before.get(queue, 0) for queue, depth in self._dead_letters.select_consumable(now).items())

    def _browse(self, broker: str, depths: Mapping[str, int] | None, *, dead: bool) -> bool:
        """Browse one broker's dead-letter queues, or all others. Return whether some message is new on its queue."""
        if depths is None:
            return False
        of_kind = {queue: depth for queue, depth in depths.items() if self._dead_letters.has(queue) is dead}
        looks = {look.queue: look for look in self._look(broker, of_kind)}
        self._doubts += [look.doubt for look in looks.values() if look.doubt]
        browsed_before = (queue for queue in self._sightings.queues(broker) if self._dead_letters.has(queue) is dead)
        emptied = [BrowseResult(queue, ()) for queue in browsed_before if queue not in looks]
        return any([self._sightings.take(broker, look) for look in (*looks.values(), *emptied)])


CONNECT_TIMEOUT_S = 10.0
NOTHING_MORE_S = 5.0
LOOK_EVERY_S = 0.1


@dataclass(frozen=True)
class Subscribers:
    """The user classes with durable subscriptions: (class, client group)."""

    classes: frozenset[tuple[str, str]] = frozenset()

    @classmethod
    def of(cls, users: Iterable[UserInfo]) -> "Subscribers":
        durable = (user for user in users if user.role == "consumer" and user.settings.get("durable"))
        return cls(frozenset((user.name, user.group) for user in durable if user.destination.startswith("topic://")))

    def owns_subscription(self, subscription: DurableSubscription) -> bool:
        """Whether a subscription belongs to these classes, by the names that `drivers.users` gives."""
        return any(
            re.fullmatch(rf"{re.escape(group)}-\d+", subscription.client_id)
            and re.fullmatch(
                rf"{re.escape(name)}-\d+(-.+)?", subscription.name
            )  # with the destination if the class has several
            for name, group in self.classes
        )

    def owns_queue(self, queue: str) -> bool:
        """Whether a queue belongs to a subscription of these classes:

        Artemis names it ``<client id>.<subscription>``.
        """
        return any(
            re.fullmatch(rf"{_perhaps_escaped(group)}-\d+\.{_perhaps_escaped(name)}-\d+(-.+)?", queue)
            for name, group in self.classes
        )


def _perhaps_escaped(part: str) -> str:
    """Return a pattern for a part of a queue's name: for some protocols Artemis writes a backslash before each dot."""
    return re.escape(part).replace(r"\.", r"\\?\.")


NO_SUBSCRIBERS = Subscribers()


@dataclass
class SearchDoubts:
    """Why messages of the run may be in a place that could not be searched.

    ``anywhere``: places where any message may be. ``unread``: durable subscriptions of the run's users, by their queue
    names; only their own messages may be there.
    """

    anywhere: list[str] = field(default_factory=list)
    unread: dict[str, str] = field(default_factory=dict)

    def add(self, doubt: str, own_queue: str) -> None:
        """Add a doubt about a durable subscription. ``own_queue``: '' if it belongs to a link or to another client."""
        if not own_queue:
            self.anywhere.append(doubt)
        else:
            self.unread[own_queue] = "; ".join(filter(None, (self.unread.get(own_queue), doubt)))

    def sentences(self) -> list[str]:
        return list(dict.fromkeys((*self.anywhere, *self.unread.values())))


def record_held(
    endpoint: Endpoint,
    held: DurableSubscription,
    connector: Connector,
    credentials: Credentials,
    recorder: Recorder,
    run_number: int,
) -> str:
    """Record the messages of one subscription. Return why not all are known; empty if all are."""
    taken: list[Delivery] = []
    to, about = Destination("topic", held.topic), f"{endpoint.broker}: durable subscription {held.name} of {held.topic}"
    wanted = Subscription(to, prefetch=held.waiting + 1, selector=held.selector, durable_name=held.name)
    try:
        connection = connector.connect(
            endpoint,
            credentials,
            client_id=held.client_id,
            timeout_s=CONNECT_TIMEOUT_S,
            on_settled=_ignore,
            on_lost=_ignore,
        )
        try:
            connection.subscribe(wanted, taken.append)
            _wait_for(held.waiting, lambda: len(taken))
        finally:
            connection.close()
    except (DriverError, ConnectionError) as error:
        return f"{about} holds {held.waiting} messages, reading them failed: {error}"
    for delivery in taken:
        reading = identity.read(delivery.body, run_number)
        recorder.leftover(endpoint.broker, held.queue, False, reading.producer, reading.seq, reading.attempt, None)
    return "" if len(taken) >= held.waiting else f"{about} holds {held.waiting} messages, and gave {len(taken)}"


def _wait_for(count: int, so_far: Callable[[], int]) -> None:
    """Wait until ``count`` messages have arrived, or no further messages arrive."""
    count_before, since_s = 0, time.monotonic()
    while (now := so_far()) < count and time.monotonic() - since_s < NOTHING_MORE_S:
        if now > count_before:
            count_before, since_s = now, time.monotonic()
        time.sleep(LOOK_EVERY_S)


def _ignore(*_: object) -> None:
    """Ignore events: nothing is sent, and after a lost connection messages are missing."""
