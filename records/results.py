"""The schemas of the result tables. The analysis writes them, the report reads them.

``second`` counts whole seconds from the start of the load phase: the warm-up is negative. ``phase`` is one of
``warm-up``, ``load``, ``drain`` (by the due time of the message, or else by the time of the event). Latency buckets are
those of ``records.buckets``.
"""

import pyarrow as pa

TEXT, COUNT, SECOND, BUCKET = pa.string(), pa.int64(), pa.int32(), pa.int32()


def _table(*columns: tuple[str, pa.DataType], nullable: tuple[str, ...] = ()) -> pa.Schema:
    return pa.schema([pa.field(name, kind, nullable=name in nullable) for name, kind in columns])


# event: due | sent | acked | received (every delivery). broker: the one that the client was connected to.
# for `due` the broker is that of the message's first attempt.
RATES = _table(("second", SECOND), ("phase", TEXT), ("event", TEXT), ("broker", TEXT), ("count", COUNT))

# The canonical latency table. measure: due_to_received | sent_to_received | sent_to_settled | ready_to_sent (the
# generator's own lag, first attempts) | round_trip (of replies, from when the request was due). For sent_to_settled and
# ready_to_sent, to_broker is ''. second: of the due time.
# count_less_own: how many of the same durations lie in the bucket less the generator's own delay: the lag of the send
# (due_to_received, round_trip) and the lateness of the read (all but ready_to_sent). Either count may be 0.
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
    ("count_less_own", COUNT),
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
    ("expired", COUNT),
    ("unselected", COUNT),
    ("duplicated", COUNT),
    ("duplicated_by_resend", COUNT),
    ("recovered", COUNT),
    ("reordered", COUNT),
    ("corrupted", COUNT),
    ("unexpected", COUNT),
)

# Up to 100 messages of each anomaly, so that a reader can look one up. anomaly: a column name of ACCOUNTING.
ANOMALIES = _table(
    ("anomaly", TEXT),
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

# The messages that each bridge carried between its first and its last sample, by the bridge's own counters.
LINKS = _table(("from_broker", TEXT), ("to_broker", TEXT), ("connector", TEXT), ("forwarded", COUNT))

# The messages that waited for a link, by the last sample of each second of the broker that sends. waits_in: where that
# counts them: link queue (a store-and-forward queue) | queues (all that is on the queues that the link reads) | bridge
# (taken by the bridge, and not confirmed by the other end).
LINK_BACKLOG = _table(
    ("second", SECOND),
    ("from_broker", TEXT),
    ("to_broker", TEXT),
    ("connector", TEXT),
    ("waits_in", TEXT),
    ("messages", COUNT),
)

# One row for each producer and subscription with messages that came out of order. reordered: how many; they add up to
# the accounting's. furthest: the most by which the seq of a message that came before was higher.
REORDERED = _table(
    ("destination", TEXT),
    ("subscription", TEXT),
    ("producer", pa.int32()),
    ("reordered", COUNT),
    ("furthest", COUNT),
)

# The last value of each figure in each second. Counters (cpu_ns …) are differences from the second before.
RESOURCES = _table(
    ("second", SECOND), ("broker", TEXT), ("kind", TEXT), ("object", TEXT), ("metric", TEXT), ("value", COUNT)
)

# One row for each user that a fault cut off: it lost its connection to the fault's broker. Times count from the start
# of the load. began_ns: its last success before the loss, or the fault's beginning if that is later. A success is a
# confirmed send, a written one that nobody confirms, or a receipt. connected_ns, to_broker: its next connection.
# ready_ns: when its subscriptions and sends in doubt were restored, there or on a later one. Null: never, until the end
# of the run. attempts: connection attempts until it was connected. in_flight: sends written before the loss and not
# confirmed by then. due: messages that were due from began_ns until first_success_ns, of a consumer those that it
# received. Of a consumer without a first success: those that its subscription was owed from ready_ns on, and that
# nobody received; null if it was never ready again.
OUTAGES = _table(
    ("fault", pa.int32()),
    ("kind", TEXT),
    ("target", TEXT),
    ("client", pa.int32()),
    ("user", pa.int32()),
    ("group", TEXT),
    ("role", TEXT),
    ("began_ns", COUNT),
    ("last_success_ns", COUNT),
    ("lost_ns", COUNT),
    ("connected_ns", COUNT),
    ("ready_ns", COUNT),
    ("to_broker", TEXT),
    ("first_success_ns", COUNT),
    ("attempts", pa.int32()),
    ("in_flight", COUNT),
    ("due", COUNT),
    nullable=("last_success_ns", "connected_ns", "ready_ns", "to_broker", "first_success_ns", "due"),
)

# One row for each time that a user was connected to one broker within the load, by the connection of that client; times
# count from the load's start. A client has one stay at a time. cause: why it ended: as its event tells
# (records/connection_events.py), or load_end | unrecorded (its next connection follows).
STAYS = _table(
    ("client", pa.int32()),
    ("user", pa.int32()),
    ("group", TEXT),
    ("broker", TEXT),
    ("from_ns", COUNT),
    ("to_ns", COUNT),
    ("cause", TEXT),
)

# The clients of a group that were connected to a broker at the end of a second of the load; broker '': to none. Every
# second of a group adds up to all its clients.
DISTRIBUTION = _table(("second", SECOND), ("group", TEXT), ("broker", TEXT), ("clients", COUNT))

# How the messages of a subscription were divided: one row a consumer that held it, also one that received nothing.
# broker: where it received most of them, or subscribed. messages: first deliveries; all consumers together received as
# many as the accounting has.
CONSUMERS = _table(
    ("destination", TEXT),
    ("subscription", TEXT),
    ("consumer", pa.int32()),
    ("broker", TEXT),
    ("messages", COUNT),
)

RESULT_TABLES: dict[str, pa.Schema] = {
    "rates": RATES,
    "latency": LATENCY,
    "accounting": ACCOUNTING,
    "anomalies": ANOMALIES,
    "connections": CONNECTIONS,
    "paths": PATHS,
    "links": LINKS,
    "link_backlog": LINK_BACKLOG,
    "reordered": REORDERED,
    "resources": RESOURCES,
    "outages": OUTAGES,
    "stays": STAYS,
    "distribution": DISTRIBUTION,
    "consumers": CONSUMERS,
}
