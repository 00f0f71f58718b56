"""The schemas of the event tables.

Raw events are the truth: one row for every send attempt, receipt, connection change, fault, leftover, broker sample and
stall of a load generator. Nothing is averaged or bucketed before the analysis. Times are nanoseconds of the recording
host's monotonic clock (``time.perf_counter_ns``), signed, never clamped; ``run.json`` relates them to wall time.

A *client number* names one user of one run, or a connection that does not belong to one user (see docs/events.md):
``process index * CLIENTS_PER_PROCESS + n``. ``sends.producer``, ``receipts.consumer``, ``connections.client`` and both
numbers of ``members`` come from this one sequence.
"""

from typing import Annotated, Any, NamedTuple, get_args, get_type_hints

import pyarrow as pa

SCHEMA_VERSION = 5
UNSEALED_VERSION = 4
"""Runs of this version can be read too. Their event files do not name their run, and have no seal."""
CLIENTS_PER_PROCESS = 1_000_000
CANARY_PREFIX = "brokerbench.canary."  # queues of the canaries before the load: these messages belong to no user
UNKNOWN = -1  # producer or seq of a body with an unreadable identity


def _table(*columns: tuple[str, pa.DataType], nullable: tuple[str, ...] = ()) -> pa.Schema:
    return pa.schema([pa.field(name, kind, nullable=name in nullable) for name, kind in columns])


TEXT = pa.string()
TIME_NS = pa.int64()

Int32 = Annotated[int, "int32"]
_TYPES: dict[Any, pa.DataType] = {int: pa.int64(), Int32: pa.int32(), str: TEXT, bool: pa.bool_()}


def _table_of(row: type) -> pa.Schema:
    """Return the schema of a table whose rows are of this named tuple. A column of ``X | None`` is nullable."""
    return _table(
        *((name, _TYPES[get_args(hint)[0] if _nullable(hint) else hint]) for name, hint in _hints(row).items()),
        nullable=tuple(name for name, hint in _hints(row).items() if _nullable(hint)),
    )


def _hints(row: type) -> dict[str, Any]:
    return get_type_hints(row, include_extras=True)


def _nullable(hint: Any) -> bool:
    return type(None) in get_args(hint)


class SendRow(NamedTuple):
    """One attempt, written when its outcome is known."""

    producer: Int32
    seq: int
    attempt: Int32
    destination: str
    broker: str
    due_ns: int
    ready_ns: int  # when it was due and no broker held its producer back (drivers/client/backpressure.py)
    sent_ns: int
    settled_ns: int | None
    outcome: str  # acked | failed | in_doubt | unconfirmed (see drivers/contract.py)
    body_bytes: Int32
    blocked: bool  # the in-flight limit, or the commit of the previous transaction, made this slot wait


class ReceiptRow(NamedTuple):
    """One delivery."""

    consumer: Int32
    subscription: str  # the queue's name for a queue, the subscription's own name for a topic
    producer: Int32
    seq: int
    attempt: Int32
    destination: str
    broker: str
    received_ns: int
    redelivered: bool
    # intact | corrupted (identity readable, body not as sent) | unreadable (producer and seq are UNKNOWN)
    # | foreign (a message of another run or of an unknown client: producer and seq are UNKNOWN)
    integrity: str
    hops: Int32 | None  # brokers crossed between the producer's and the consumer's, null where it is not reported


SENDS, RECEIPTS = _table_of(SendRow), _table_of(ReceiptRow)

# One row per subscription that a consumer holds, so that subscriptions that received nothing are known too.
# kind: queue | topic | durable_topic. began_ns: when the broker confirmed it for the first time. selector: '' for none.
SUBSCRIPTIONS = _table(
    ("consumer", pa.int32()),
    ("subscription", TEXT),
    ("destination", TEXT),
    ("kind", TEXT),
    ("broker", TEXT),
    ("began_ns", TIME_NS),
    ("selector", TEXT),
)

# event: attempt | connected | ready | lost | moved | closed | blocked | unblocked. broker: its name, never its URI;
# null if not known yet. ready: the client's subscriptions and in-doubt sends are restored; not for its first
# connection.
# blocked and unblocked of the same client and reason: begin and end of a period of a second or more in which the broker
# accepted nothing from a producer (drivers/client/backpressure.py); both are written when it is over.
# from_broker, for connected, moved and ready: the broker that the client used before; null for its first connection.
# cause: lost | order | priority | redirect | refused | untrusted | unreachable | closed
# (records/tables/connection_events.py). For lost and closed: why it ended; for connected, moved and ready: why the
# previous one ended; for an attempt: why it failed. Else null. ended_ns: when an attempt ended, which began at at_ns;
# else null. reason: free text.
CONNECTIONS = _table(
    ("client", pa.int32()),
    ("group", TEXT),
    ("protocol", TEXT),
    ("broker", TEXT),
    ("event", TEXT),
    ("at_ns", TIME_NS),
    ("reason", TEXT),
    ("from_broker", TEXT),
    ("cause", TEXT),
    ("ended_ns", TIME_NS),
    nullable=("broker", "from_broker", "cause", "ended_ns"),
)

# One row per user: the connection (the client in `connections`) that it sends and receives with, as long as it lives.
# Null: each message has a connection. role: producer | consumer. from_ns: when the user took it, before it was opened.
MEMBERS = _table(
    ("user", pa.int32()),
    ("connection", pa.int32()),
    ("group", TEXT),
    ("role", TEXT),
    ("user_class", TEXT),
    ("from_ns", TIME_NS),
    nullable=("connection",),
)

# One row per message found when every queue was browsed after the drain; producer/seq UNKNOWN if not ours. expired: it
# is a dead letter because its time to live was over.
LEFTOVERS = _table(
    ("broker", TEXT),
    ("queue", TEXT),
    ("dead_letter", pa.bool_()),
    ("producer", pa.int32()),
    ("seq", pa.int64()),
    ("attempt", pa.int32()),
    ("age_ns", TIME_NS),
    ("expired", pa.bool_()),
    nullable=("age_ns",),
)

# began_ns: when it was applied; ended_ns: when mending it began, null if it never did. requested_ns: when it was due.
# effective_ns, restored_ns: when its effect was measured, and when the broker was measured to accept logins again; for
# a
# join: that it accepts logins and its links are up, and that it is gone again.
# error: why the effect was not the requested one; null if it was.
FAULTS = _table(
    ("kind", TEXT),
    ("target", TEXT),
    ("began_ns", TIME_NS),
    ("ended_ns", TIME_NS),
    ("error", TEXT),
    ("requested_ns", TIME_NS),
    ("effective_ns", TIME_NS),
    ("restored_ns", TIME_NS),
    nullable=("ended_ns", "error", "requested_ns", "effective_ns", "restored_ns"),
)

# One row per figure per second. kind: broker | queue | subscription | connector | bridge | process | machine | link.
# object: '' for a broker or process, the queue's, connector's or link's name, "connector|remote broker" for a bridge.
#         A link that a restart renames keeps its name from the start.
# metric (all counters are totals since the broker's start, all integers):
#   broker     connections, heap_used_bytes, heap_max_bytes, memory_percent, store_percent, total_messages,
#              total_enqueues (Classic: of all destinations, advisories included)
#   queue      depth, in_flight, enqueue_count, dequeue_count, forward_count, dispatch_count, expired_count,
#              consumers, producers; other_consumers: those of clients that are not the run's (only if there are any)
#   subscription  depth: messages that Classic stores for a durable subscription; object: <client id>.<name>
#   connector  connections (clients only: bridges are left out; no row while there are none)
#   bridge     enqueue_count, dequeue_count, received_count; backlog: messages on the link's own queue; queue_backlog:
#              messages on the queues that the link reads; unconfirmed: messages that a bridge of Classic has taken;
#              advisory_count: advisories that a broker of Classic has sent over the link to the remote broker, also if
#              the remote broker opened the link
#   process    cpu_ns, core_wait_ns, rss_bytes, threads; with a CPU quota also quota_periods, throttled_periods and
#              throttled_ns; broker '' means the load generator's own process; object its
#              name; core_wait_ns: how long its threads were ready to run and waited for a core
#   machine    cpu_busy_ns, steal_ns, load_milli    (broker is '')
#   link       once, before the load: round_trip_least_ns, round_trip_median_ns, round_trip_most_ns of five;
#              once, at the end: whole_run_forth_bytes, whole_run_back_bytes, from its opener and to it
#              (links through proxies; broker is '')
SAMPLES = _table(
    ("broker", TEXT),
    ("at_ns", TIME_NS),
    ("kind", TEXT),
    ("object", TEXT),
    ("metric", TEXT),
    ("value", pa.int64()),
)

# One row per period of more than 3 ms in which the clients of a protocol in one process stood still: they read nothing
# then. process: the process's index, as in client numbers. began_ns: when a timer was due, of gevent's loop or of
# a thread in the JVM that only sleeps; ended_ns: when the loop called it, or the thread woke.
STALLS = _table(
    ("process", pa.int32()),
    ("protocol", TEXT),
    ("began_ns", TIME_NS),
    ("ended_ns", TIME_NS),
)

PACKED_TABLES: dict[str, type[SendRow] | type[ReceiptRow]] = {"sends": SendRow, "receipts": ReceiptRow}
"""The tables with thousands of rows per second: the recorder packs these rows (records.store.packing)."""

EVENT_TABLES: dict[str, pa.Schema] = {
    "sends": SENDS,
    "receipts": RECEIPTS,
    "subscriptions": SUBSCRIPTIONS,
    "connections": CONNECTIONS,
    "members": MEMBERS,
    "leftovers": LEFTOVERS,
    "faults": FAULTS,
    "samples": SAMPLES,
    "stalls": STALLS,
}
