"""Finds how long each fault cut off each user whose client lost its connection to the fault's broker.

A producer's success is a confirmed send. Nobody confirms a non-durable send, so it counts when it was written. A
consumer's success is a receipt. Users that share a connection lose it together, and each has an outage of
its own.
"""

from collections.abc import Sequence

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from analysis.expectations import NOTHING_SPECIAL, Expectations
from analysis.fault_spans import FaultSpan
from analysis.members import of_users
from analysis.timeline import FOREVER_NS
from records.results import OUTAGES

CUT = ["fault", "user"]
"""What tells an outage from others."""
SUBSCRIPTION = ["destination", "subscription"]
READABLE = ("stranded", "left_unconfirmed")
"""Outcomes of messages that lie where a consumer of their subscription could read them."""
OWED = (
    *READABLE,
    "lost",
    "unaccounted",
    "missing_unconfirmed",
    "dead_lettered",
    "expired",
    "past_ttl",
    "past_ttl_unconfirmed",
)
"""Outcomes of messages that a subscription was owed and did not get."""


def outages(
    connections: DataFrame,
    sends: DataFrame,
    receipts: DataFrame,
    subscriptions: DataFrame,
    members: DataFrame,
    faults: Sequence[FaultSpan],
    load_began_ns: int,
) -> DataFrame:
    """Rows of OUTAGES; times count from the start of the load. ``due`` is still to come: see `with_due`."""
    cut = of_users(reconnections(connections, losses(connections, faults)), members)
    found = cut.join(successes(cut, sends, receipts), CUT, "left").join(_roles(sends, subscriptions), "user", "left")
    began_ns = F.greatest(F.coalesce("last_success_ns", "applied_ns"), F.col("applied_ns"))

    def since_load(at_ns: str | Column, name: str) -> Column:
        column = F.col(at_ns) if isinstance(at_ns, str) else at_ns
        return (column - F.lit(load_began_ns)).alias(name)

    return found.select(
        "fault",
        "kind",
        "target",
        "client",
        "user",
        "group",
        F.coalesce("role", F.lit("")).alias("role"),
        since_load(began_ns, "began_ns"),
        since_load("last_success_ns", "last_success_ns"),
        since_load("lost_ns", "lost_ns"),
        since_load("connected_ns", "connected_ns"),
        since_load("ready_ns", "ready_ns"),
        "to_broker",
        since_load("first_success_ns", "first_success_ns"),
        "attempts",
        F.coalesce("in_flight", F.lit(0)).cast("bigint").alias("in_flight"),
    )


def losses(connections: DataFrame, faults: Sequence[FaultSpan]) -> DataFrame:
    """One row for each fault and client that lost its connection to the fault's broker meanwhile: the first loss."""
    at_ns, lost = F.col("at_ns"), connections.where(F.col("event") == "lost")
    of_each = [
        lost.where((F.col("broker") == fault.target) & at_ns.between(fault.began_ns, fault.until_ns))
        .groupBy("client")
        .agg(F.min("at_ns").alias("lost_ns"), F.min("group").alias("group"))
        .select(
            F.lit(fault.number).cast("int").alias("fault"),
            F.lit(fault.kind).alias("kind"),
            F.lit(fault.target).alias("target"),
            F.lit(fault.began_ns).cast("bigint").alias("applied_ns"),
            "client",
            "group",
            "lost_ns",
        )
        for fault in faults
    ]
    together = of_each[0]
    for other in of_each[1:]:
        together = together.unionByName(other)
    return together


def reconnections(connections: DataFrame, lost: DataFrame) -> DataFrame:
    """The losses with the next connection of each client (null: never), the one before, and the attempts between.

    ``ready_ns``: when the first connection from then on was ready.
    """
    at_ns, event = F.col("at_ns"), F.col("event")
    after = at_ns >= F.col("lost_ns")
    of_client = connections.select("client", "event", "at_ns", "broker").join(F.broadcast(lost), "client")
    back = F.min(F.when((event == "connected") & after, F.struct("at_ns", "broker")))
    tried = F.collect_list(F.when((event == "attempt") & after, at_ns))
    found = of_client.groupBy(*lost.columns).agg(
        back.alias("back"),
        F.min(F.when((event == "ready") & after, at_ns)).alias("ready_ns"),
        F.max(F.when((event == "connected") & ~after, at_ns)).alias("connected_before_ns"),
        tried.alias("tried"),
    )
    connected_ns = F.coalesce("back.at_ns", F.lit(FOREVER_NS))
    return found.select(
        *lost.columns,
        F.col("back.at_ns").alias("connected_ns"),
        F.col("back.broker").alias("to_broker"),
        "ready_ns",
        "connected_before_ns",
        F.size(F.filter("tried", lambda at: at <= connected_ns)).alias("attempts"),
    )


def successes(cut: DataFrame, sends: DataFrame, receipts: DataFrame) -> DataFrame:
    """By outage: the last success before the loss, the first on the next connection, and the sends in flight."""
    unconfirmed = F.col("outcome") == "unconfirmed"
    sent = sends.select(
        F.col("producer").alias("user"),
        F.when(F.col("outcome") == "acked", F.col("settled_ns")).when(unconfirmed, sends.sent_ns).alias("success_ns"),
        "sent_ns",
        "settled_ns",
        (~unconfirmed).alias("awaited"),
    )
    received = receipts.select(F.col("consumer").alias("user"), F.col("received_ns").alias("success_ns"))
    events = sent.unionByName(received, allowMissingColumns=True)
    success_ns, lost_ns, sent_ns = F.col("success_ns"), F.col("lost_ns"), F.col("sent_ns")
    written = (sent_ns <= lost_ns) & (sent_ns >= F.coalesce("connected_before_ns", F.lit(0)))
    unanswered = F.col("settled_ns").isNull() | (F.col("settled_ns") > lost_ns)
    return (
        events.join(F.broadcast(cut.select(*CUT, "lost_ns", "connected_ns", "connected_before_ns")), "user")
        .groupBy(*CUT)
        .agg(
            F.max(F.when(success_ns < lost_ns, success_ns)).alias("last_success_ns"),
            F.min(F.when(success_ns > F.col("connected_ns"), success_ns)).alias("first_success_ns"),
            F.count_if(F.col("awaited") & written & unanswered).alias("in_flight"),
        )
    )


def _roles(sends: DataFrame, subscriptions: DataFrame) -> DataFrame:
    """One row a user that sent or subscribed: producer or consumer."""
    producers = sends.select(F.col("producer").alias("user")).distinct().withColumn("role", F.lit("producer"))
    consumers = subscriptions.select(F.col("consumer").alias("user")).distinct().withColumn("role", F.lit("consumer"))
    return producers.unionByName(consumers).groupBy("user").agg(F.max("role").alias("role"))


def with_due(
    outages: DataFrame,
    messages: DataFrame,
    deliveries: DataFrame,
    undelivered: DataFrame,
    subscriptions: DataFrame,
    load_began_ns: int,
    expectations: Expectations = NOTHING_SPECIAL,
) -> DataFrame:
    """The outages with ``due``: how many of the user's messages were due from its beginning to its end.

    A producer's own messages; of a consumer those that it received, sooner or later. Of a consumer that was ready again
    and received nothing more: those that its subscription was owed since, and that nobody received (`owed`). Null for a
    consumer that was never ready again: nobody knows which messages it would have received.

    ``undelivered``: rows of `analysis.message_outcomes`.
    """
    of_producers = messages.select(F.col("producer").alias("user"), "due_ns")
    arrived = deliveries.where((F.col("copy") == 1) & F.col("due_ns").isNotNull())
    of_consumers = arrived.select(F.col("consumer").alias("user"), "due_ns")
    gaps = outages.select(*CUT, "began_ns", F.coalesce("first_success_ns", F.lit(FOREVER_NS)).alias("until_ns"))
    due_ns = F.col("due_ns") - F.lit(load_began_ns)
    due = (
        of_producers.unionByName(of_consumers)
        .join(F.broadcast(gaps), "user")
        .where((due_ns >= F.col("began_ns")) & (due_ns < F.col("until_ns")))
        .groupBy(*CUT)
        .agg(F.count("*").alias("due"))
    )
    without_success = (F.col("role") == "consumer") & F.col("first_success_ns").isNull()
    owed_since = owed(outages.where(without_success), undelivered, subscriptions, load_began_ns, expectations)
    counted = (
        F.when(~without_success, F.coalesce("due", F.lit(0)))
        .when(F.col("ready_ns").isNotNull(), F.coalesce("owed", F.lit(0)))
        .otherwise(F.lit(None))
    )
    return (
        outages.join(due, CUT, "left")
        .join(F.broadcast(owed_since), CUT, "left")
        .withColumn("due", counted)
        .select(*OUTAGES.names)
    )


def owed(
    idle: DataFrame, undelivered: DataFrame, subscriptions: DataFrame, load_began_ns: int, expectations: Expectations
) -> DataFrame:
    """By outage: ``owed``, messages of the consumer's subscription that nobody received though it was ready again.

    Such a message was sent after the consumer was ready, or it lies at the consumer's broker. Messages of a queue that
    other consumers took were not due to it. An unconfirmed message that is nowhere counts for topics only: a queue
    would have kept it for its consumers.
    """
    user = F.col("consumer").alias("user")
    held = subscriptions.select(user, *SUBSCRIPTION, "kind", "selector").distinct()
    missing = undelivered.where(F.col("message_outcome").isin(*OWED)).select(
        *SUBSCRIPTION, "seq", "sent_ns", "left_at", "message_outcome"
    )
    on_its_broker = F.col("message_outcome").isin(*READABLE) & (F.col("left_at") == F.col("to_broker"))
    since = (F.col("sent_ns") - F.lit(load_began_ns)) >= F.col("ready_ns")
    promised = (F.col("kind") != "queue") | (F.col("message_outcome") != "missing_unconfirmed")
    return (
        missing.join(F.broadcast(idle.select(*CUT, "ready_ns", "to_broker").join(held, "user")), SUBSCRIPTION)
        .where(promised & (since | on_its_broker) & expectations.matches(F.col("selector")))
        .groupBy(*CUT)
        .agg(F.count("*").alias("owed"))
    )
