"""Records what was left on queues: every queue of every broker is browsed after the drain, dead-letter queues too."""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass

from drivers.contract import Destination, DriverError
from records import identity
from records.schemas import CANARY_PREFIX
from records.writer import Recorder
from scenarios.harness.run.browsing import Browser
from topologies.model.endpoints import Credentials, Endpoint
from topologies.model.topology import Topology

BROWSE_TIMEOUT_S = 60.0


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
        ours = (depth for queue, depth in depths.items() if not (self.has(queue) or queue.startswith(CANARY_PREFIX)))
        return sum(ours)

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
    recorder: Recorder,
    run_number: int,
    dead_letters: DeadLetterQueues,
    depths_after: Callable[[], Mapping[str, int]],
) -> list[str]:
    """Record the messages on one broker's queues. Returns a sentence for each queue that could not be read.

    ``depths_after``: the depths once more. Some messages expire because they are browsed, and are then elsewhere.
    """
    unknowns = []
    for queue, depth in sorted(depths.items()):
        if depth == 0 or queue.startswith(CANARY_PREFIX):
            continue
        try:
            found = browser.browse(endpoint, credentials, queue, timeout_s=BROWSE_TIMEOUT_S)
        except DriverError as error:
            unknowns.append(f"{endpoint.broker}: queue {queue} holds {depth} messages, browsing it failed: {error}")
            continue
        for message in found:
            reading = identity.read(message.body, run_number)
            recorder.leftover(
                endpoint.broker,
                queue,
                dead_letters.has(queue),
                reading.producer,
                reading.seq,
                reading.attempt,
                message.age_ns,
                queue in dead_letters.for_expired or (dead_letters.has(queue) and message.expired),
            )
        if len(found) < depth and len(found) < (depth := depths_after().get(queue, 0)):
            unknowns.append(f"{endpoint.broker}: queue {queue} holds {depth} messages, browsing showed {len(found)}")
    return unknowns
