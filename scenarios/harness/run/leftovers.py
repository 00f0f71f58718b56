"""Records what was left on queues: every queue of every broker is browsed after the drain, dead-letter queues too."""

from collections.abc import Callable, Collection, Mapping

from drivers.contract import Destination, DriverError
from records import identity
from records.schemas import CANARY_PREFIX
from records.writer import Recorder
from scenarios.harness.run.browsing import Browser
from topologies.model.endpoints import Credentials, Endpoint

BROWSE_TIMEOUT_S = 60.0


def is_dead_letter(queue: str) -> bool:
    """Whether ActiveMQ names dead-letter queues like this: shared ones by name, individual ones by prefix."""
    return queue in ("ActiveMQ.DLQ", "DLQ", "ExpiryQueue") or queue.startswith(("ActiveMQ.DLQ.", "DLQ."))


def is_for_expired(queue: str) -> bool:
    """Whether only messages whose time to live was over come there."""
    return queue == "ExpiryQueue"


def is_ours(queue: str) -> bool:
    """Whether messages on this queue wait for a consumer: neither dead letters nor canaries."""
    return not (is_dead_letter(queue) or queue.startswith(CANARY_PREFIX))


def of_run(depths: Mapping[str, int], destinations: Collection[str]) -> dict[str, int]:
    """The depths that concern a run on brokers of others: the queues of ``destinations``, and dead-letter queues.

    Other queues belong to others. If a message went to one of these by mistake, it is not found and counts as lost.
    """
    own = {parsed.name for parsed in map(Destination.parse, destinations) if parsed.kind == "queue"}
    return {queue: depth for queue, depth in depths.items() if queue in own or is_dead_letter(queue)}


def waiting(depths: Mapping[str, int]) -> int:
    """Messages that a consumer could still get, of one broker's queue depths."""
    return sum(depth for queue, depth in depths.items() if is_ours(queue))


def browse_broker(
    endpoint: Endpoint,
    depths: Mapping[str, int],
    browser: Browser,
    credentials: Credentials,
    recorder: Recorder,
    run_number: int,
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
                is_dead_letter(queue),
                reading.producer,
                reading.seq,
                reading.attempt,
                message.age_ns,
                is_for_expired(queue) or (is_dead_letter(queue) and message.expired),
            )
        if len(found) < depth and len(found) < (depth := depths_after().get(queue, 0)):
            unknowns.append(f"{endpoint.broker}: queue {queue} holds {depth} messages, browsing showed {len(found)}")
    return unknowns
