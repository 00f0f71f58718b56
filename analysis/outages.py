"""Finds how long each fault cut off each user whose client lost its connection to the fault's broker.

A producer's success is a confirmed send. Nobody confirms a non-durable send, so it counts when it was written. A
consumer's success is a receipt. Users that share a connection lose it together, and each has an outage of
its own.
"""

from collections.abc import Sequence

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from analysis.fault_spans import FaultSpan
from analysis.members import of_users
from analysis.timeline import FOREVER_NS
from records.results import OUTAGES

CUT = ["fault", "user"]
"""What tells an outage from others."""


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


def with_due(outages: DataFrame, messages: DataFrame, deliveries: DataFrame, load_began_ns: int) -> DataFrame:
    """The outages with ``due``: how many of the user's messages were due from its beginning to its end.

    A producer's own messages; of a consumer those that it received, sooner or later. Null for a consumer that never
    came back: nobody knows which messages it would have received.
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
    unknown = (F.col("role") == "consumer") & F.col("first_success_ns").isNull()
    counted = F.when(~unknown, F.coalesce("due", F.lit(0)))
    return outages.join(due, CUT, "left").withColumn("due", counted).select(*OUTAGES.names)
