"""What is one row of each result table? The analysis writes them, the report reads them.

``second`` counts whole seconds from the start of the load phase: the warm-up is negative. ``phase`` is one of
``warm-up``, ``load``, ``drain`` (by the due time of the message, or by the time of the event where there is none).
Latency buckets are those of ``records.buckets``.
"""

import pyarrow as pa

TEXT, COUNT, SECOND, BUCKET = pa.string(), pa.int64(), pa.int32(), pa.int32()


def _table(*columns: tuple[str, pa.DataType], nullable: tuple[str, ...] = ()) -> pa.Schema:
    return pa.schema([pa.field(name, kind, nullable=name in nullable) for name, kind in columns])


# event: due | sent | acked | received (every delivery). broker: the one that the client was connected to.
# for `due` the broker is that of the message's first attempt.
RATES = _table(("second", SECOND), ("phase", TEXT), ("event", TEXT), ("broker", TEXT), ("count", COUNT))

# The canonical latency table. measure: due_to_received | sent_to_received | sent_to_settled | due_to_sent (the
# generator's lag, first attempts). For sent_to_settled and due_to_sent, to_broker is '' . second: of the due time.
LATENCY = _table(
    ("measure", TEXT),
    ("from_broker", TEXT),
    ("to_broker", TEXT),
    ("hops", pa.int32()),
    ("phase", TEXT),
    ("second", SECOND),
    ("in_fault", pa.bool_()),
    ("bucket", BUCKET),
    ("count", COUNT),
    nullable=("hops",),
)

# One row a subscription of a destination. For a queue, the queue is the subscription.
ACCOUNTING = _table(
    ("destination", TEXT),
    ("subscription", TEXT),
    ("sent", COUNT),
    ("acked", COUNT),
    ("failed", COUNT),
    ("in_doubt", COUNT),
    ("unconfirmed", COUNT),
    ("received", COUNT),
    ("lost", COUNT),
    ("stranded", COUNT),
    ("dead_lettered", COUNT),
    ("duplicated", COUNT),
    ("duplicated_by_resend", COUNT),
    ("recovered", COUNT),
    ("reordered", COUNT),
    ("corrupted", COUNT),
    ("unexpected", COUNT),
)

# Up to 100 messages of each fate, so that a reader can look one up. fate: a column name of ACCOUNTING.
ODDITIES = _table(
    ("fate", TEXT),
    ("destination", TEXT),
    ("subscription", TEXT),
    ("producer", pa.int32()),
    ("seq", pa.int64()),
    ("from_broker", TEXT),
    ("second", SECOND),
    ("detail", TEXT),
    nullable=("second",),
)

# Open client connections at the end of each second, by our clients' own events.
CONNECTIONS = _table(("second", SECOND), ("broker", TEXT), ("group", TEXT), ("count", COUNT))

# Messages delivered first-time by path; hops null where unknown.
PATHS = _table(
    ("from_broker", TEXT), ("to_broker", TEXT), ("hops", pa.int32()), ("messages", COUNT), nullable=("hops",)
)

# What each bridge carried between its first and its last sample, by the bridge's own counters.
LINKS = _table(("from_broker", TEXT), ("to_broker", TEXT), ("connector", TEXT), ("forwarded", COUNT))

# The last value of each figure in each second. Counters (cpu_ns …) are differences from the second before.
RESOURCES = _table(
    ("second", SECOND), ("broker", TEXT), ("kind", TEXT), ("object", TEXT), ("metric", TEXT), ("value", COUNT)
)

RESULT_TABLES: dict[str, pa.Schema] = {
    "rates": RATES,
    "latency": LATENCY,
    "accounting": ACCOUNTING,
    "oddities": ODDITIES,
    "connections": CONNECTIONS,
    "paths": PATHS,
    "links": LINKS,
    "resources": RESOURCES,
}
