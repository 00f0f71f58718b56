"""The keys of ``recovery`` in summary.json: how long faults cut clients off, and what became of the messages."""

from collections.abc import Mapping
from typing import Any, TypedDict


class OutageSpread(TypedDict):
    """Milliseconds over clients that were cut off, or over moves. ``p50`` is one of them. Null: never, or none."""

    p50: float | None
    max: float | None


class Outages(TypedDict):
    """How long clients were cut off. ``cut_off``: how many lost their connection to a broker with a fault; those that
    share a connection count one by one.

    ``never_back``: of these, without a success until the end, though something was due to them or they were not ready
    again. A success is a confirmed send, a written one that nobody confirms, or a receipt. ``in_flight``: sends of
    these without an answer at the loss. ``outage_ms``: from the last success before the loss (at the earliest the
    fault's beginning) to the first one on the next connection; without one, and with nothing due, until it was ready
    (`back_ns`). ``reconnect_ms``: from the loss to the next connection. ``ready_ms``: from the loss until subscriptions
    and sends in doubt were restored there or later. ``nothing_due``: outages during which none of the client's messages
    was due. ``lost``, ``stranded``: acked messages sent before the fault was over.
    ``duplicated``: unmarked further deliveries after it began; ``redelivered``: deliveries with the broker's flag,
    ``reordered``: first deliveries after a later message, likewise. ``late``: first deliveries of messages due from its
    first second on that took longer than the p99 band of the seconds before it (`analysis.harm`); null without those.
    A message belongs to one fault at most. ``throughput_back_s``, ``p99_back_s``: from the fault until deliveries a
    second, and p99, were in their band again and stayed there (`analysis.disturbance`); null if they never were.
    ``backlog_highest``: the most messages that were due and not received, at the end of a second after the fault.
    ``backlog_drained_s``: from the fault until they were no more than before it (`analysis.backlog`); null likewise.
    ``drain_per_s``: deliveries a second from the highest backlog until then, of several faults the lowest.
    """

    cut_off: int
    never_back: int
    nothing_due: int
    in_flight: int
    outage_ms: OutageSpread
    producers_outage_ms: OutageSpread
    consumers_outage_ms: OutageSpread
    reconnect_ms: OutageSpread
    ready_ms: OutageSpread
    lost: int
    stranded: int
    duplicated: int
    redelivered: int
    reordered: int
    late: int | None
    throughput_back_s: float | None
    p99_back_s: float | None
    backlog_highest: int | None
    backlog_drained_s: float | None
    drain_per_s: float | None


class StrandedAt(TypedDict):
    """Messages that were left on one broker's queues. ``oldest_s``: how long the oldest was there; null: unknown."""

    broker: str
    messages: int
    oldest_s: float | None


class FaultRecovery(Outages):
    """What one fault did. ``fault``: F1, F2 … by their beginnings. Seconds count from the start of the load.

    ``effective_s``, ``restored_s``: when its effect was measured, and when its broker took logins again; null if not
    measured. ``clients``: those connected as it began. ``stranded_at``: its stranded messages by broker.
    """

    fault: str
    kind: str
    target: str
    began_s: float
    effective_s: float | None
    restored_s: float | None
    clients: int
    stranded_at: list[StrandedAt]


class Recovery(Outages):
    """What all faults of the run did together: counts added up, spreads over all outages."""

    faults: list[FaultRecovery]


def back_ns(outage: Mapping[str, Any]) -> int | None:
    """When the user of a row of the result table ``outages`` was back; None: never.

    A user without messages is back when it is connected. One that had no success, and nothing due either, is back when
    it is ready: its subscriptions are restored, and no send of it waits for an answer.
    """
    if not outage["role"]:
        return _whole(outage["connected_ns"])
    idle = outage["first_success_ns"] is None and outage["due"] == 0 and outage["in_flight"] == 0
    return _whole(outage["ready_ns"] if idle else outage["first_success_ns"])


def _whole(time_ns: Any) -> int | None:
    return None if time_ns is None else int(time_ns)
