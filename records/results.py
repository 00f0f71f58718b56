"""The schemas of the result tables. The analysis writes them, the report reads them.

``second`` counts whole seconds from the start of the load phase: the warm-up is negative. ``phase`` is one of
``warm-up``, ``load``, ``drain`` (by the due time of the message, or else by the time of the event). Latency buckets are
those of ``records.buckets``. docs/events.md has the columns as they are declared here (``make docs``).
"""

import pyarrow as pa

TEXT, COUNT, SECOND, BUCKET = pa.string(), pa.int64(), pa.int32(), pa.int32()


RESULT_TABLES: dict[str, pa.Schema] = {}
"""Each table by its name: those that `_table` declares below."""
WRITTEN_BY_PARTS = ("latency",)
"""The tables with rows in any number: every part of a run writes a file of its own (`added_up`)."""
MEANINGS: dict[str, dict[str, str]] = {}
"""What each column of a table means, as docs/events.md has it."""


def _table(table: str, *columns: tuple[str, pa.DataType, str], nullable: tuple[str, ...] = ()) -> pa.Schema:
    """A result table. Each column has its name, its type and its meaning, in Markdown."""
    MEANINGS[table] = {name: meaning for name, _, meaning in columns}
    RESULT_TABLES[table] = pa.schema([pa.field(name, kind, nullable=name in nullable) for name, kind, _ in columns])
    return RESULT_TABLES[table]


RATES = _table(
    "rates",
    ("second", SECOND, "second of the event"),
    ("phase", TEXT, "phase of the message's due time, or of the event if it has none"),
    ("event", TEXT, "`due`, `sent`, `acked` or `received` (every delivery but foreign ones)"),
    (
        "broker",
        TEXT,
        "the broker that the client was connected to; for `due`, of the first attempt, '' if it was never sent",
    ),
    ("count", COUNT, "number of events"),
)

# The canonical latency table. count_less_own: either count may be 0.
LATENCY = _table(
    "latency",
    (
        "measure",
        TEXT,
        "`due_to_received`, `sent_to_received`, `sent_to_settled`, `ready_to_sent` (the generator's [own "
        "lag](#own-lag)), `round_trip` (of replies: from when the request was due until its reply was received; "
        "they have a row of `due_to_received` too)",
    ),
    ("from_broker", TEXT, "the producer's broker"),
    ("to_broker", TEXT, "the consumer's broker; empty if no consumer takes part"),
    ("hops", pa.int32(), "as in `receipts`"),
    ("phase", TEXT, "phase of the due time"),
    ("second", SECOND, "second of the due time"),
    ("in_fault", pa.bool_(), "the due time lies in a fault window"),
    ("bucket", BUCKET, "log-linear bucket, 128 for each octave (`records/buckets.py`)"),
    ("count", COUNT, "number of messages"),
    (
        "count_less_own",
        COUNT,
        "the same, if the generator's own delay is subtracted from each duration: [own lag](#own-lag) of the "
        "first attempt for `due_to_received`, and late reads (see `stalls`) for all but `ready_to_sent`",
    ),
    nullable=("hops",),
)

# One row a subscription of a destination. For a queue, the queue is the subscription.
ACCOUNTING = _table(
    "accounting",
    ("destination", TEXT, "`queue://NAME` or `topic://NAME`"),
    ("subscription", TEXT, "as in `receipts`"),
    ("sent", COUNT, "distinct messages attempted"),
    ("acked", COUNT, "of these, confirmed by the broker"),
    ("failed", COUNT, "of these, refused, or never written"),
    ("in_doubt", COUNT, "of these, never answered"),
    ("unconfirmed", COUNT, "of these, sent one way"),
    ("received", COUNT, "distinct messages seen at least once"),
    ("lost", COUNT, "acked, never received, not found on any queue"),
    ("stranded", COUNT, "acked, not received, found on a queue, or held for the durable subscription"),
    ("dead_lettered", COUNT, "acked, not received, found on a dead-letter queue"),
    (
        "expired",
        COUNT,
        "not received, and the time to live was over, by what brokers keep or count: [messages that "
        "expire](scenarios.md#messages-that-expire)",
    ),
    ("unselected", COUNT, "acked, not received, found on a queue none of whose consumers has a selector that matches"),
    ("duplicated", COUNT, "deliveries beyond the first, not marked as redelivered"),
    ("duplicated_by_resend", COUNT, "of these, with a different attempt"),
    ("recovered", COUNT, "in doubt, but received"),
    (
        "reordered",
        COUNT,
        "first deliveries that arrived after a later message of the same producer to the same consumer",
    ),
    ("corrupted", COUNT, "body not as sent"),
    ("unexpected", COUNT, "received, but no attempt to send is recorded"),
)

# Up to 100 messages of each anomaly, so that a reader can look one up.
ANOMALIES = _table(
    "anomalies",
    (
        "anomaly",
        TEXT,
        "a count's name in `accounting` or in summary.json; `failed`: refused or never written, and not received",
    ),
    ("destination", TEXT, "`queue://NAME` or `topic://NAME`"),
    ("subscription", TEXT, "as in `receipts`"),
    ("producer", pa.int32(), "client number of its sender"),
    ("seq", pa.int64(), "its number at that producer"),
    ("from_broker", TEXT, "the broker that it was sent to"),
    ("second", SECOND, "second of its due time, if known"),
    ("detail", TEXT, "details"),
    nullable=("second",),
)

# Open client connections at the end of each second, by our clients' own events.
CONNECTIONS = _table(
    "connections",
    ("second", SECOND, "counted at the end of this second"),
    ("broker", TEXT, "the broker that the clients are connected to"),
    ("group", TEXT, "the client group"),
    ("count", COUNT, "open connections"),
)

# Messages delivered first-time by path; hops null where unknown.
PATHS = _table(
    "paths",
    ("from_broker", TEXT, "the producer's broker"),
    ("to_broker", TEXT, "the consumer's broker"),
    ("hops", pa.int32(), "as in `receipts`"),
    ("messages", COUNT, "number of first deliveries on this path"),
    nullable=("hops",),
)

# The messages that each bridge carried between its first and its last sample, by the bridge's own counters.
LINKS = _table(
    "links",
    ("from_broker", TEXT, "the sending broker"),
    ("to_broker", TEXT, "the receiving broker"),
    ("connector", TEXT, "the network connector's name"),
    (
        "forwarded",
        COUNT,
        "messages carried between its first and last sample, by the bridge's own counters (of parallel duplex "
        "links, what came back is counted by their opener); includes the canaries that prove the paths, one for "
        "each path",
    ),
    (
        "forwarded_in_load",
        COUNT,
        "the same within the load: what it carried between two samples is spread evenly over the time between them; "
        "null without two samples in the load",
    ),
    nullable=("forwarded_in_load",),
)

# The messages that waited for a link, by the last sample of each second of the broker that sends.
# waits_in: link queue | queues | bridge.
LINK_BACKLOG = _table(
    "link_backlog",
    ("second", SECOND, "second of the sample"),
    ("from_broker", TEXT, "the sending broker, which was sampled"),
    ("to_broker", TEXT, "the receiving broker"),
    ("connector", TEXT, "the link's name"),
    ("waits_in", TEXT, "what was counted: see below"),
    ("messages", COUNT, "how many waited"),
)

# One row for each producer and subscription with messages that came out of order. reordered adds up to the
# accounting's.
REORDERED = _table(
    "reordered",
    ("destination", TEXT, "`queue://NAME` or `topic://NAME`"),
    ("subscription", TEXT, "as in `receipts`"),
    ("producer", pa.int32(), "client number of the producer"),
    ("reordered", COUNT, "first deliveries that arrived after a later message of this producer to the same consumer"),
    ("furthest", COUNT, "the largest difference between its number and the highest one that had arrived before"),
)

# The last value of each figure in each second. Counters (cpu_ns …) are differences from the second before.
RESOURCES = _table(
    "resources",
    ("second", SECOND, "second of the sample"),
    ("broker", TEXT, "as in `samples`"),
    ("kind", TEXT, "as in `samples`"),
    ("object", TEXT, "as in `samples`"),
    ("metric", TEXT, "as in `samples`"),
    (
        "value",
        COUNT,
        "as in `samples`; for a counter, its growth since the second before, spread evenly over seconds without a "
        "sample. A process or broker that was away has no rows for that time, and after its restart counts from 0",
    ),
)

# The messages at risk at each fault (summary.json has what that is), by when they were confirmed.
SURVIVAL = _table(
    "survival",
    ("fault", pa.int32(), "number of the fault by its beginning: 1 is F1 in the report"),
    ("second", SECOND, "second of the confirmation"),
    ("survived", COUNT, "messages that were received after the fault, or found on a queue"),
    ("lost", COUNT, "messages that are gone: neither received nor found"),
)

# One row for each user that a fault cut off: it lost its connection to the fault's broker. Times count from the start
# of the load. A success is a confirmed send, a written one that nobody confirms, or a receipt. Null: never, until the
# end of the run.
OUTAGES = _table(
    "outages",
    ("fault", pa.int32(), "number of the fault by its beginning: 1 is F1 in the report"),
    ("kind", TEXT, "the kind of fault"),
    ("target", TEXT, "its broker"),
    ("client", pa.int32(), "client number of the connection"),
    ("user", pa.int32(), "client number of the user"),
    ("group", TEXT, "the client group"),
    (
        "role",
        TEXT,
        "`producer` or `consumer`; empty if it never sent or subscribed, and for connections of single messages",
    ),
    ("began_ns", COUNT, "its last success before the loss, or the fault's beginning if that is later"),
    ("last_success_ns", COUNT, "its last success before the loss"),
    ("lost_ns", COUNT, "when it noticed that the connection was lost"),
    ("connected_ns", COUNT, "its next connection"),
    ("ready_ns", COUNT, "when its subscriptions and sends in doubt were restored, on that connection or a later one"),
    ("to_broker", TEXT, "the broker of that connection"),
    ("first_success_ns", COUNT, "its first success on that connection or a later one"),
    ("attempts", pa.int32(), "attempts to connect from the loss to the next connection"),
    ("in_flight", COUNT, "sends written before the loss and not confirmed by then"),
    (
        "due",
        COUNT,
        "messages that were due from `began_ns` until `first_success_ns`: a producer's own, and of a consumer "
        "those that it received sooner or later. Of a consumer without a first success: those that its "
        "subscription was owed from `ready_ns` on, and that nobody received. 0: nobody noticed the outage. Null "
        "for a consumer that was never ready again: nobody knows which messages it would have received",
    ),
    nullable=("last_success_ns", "connected_ns", "ready_ns", "to_broker", "first_success_ns", "due"),
)

# One row for each time that a user was connected to one broker within the load, by the connection of that client; times
# count from the load's start. A client has one stay at a time. cause: as its event tells
# (records/connection_events.py), or load_end | unrecorded.
STAYS = _table(
    "stays",
    ("client", pa.int32(), "client number of the connection"),
    ("user", pa.int32(), "client number of the user"),
    ("group", TEXT, "the client group"),
    ("broker", TEXT, "the broker that it was connected to"),
    ("from_ns", COUNT, "when it connected"),
    ("to_ns", COUNT, "when that ended"),
    ("cause", TEXT, "why it ended, see below"),
)

# The clients of a group that were connected to a broker at the end of a second of the load. Every second of a group
# adds up to all its clients.
DISTRIBUTION = _table(
    "distribution",
    ("second", SECOND, "counted at the end of this second; the last one ends with the load"),
    ("group", TEXT, "the client group"),
    ("broker", TEXT, "the broker that the clients were connected to; empty for clients that were connected to none"),
    ("clients", COUNT, "number of clients"),
)

# How the messages of a subscription were divided: one row a consumer that held it, also one that received nothing. All
# together received as many as the accounting has.
CONSUMERS = _table(
    "consumers",
    ("destination", TEXT, "`queue://NAME` or `topic://NAME`"),
    ("subscription", TEXT, "as in `receipts`"),
    ("consumer", pa.int32(), "consumer number, as in `receipts`"),
    ("broker", TEXT, "the broker where it received most of its messages, or subscribed"),
    ("messages", COUNT, "first deliveries to it"),
)


def added_up(name: str, table: pa.Table) -> pa.Table:
    """A table of `WRITTEN_BY_PARTS` with equal rows of several parts added up: one row per key, in any order."""
    schema = RESULT_TABLES[name]
    counts = [field.name for field in schema if field.type == COUNT]
    keys = [column for column in schema.names if column not in counts]
    sums = table.group_by(keys, use_threads=False).aggregate([(count, "sum") for count in counts])
    return sums.rename_columns([*keys, *counts]).select(schema.names).cast(schema)
