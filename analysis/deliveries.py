"""Marks each delivery: a message's first, a duplicate, or one out of order.

This module distinguishes only deliveries with a readable identity; unreadable and foreign bodies are `strangers`.
"""

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from analysis.messages import MESSAGE, laid_out

IDENTIFIED = ("intact", "corrupted")
STREAM = ["consumer", "producer", "destination", "subscription"]
"""What has an order: the messages of one producer at one consumer."""


def strangers(receipts: DataFrame) -> DataFrame:
    """Deliveries that cannot be told to be of a message of this run."""
    return receipts.where(~F.col("integrity").isin(*IDENTIFIED))


def deliveries(receipts: DataFrame, messages: DataFrame, sends: DataFrame) -> DataFrame:
    """One row a delivery, laid out by message: its receipt, its copy number, and the message that it belongs to.

    copy: 1 for the first delivery of a message to a subscription, counted in order of receipt. duplicate: a further
    copy that the broker did not mark as redelivered; by_resend: a copy with another attempt than the first copy.
    due_ns: the message's first due time, null when no send of it is on record (unexpected). sent_ns and from_broker: of
    the received attempt. If that attempt is not on record, sent_ns is null and from_broker is the first attempt's.
    first_sent_ns: when the first attempt was sent. own_ns: the generator's own lag of the first attempt.
    """
    copies = _with_copy_numbers(laid_out(receipts.where(F.col("integrity").isin(*IDENTIFIED))))
    first = messages.select(
        *MESSAGE,
        "due_ns",
        "own_ns",
        F.col("first_attempt").alias("known_attempt"),
        F.col("sent_ns").alias("first_sent_ns"),
        F.col("from_broker").alias("entered_at"),
    )
    of_the_first = F.col("attempt") == F.col("known_attempt")
    return (
        copies.withColumnRenamed("broker", "to_broker")
        .join(first, MESSAGE, "left")
        .join(_resends(sends), [*MESSAGE, "attempt"], "left")
        .withColumn("sent_ns", F.when(of_the_first, F.col("first_sent_ns")).otherwise(F.col("resent_ns")))
        .withColumn("from_broker", F.coalesce(F.when(~of_the_first, F.col("resent_by")), "entered_at", F.lit("")))
        .drop("known_attempt", "entered_at", "resent_ns", "resent_by")
    )


def _resends(sends: DataFrame) -> DataFrame:
    """Attempts after the first: they are few, so a table of them by message is cheap to look up."""
    resent = laid_out(sends.where(F.col("attempt") > 1)).select(
        *MESSAGE, "attempt", F.col("sent_ns").alias("resent_ns"), F.col("broker").alias("resent_by")
    )
    return resent.hint("shuffle_hash")


def _with_copy_numbers(receipts: DataFrame) -> DataFrame:
    in_order = Window.partitionBy(*MESSAGE, "subscription").orderBy("received_ns", "attempt", "consumer")
    so_far = in_order.rowsBetween(Window.unboundedPreceding, Window.currentRow)
    further = (F.col("copy") > 1) & ~F.col("redelivered")
    return (
        receipts.withColumn("copy", F.row_number().over(in_order))
        .withColumn("first_attempt", F.first("attempt").over(so_far))
        .withColumn("first_received_ns", F.first("received_ns").over(so_far))
        .withColumn("duplicate", further)
        .withColumn("by_resend", further & (F.col("attempt") != F.col("first_attempt")))
    )


def first(deliveries: DataFrame) -> DataFrame:
    """Each message once for each subscription: its first arrival."""
    return deliveries.where(F.col("copy") == 1)


def out_of_order(deliveries: DataFrame) -> DataFrame:
    """First deliveries with a lower seq than one that the same producer's messages reached the consumer with before.

    Their STREAM, seq, from_broker, due_ns and received_ns, and overtaken_by: the highest seq received earlier.
    Deliveries of one and the same moment have no order: sorted by seq, none of them comes after a higher one.
    """
    earlier = Window.partitionBy(*STREAM).orderBy("received_ns", "seq").rowsBetween(Window.unboundedPreceding, -1)
    return (
        first(deliveries)
        .select(*STREAM, "seq", "from_broker", "due_ns", "received_ns")
        .withColumn("overtaken_by", F.max("seq").over(earlier))
        .where(F.col("seq") < F.col("overtaken_by"))
    )


def reordered(out_of_order: DataFrame) -> DataFrame:
    """Rows of REORDERED."""
    behind = F.col("overtaken_by") - F.col("seq")
    return out_of_order.groupBy("destination", "subscription", "producer").agg(
        F.count("*").alias("reordered"), F.max(behind).alias("furthest")
    )


def unexpected() -> Column:
    """True for a delivery of a message without a recorded send attempt."""
    return F.col("due_ns").isNull()
