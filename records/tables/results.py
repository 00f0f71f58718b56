"""The schemas of the result tables. The analysis writes them, the report reads them.

``second`` counts whole seconds from the start of the load phase: the warm-up is negative. ``phase`` is one of
``warm-up``, ``load``, ``drain`` (by the due time of the message, or else by the time of the event). Latency buckets are
defined in ``records.figures.buckets``. docs/events.md lists the columns as they are declared here (``make docs``).
"""

from collections.abc import Mapping

import pyarrow as pa

TEXT, COUNT, SECOND, BUCKET = pa.string(), pa.int64(), pa.int32(), pa.int32()


RESULT_TABLES: dict[str, pa.Schema] = {}
"""All tables by name, filled by `_table` below."""
WRITTEN_BY_PARTS: Mapping[str, tuple[str, ...]] = {"latency": ("count", "count_less_own"), "stays": ()}
"""Tables of any length: each part of a run writes a separate file. The columns are counts, which `added_up` adds up."""
MEANINGS: dict[str, dict[str, str]] = {}
"""The meaning of each column of a table, as in docs/events.md."""


def _table(table: str, *columns: tuple[str, pa.DataType, str], nullable: tuple[str, ...] = ()) -> pa.Schema:
    """Declare a result table. Each column has a name, a type and a meaning in Markdown."""
    MEANINGS[table] = {name: meaning for name, _, meaning in columns}
    RESULT_TABLES[table] = pa.schema([pa.field(name, kind, nullable=name in nullable) for name, kind, _ in columns])
    return RESULT_TABLES[table]


RATES = _table(
    "rates",
    ("second", SECOND, "second of the event"),
    ("phase", TEXT, "phase of the message's due time, or of the event if it has none"),
    ("event", TEXT, "`due`, `sent`, `acked` or `received` (every delivery except foreign ones)"),
    (
        "broker",
        TEXT,
        "the broker that the client was connected to; for `due`, the broker of the first attempt, or empty if"
        " it was never sent",
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
        "lag](#own-lag)), `round_trip` (for replies: from when the request was due until its reply was "
        "received; they also have a row of `due_to_received`)",
    ),
    ("from_broker", TEXT, "the producer's broker"),
    ("to_broker", TEXT, "the consumer's broker; empty if no consumer takes part"),
    ("hops", pa.int32(), "as in `receipts`"),
    ("phase", TEXT, "phase of the due time"),
    ("second", SECOND, "second of the due time"),
    ("in_fault", pa.bool_(), "the due time lies in a fault window"),
    ("bucket", BUCKET, "log-linear bucket, 128 for each octave (`records/figures/buckets.py`)"),
    ("count", COUNT, "number of messages"),
    (
        "count_less_own",
        COUNT,
        "the same with the generator's own delay subtracted from each duration: [own lag](#own-lag) of the "
        "first attempt for `due_to_received`, and late reads (see `stalls`) for all but `ready_to_sent`",
    ),
    nullable=("hops",),
)

# One row per subscription of a destination. For a queue, the queue is the subscription.
ACCOUNTING = _table(
    "accounting",
    ("destination", TEXT, "`queue://NAME` or `topic://NAME`"),
    ("subscription", TEXT, "as in `receipts`"),
    ("sent", COUNT, "distinct messages attempted"),
    ("acked", COUNT, "attempted messages that a broker confirmed"),
    ("failed", COUNT, "attempted messages that were rejected or never written"),
    ("in_doubt", COUNT, "attempted messages that were never answered"),
    ("unconfirmed", COUNT, "attempted messages that were sent without asking for a confirmation"),
    ("received", COUNT, "distinct messages received at least once"),
    ("lost", COUNT, "acked, never received, not found on any queue"),
    ("stranded", COUNT, "acked, not received, found on a queue, or held for the durable subscription"),
    ("dead_lettered", COUNT, "acked, not received, found on a dead-letter queue"),
    (
        "expired",
        COUNT,
        "not received, and the time to live was over, according to what brokers keep or count: [messages that"
        " expire](scenarios.md#messages-that-expire)",
    ),
    ("unselected", COUNT, "acked, not received, found on a queue where no consumer has a selector that matches"),
    ("duplicated", COUNT, "deliveries after the first, not marked as redelivered"),
    ("duplicated_by_resend", COUNT, "duplicated deliveries from a different attempt"),
    ("recovered", COUNT, "in doubt, but received"),
    (
        "reordered",
        COUNT,
        "first deliveries that arrived after a later message from the same producer to the same consumer",
    ),
    ("corrupted", COUNT, "received with a body that differs from the sent one"),
    ("unexpected", COUNT, "received, but no attempt to send is recorded"),
)

# Up to 100 messages of each anomaly, so that a reader can look them up.
ANOMALIES = _table(
    "anomalies",
    (
        "anomaly",
        TEXT,
        "the name of a count in `accounting` or summary.json; `failed`: rejected or never written, and not received",
    ),
    ("destination", TEXT, "`queue://NAME` or `topic://NAME`"),
    ("subscription", TEXT, "as in `receipts`"),
    ("producer", pa.int32(), "client number of the sender"),
    ("seq", pa.int64(), "the message's number at that producer"),
    ("from_broker", TEXT, "the broker that the message was sent to"),
    ("second", SECOND, "second of the due time, if known"),
    ("detail", TEXT, "details"),
    nullable=("second",),
)

# Open client connections at the end of each second, by the events of our clients.
CONNECTIONS = _table(
    "connections",
    ("second", SECOND, "counted at the end of this second"),
    ("broker", TEXT, "the broker that the clients are connected to"),
    ("group", TEXT, "the client group"),
    ("count", COUNT, "open connections"),
)

# First deliveries by path; hops null where unknown.
PATHS = _table(
    "paths",
    ("from_broker", TEXT, "the producer's broker"),
    ("to_broker", TEXT, "the consumer's broker"),
    ("hops", pa.int32(), "as in `receipts`"),
    ("messages", COUNT, "number of first deliveries on this path"),
    nullable=("hops",),
)

# The messages that each bridge carried, by the bridge's own counters.
LINKS = _table(
    "links",
    ("from_broker", TEXT, "the sending broker"),
    ("to_broker", TEXT, "the receiving broker"),
    ("connector", TEXT, "the network connector's name"),
    (
        "forwarded",
        COUNT,
        "messages carried from the first to the last sample of the bridge, by its own counters, or from 0 if it came "
        "up after its broker's first sample (for parallel duplex links, the opener counts what came back); includes "
        "the canaries that prove the paths, one per path",
    ),
    (
        "forwarded_in_load",
        COUNT,
        "the same within the load: messages carried between two samples are spread evenly over the time "
        "between them; null without two samples in the load",
    ),
    (
        "advisories",
        COUNT,
        "advisories about consumers and temporary destinations, which cross the link against the direction of the "
        "messages that they request; null if unknown: brokers of Artemis, and parallel duplex links at the far end",
    ),
    ("advisories_in_load", COUNT, "the same within the load"),
    nullable=("forwarded_in_load", "advisories", "advisories_in_load"),
)

# The messages that waited for a link, by the last sample of each second of the broker that sends.
# waits_in: link queue | queues | bridge.
LINK_BACKLOG = _table(
    "link_backlog",
    ("second", SECOND, "second of the sample"),
    ("from_broker", TEXT, "the sending broker, which was sampled"),
    ("to_broker", TEXT, "the receiving broker"),
    ("connector", TEXT, "the link's name"),
    ("waits_in", TEXT, "the queue that was counted: see below"),
    ("messages", COUNT, "number of waiting messages"),
)

# One row for each producer and subscription with messages that came out of order. reordered adds up to the
# accounting's.
REORDERED = _table(
    "reordered",
    ("destination", TEXT, "`queue://NAME` or `topic://NAME`"),
    ("subscription", TEXT, "as in `receipts`"),
    ("producer", pa.int32(), "client number of the producer"),
    ("reordered", COUNT, "first deliveries that arrived after a later message from this producer to the same consumer"),
    (
        "furthest",
        COUNT,
        "the largest difference between the message's number and the highest number that had arrived before it",
    ),
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
        "as in `samples`; for a counter, its growth since the second before, spread evenly over seconds "
        "without a sample. A process or broker that was away has no rows for that time, and counts from 0 "
        "after its restart",
    ),
)

# The messages at risk at each fault (defined in summary.json), by when they were confirmed.
SURVIVAL = _table(
    "survival",
    ("fault", pa.int32(), "number of the fault by its beginning: 1 is F1 in the report"),
    ("second", SECOND, "second of the confirmation"),
    ("survived", COUNT, "messages that were received after the fault, or found on a queue"),
    ("lost", COUNT, "messages that are gone: neither received nor found"),
)

# One row per user that a fault disconnected: it lost its connection to the fault's broker. Times count from the start
# of the load. A success is a confirmed send, a written send that needs no confirmation, or a receipt. Null: never,
# until the end of the run.
OUTAGES = _table(
    "outages",
    ("fault", pa.int32(), "number of the fault by its beginning: 1 is F1 in the report"),
    ("kind", TEXT, "the kind of fault"),
    ("target", TEXT, "the broker of the fault"),
    ("client", pa.int32(), "client number of the connection"),
    ("user", pa.int32(), "client number of the user"),
    ("group", TEXT, "the client group"),
    (
        "role",
        TEXT,
        "`producer` or `consumer`; empty if it never sent or subscribed, and for connections of single messages",
    ),
    ("began_ns", COUNT, "the user's last success before the loss, or the beginning of the fault if that is later"),
    ("last_success_ns", COUNT, "the user's last success before the loss"),
    ("lost_ns", COUNT, "when the client noticed that the connection was lost"),
    ("connected_ns", COUNT, "when it connected again"),
    ("ready_ns", COUNT, "when its subscriptions and in-doubt sends were restored, on that connection or a later one"),
    ("to_broker", TEXT, "the broker of that connection"),
    ("first_success_ns", COUNT, "the first success on that connection or a later one"),
    ("attempts", pa.int32(), "attempts to connect from the loss to the next connection"),
    ("in_flight", COUNT, "sends written before the loss and not confirmed by then"),
    (
        "due",
        COUNT,
        "messages that were due from `began_ns` until `first_success_ns`: for a producer, the messages that it "
        "sends; for a consumer, all that it received sooner or later. For a consumer without a first success: the "
        "messages that its subscription was owed from `ready_ns` on, and that no consumer received. 0: the "
        "outage had no effect. Null for a consumer that was never ready again: the messages that it would "
        "have received are not known",
    ),
    nullable=("last_success_ns", "connected_ns", "ready_ns", "to_broker", "first_success_ns", "due"),
)

# One row per stay of a user at one broker within the load, by the connection of that client; times
# count from the load's start. A client has one stay at a time. cause: as in its event
# (records/tables/connection_events.py), or load_end | unrecorded.
STAYS = _table(
    "stays",
    ("client", pa.int32(), "client number of the connection"),
    ("user", pa.int32(), "client number of the user; a durable subscriber keeps that of its first stay"),
    ("group", TEXT, "the client group"),
    ("broker", TEXT, "the broker that it was connected to"),
    ("from_ns", COUNT, "when it connected"),
    ("to_ns", COUNT, "when the stay ended"),
    ("cause", TEXT, "why the stay ended, see below"),
)

# The clients of a group that were connected to a broker at the end of a second of the load. Every second of a group
# adds up to all its clients, except those that are away between or after the stays of their user class.
DISTRIBUTION = _table(
    "distribution",
    ("second", SECOND, "counted at the end of this second; the last one ends with the load"),
    ("group", TEXT, "the client group"),
    (
        "broker",
        TEXT,
        "the broker that the clients were connected to; empty for clients without a connection, if their stay goes on",
    ),
    ("clients", COUNT, "number of clients"),
)

# How the messages of a subscription were divided: one row per consumer that held it, including consumers that received
# nothing. Together they received as many messages as in accounting.
CONSUMERS = _table(
    "consumers",
    ("destination", TEXT, "`queue://NAME` or `topic://NAME`"),
    ("subscription", TEXT, "as in `receipts`"),
    ("consumer", pa.int32(), "consumer number, as in `receipts`; a durable subscriber keeps that of its first stay"),
    ("broker", TEXT, "the broker where it received most of its messages, or where it subscribed"),
    ("messages", COUNT, "first deliveries to it"),
)


def added_up(name: str, table: pa.Table) -> pa.Table:
    """Add up the equal rows of several parts: one row per key, in any order. ``name``: one of `WRITTEN_BY_PARTS`."""
    schema, counts = RESULT_TABLES[name], WRITTEN_BY_PARTS[name]
    if not counts:
        return table
    keys = [column for column in schema.names if column not in counts]
    sums = table.group_by(keys, use_threads=False).aggregate([(count, "sum") for count in counts])
    return sums.rename_columns([*keys, *counts]).select(schema.names).cast(schema)
