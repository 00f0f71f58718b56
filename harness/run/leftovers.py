"""Finds the messages that are left on the brokers after the drain, dead letters too.

Queues are browsed one after another. A message that crosses a link meanwhile may leave one broker before the look
there, and come to the other after the look there. Then no look shows it, though it is on a queue. So all queues are
browsed again until a pass shows nothing new.

A durable subscriber that went on at another broker leaves a subscription behind. A broker shows its messages to nobody
but the subscriber. So a connection in the subscriber's name takes them and acknowledges none: the broker keeps them.
"""

import logging
import re
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from drivers.contract import Browsed, Connector, Delivery, Destination, DriverError, Subscription
from harness.run.watch import BrowsingConnector
from records import identity
from records.run import UserInfo
from records.schemas import CANARY_PREFIX, UNKNOWN
from records.writer import Recorder
from topologies.management.contract import DurableSubscription
from topologies.management.jolokia import ManagementFailed
from topologies.model.endpoints import Credentials, Endpoint
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
    """What one look at a queue showed. ``leftovers``: None if it could not be browsed.

    ``doubt``: why it may hold other messages too; '' if it showed all.
    """

    queue: str
    leftovers: tuple[Leftover, ...] | None
    doubt: str = ""


@dataclass(frozen=True)
class DeadLetterQueues:
    """Which queues of a run's brokers hold dead letters. ``names``: shared ones; individual ones begin with them.

    ``for_expired``: where only messages come whose time to live was over. Both have the names that the products give
    them, as brokers that run already have these. ``ordinary``: queues with such names to which the run itself sends.
    """

    names: frozenset[str] = frozenset({"ActiveMQ.DLQ", "DLQ"})
    for_expired: frozenset[str] = frozenset({"ExpiryQueue"})
    ordinary: frozenset[str] = frozenset()

    @classmethod
    def of(cls, topology: Topology, sent_to: Iterable[str] = ()) -> "DeadLetterQueues":
        """With the names that the brokers of a topology give them. ``sent_to``: the destinations of producers."""
        dead = {name for broker in topology.brokers for name in broker.dead_letter_queues} | cls.names
        expired = cls.for_expired.union(*(broker.expiry_queues for broker in topology.brokers))
        return cls(frozenset(dead), expired - dead, queues_of(sent_to))

    def has(self, queue: str) -> bool:
        """Whether it holds dead letters. ``DLQ.orders`` does not if the run's producers send to it."""
        if queue in self.ordinary:
            return False
        return queue in self.names | self.for_expired or any(queue.startswith(f"{name}.") for name in self.names)

    def waiting(self, depths: Mapping[str, int]) -> int:
        """Messages that a consumer could still get, of one broker's queue depths: neither dead letters nor canaries."""
        return sum(self.to_be_consumed(depths).values())

    def to_be_consumed(self, depths: Mapping[str, int]) -> dict[str, int]:
        """The depths of queues whose messages a consumer could still get."""
        return {
            queue: depth for queue, depth in depths.items() if not (self.has(queue) or queue.startswith(CANARY_PREFIX))
        }

    def and_of_run(
        self, depths: Mapping[str, int], destinations: Collection[str], subscribers: "Subscribers | None" = None
    ) -> dict[str, int]:
        """The depths that concern a run on brokers of others.

        These are the queues of ``destinations``, dead-letter queues, and the queues that Artemis has for durable
        subscriptions of ``subscribers``. Other queues belong to others. If a message went to one of these by mistake,
        it is not found and counts as lost.
        """
        own, subscribers = queues_of(destinations), subscribers or NO_SUBSCRIBERS
        return {
            queue: depth
            for queue, depth in depths.items()
            if queue in own or self.has(queue) or subscribers.have_queue(queue)
        }


def queues_of(destinations: Iterable[str]) -> frozenset[str]:
    """The names of the queues among destinations."""
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
    """Browses one broker's queues, except empty ones and those of canaries.

    ``depths_after``: the depths once more. Some messages expire because they are browsed, and are then elsewhere.
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
    """How many messages it holds now; as before if the broker does not say."""
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
"""Between two passes while messages move."""
STILL_MOVED = "messages still moved between brokers during the last look at their queues (number {})"


class Sightings:
    """What the looks at queues showed so far."""

    def __init__(self) -> None:
        self._last: dict[tuple[str, str], tuple[Leftover, ...]] = {}  # the last look at each queue, by (broker, queue)
        self._gone: dict[tuple[str, Copy], Leftover] = {}  # seen on a queue (by name), and not in the last look there
        self._seen: set[Copy] = set()

    def queues(self, broker: str) -> list[str]:
        """The queues of a broker that were browsed."""
        return [queue for of_broker, queue in self._last if of_broker == broker]

    def take(self, broker: str, look: BrowseResult) -> bool:
        """Take one look at a queue. Whether it shows a message that was not on this queue before.

        A dead letter is new only if it was seen nowhere before: otherwise it has only expired meanwhile.
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
        """Each message where it was last seen: several times if several queues held it in the last looks.

        A message that the last looks do not show counts where it was seen before. It does not if another broker's queue
        of the same name has it now, or a dead-letter queue.
        """
        last = [leftover for leftovers in self._last.values() for leftover in leftovers]
        queued = {(leftover.queue, leftover.copy) for leftover in last}
        dead = {leftover.copy for leftover in last if leftover.dead_letter}
        yield from last
        yield from (leftover for key, leftover in self._gone.items() if key not in queued and leftover.copy not in dead)


@dataclass(frozen=True)
class Pass:
    """What one pass showed.

    ``new``: a message on a queue where it was not before. ``grew``: a queue holds more than when it was browsed.
    """

    new: bool
    grew: bool

    @property
    def moving(self) -> bool:
        return self.new or self.grew


class LeftoverSearch:
    """One search of all brokers."""

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
        """``depths``: messages by queue of one broker; raises ManagementFailed. ``look``: browses the queues of one
        broker that have these depths, except empty ones. ``linked``: whether messages can cross between brokers; if
        not, one pass is enough. ``again_within_s``: no pass begins later than so long after the first.
        """
        self._brokers, self._depths, self._look, self._dead_letters = brokers, depths, look, dead_letters
        self._linked, self._again_within_s, self._pause_s = linked, again_within_s, pause_s
        self._sightings = Sightings()
        self._doubts: list[str] = []  # of the last pass

    def run(self) -> list[str]:
        """Look until a pass shows nothing new. Returns what could not be established."""
        until_s = time.monotonic() + self._again_within_s
        showed, passes = self._pass(), 1
        moving = showed.grew  # that the first pass shows messages does not mean that they move
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
        """Every message that was found."""
        return self._sightings.leftovers()

    def _pass(self) -> Pass:
        """Look at all queues once.

        Dead letters last: a message that expires meanwhile goes there from another queue. By then the other queues
        are counted again, so a message that none of them showed is noticed where it came to.
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
        """The depths of its queues; None if it does not say."""
        try:
            return self._depths(broker)
        except ManagementFailed as error:
            self._doubts.append(f"what is left on {broker} is not known: {error}")
            return None

    def _grew(self, before: Mapping[str, int] | None, now: Mapping[str, int] | None) -> bool:
        if before is None or now is None:
            return False
        return any(depth > before.get(queue, 0) for queue, depth in self._dead_letters.to_be_consumed(now).items())

    def _browse(self, broker: str, depths: Mapping[str, int] | None, *, dead: bool) -> bool:
        """Look at the dead-letter queues of one broker, or at its other ones. Whether a message is new there."""
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
    """The classes of a run's users that have durable subscriptions: (class, client group)."""

    classes: frozenset[tuple[str, str]] = frozenset()

    @classmethod
    def of(cls, users: Iterable[UserInfo]) -> "Subscribers":
        durable = (user for user in users if user.role == "consumer" and user.settings.get("durable"))
        return cls(frozenset((user.name, user.group) for user in durable if user.destination.startswith("topic://")))

    def have(self, subscription: DurableSubscription) -> bool:
        """Whether it is one of theirs: as `drivers.users` names client and subscription."""
        return any(
            re.fullmatch(rf"{re.escape(group)}-\d+", subscription.client_id)
            and re.fullmatch(
                rf"{re.escape(name)}-\d+(-.+)?", subscription.name
            )  # with its destination, if one of several
            for name, group in self.classes
        )

    def have_queue(self, queue: str) -> bool:
        """Whether it is the queue of one of their subscriptions: Artemis has ``<client id>.<subscription>``."""
        return any(
            re.fullmatch(rf"{_perhaps_escaped(group)}-\d+\.{_perhaps_escaped(name)}-\d+(-.+)?", queue)
            for name, group in self.classes
        )


def _perhaps_escaped(part: str) -> str:
    """A pattern for a part of a queue's name: for some protocols Artemis writes a backslash before each dot."""
    return re.escape(part).replace(r"\.", r"\\?\.")


NO_SUBSCRIBERS = Subscribers()


def record_held(
    endpoint: Endpoint,
    held: DurableSubscription,
    connector: Connector,
    credentials: Credentials,
    recorder: Recorder,
    run_number: int,
) -> str:
    """Record the messages of one subscription. Returns why they are not all known; '' if they are."""
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
    """Until there are so many, or no more come."""
    count_before, since_s = 0, time.monotonic()
    while (now := so_far()) < count and time.monotonic() - since_s < NOTHING_MORE_S:
        if now > count_before:
            count_before, since_s = now, time.monotonic()
        time.sleep(LOOK_EVERY_S)


def _ignore(*_: object) -> None:
    """Nothing is sent, and a connection that is lost shows by what is missing."""
