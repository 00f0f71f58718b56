"""Which delivery is a message's first, which is a duplicate, and which one came out of order?

Only deliveries whose identity could be read are told apart here; unreadable and foreign bodies are `strangers`.
"""

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from analysis.messages import MESSAGE

IDENTIFIED = ("intact", "corrupted")


def strangers(receipts: DataFrame) -> DataFrame:
    """Deliveries that cannot be told to be of a message of this run."""
    return receipts.where(~F.col("integrity").isin(*IDENTIFIED))


def deliveries(receipts: DataFrame, messages: DataFrame) -> DataFrame:
    """One row a delivery: its receipt, its copy number, and the message that it belongs to.

    copy: 1 for the first delivery of a message to a subscription, counted in order of receipt. duplicate: a further
    copy that the broker did not mark as redelivered; by_resend: one whose attempt is not that of the first copy.
    due_ns: the message's first due time, null when no send of it is on record (unexpected). sent_ns and from_broker:
    of the attempt that was received; sent_ns is null and from_broker that of the first attempt if it is not on record.
    """
    copies = _with_copy_numbers(receipts.where(F.col("integrity").isin(*IDENTIFIED)))
    known = messages.select(*MESSAGE, "due_ns", F.col("from_broker").alias("entered_at"), "attempts")
    received_attempt = F.filter("attempts", lambda attempt: attempt["attempt"] == F.col("attempt"))
    return (
        copies.join(known, MESSAGE, "left")
        .withColumn("received_attempt", F.get(received_attempt, F.lit(0)))
        .withColumn("sent_ns", F.col("received_attempt.sent_ns"))
        .withColumn("from_broker", F.coalesce("received_attempt.broker", "entered_at", F.lit("")))
        .withColumnRenamed("broker", "to_broker")
        .drop("attempts", "received_attempt", "entered_at")
    )


def _with_copy_numbers(receipts: DataFrame) -> DataFrame:
    in_order = Window.partitionBy(*MESSAGE, "subscription").orderBy("received_ns", "attempt", "consumer")
    further = (F.col("copy") > 1) & ~F.col("redelivered")
    return (
        receipts.withColumn("copy", F.row_number().over(in_order))
        .withColumn("first_attempt", F.first("attempt").over(in_order))
        .withColumn("first_received_ns", F.first("received_ns").over(in_order))
        .withColumn("duplicate", further)
        .withColumn("by_resend", further & (F.col("attempt") != F.col("first_attempt")))
    )


def first(deliveries: DataFrame) -> DataFrame:
    """Each message once a subscription, as it arrived first."""
    return deliveries.where(F.col("copy") == 1)


def out_of_order(deliveries: DataFrame) -> DataFrame:
    """First deliveries with a lower seq than one that the same producer's messages reached the consumer with before.

    Adds overtaken_by: the highest seq received earlier. Deliveries of one and the same moment have no order.
    """
    earlier = (
        Window.partitionBy("consumer", "subscription", "destination", "producer")
        .orderBy("received_ns")
        .rangeBetween(Window.unboundedPreceding, -1)
    )
    return (
        first(deliveries)
        .withColumn("overtaken_by", F.max("seq").over(earlier))
        .where(F.col("seq") < F.col("overtaken_by"))
    )


def unexpected() -> Column:
    """True for a delivery of a message of which no send attempt is on record."""
    return F.col("due_ns").isNull()
