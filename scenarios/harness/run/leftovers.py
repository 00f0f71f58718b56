"""Finds what was left on the queues of one broker, dead-letter queues too. `leftover_search` goes over all brokers."""

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from drivers.contract import Browsed, Destination, DriverError
from records import identity
from records.schemas import CANARY_PREFIX, UNKNOWN
from scenarios.harness.run.browsing import Browser
from topologies.management.jolokia import ManagementFailed
from topologies.model.endpoints import Credentials, Endpoint
from topologies.model.topology import Topology

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
class Look:
    """What one look at a queue showed. ``found``: None if it could not be browsed.

    ``doubt``: why it may hold other messages too; '' if it showed all.
    """

    queue: str
    found: tuple[Leftover, ...] | None
    doubt: str = ""


@dataclass(frozen=True)
class DeadLetterQueues:
    """Which queues of a run's brokers hold dead letters. ``names``: shared ones; individual ones begin with them.

    ``for_expired``: where only messages come whose time to live was over. Both have the names that the products give
    them, as brokers that run already have these.
    """

    names: frozenset[str] = frozenset({"ActiveMQ.DLQ", "DLQ"})
    for_expired: frozenset[str] = frozenset({"ExpiryQueue"})

    @classmethod
    def of(cls, topology: Topology) -> "DeadLetterQueues":
        """With the names that the brokers of a topology give them."""
        dead = {name for broker in topology.brokers for name in broker.dead_letter_queues} | cls.names
        return cls(frozenset(dead), cls.for_expired.union(*(each.expiry_queues for each in topology.brokers)) - dead)

    def has(self, queue: str) -> bool:
        """Whether it holds dead letters."""
        return queue in self.names | self.for_expired or any(queue.startswith(f"{name}.") for name in self.names)

    def waiting(self, depths: Mapping[str, int]) -> int:
        """Messages that a consumer could still get, of one broker's queue depths: neither dead letters nor canaries."""
        return sum(self.to_be_consumed(depths).values())

    def to_be_consumed(self, depths: Mapping[str, int]) -> dict[str, int]:
        """The depths of queues whose messages a consumer could still get."""
        return {
            queue: depth for queue, depth in depths.items() if not (self.has(queue) or queue.startswith(CANARY_PREFIX))
        }

    def and_of_run(self, depths: Mapping[str, int], destinations: Collection[str]) -> dict[str, int]:
        """The depths that concern a run on brokers of others: the queues of ``destinations``, and dead-letter queues.

        Other queues belong to others. If a message went to one of these by mistake, it is not found and counts as lost.
        """
        own = {parsed.name for parsed in map(Destination.parse, destinations) if parsed.kind == "queue"}
        return {queue: depth for queue, depth in depths.items() if queue in own or self.has(queue)}


def browse_broker(
    endpoint: Endpoint,
    depths: Mapping[str, int],
    browser: Browser,
    credentials: Credentials,
    run_number: int,
    dead_letters: DeadLetterQueues,
    depths_after: Callable[[], Mapping[str, int]],
) -> Iterator[Look]:
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
            yield Look(queue, None, f"{holds} {depth} messages, browsing it failed: {error}")
            continue
        found = tuple(_leftover(endpoint.broker, queue, message, run_number, dead_letters) for message in shown)
        depth = depth if len(found) >= depth else _depth_after(queue, depth, depths_after)
        few = f"{holds} {depth} messages, browsing showed {len(found)}"
        yield Look(queue, found, few if len(found) < depth else "")


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
