"""Makes one row of each message that was sent, over all its attempts.

A message is one (producer, seq); resends after a failover are further attempts of the same message.
"""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

MESSAGE = ["seq", "producer", "block"]
"""What tells a message from others, once `laid_out`. A sort compares seq at once, the rest only where it is equal."""

BLOCK_BITS = 10
GROUP_BITS = 2

WORST_TO_BEST = ("failed", "unconfirmed", "in_doubt", "acked")
"""What is claimed of a message is the best that any attempt came to. In doubt beats failed: it may be there."""


def messages(sends: DataFrame) -> DataFrame:
    """One row a message, laid out by message.

    due_ns: the first due time. first_attempt, sent_ns, from_broker, destination, blocked: of the first attempt on
    record. own_ns: the generator's own lag, by which that was sent after it was ready; never below 0. outcome: the best
    of any. acked_ns: the first confirmation, null without one. attempts: how many. last_sent_ns: of the last one.
    """
    first = F.struct("attempt", "sent_ns", "ready_ns", "broker", "destination", "blocked")
    of_one = (
        laid_out(sends)
        .groupBy(*MESSAGE)
        .agg(
            F.min("due_ns").alias("due_ns"),
            F.max(_goodness(F.col("outcome"))).alias("goodness"),
            F.min(F.when(F.col("outcome") == "acked", F.col("settled_ns"))).alias("acked_ns"),
            F.count("*").alias("attempts"),
            F.max("sent_ns").alias("last_sent_ns"),
            F.min(first).alias("first"),
        )
    )
    return of_one.select(
        *MESSAGE,
        "due_ns",
        F.col("first.attempt").alias("first_attempt"),
        "first.sent_ns",
        F.greatest(F.lit(0), F.col("first.sent_ns") - F.col("first.ready_ns")).alias("own_ns"),
        F.col("first.broker").alias("from_broker"),
        "first.destination",
        "first.blocked",
        F.array(*map(F.lit, WORST_TO_BEST))[F.col("goodness")].alias("outcome"),
        "acked_ns",
        "attempts",
        "last_sent_ns",
    )


def laid_out(events: DataFrame) -> DataFrame:
    """The same rows with block. All rows of a block are in one partition, so no later step by message shuffles again.

    A block is a thousand seqs in a row of four neighbouring producers: messages that were due at about the same time.
    Therefore counts by second are small before they are shuffled. The producers spread a run of many producers with few
    messages each over the partitions. Aggregating by message before this shuffle would cost more than it saves: nearly
    every message is sent once and received once.
    """
    of_seq = F.call_function("shiftright", "seq", F.lit(BLOCK_BITS))
    of_producer = F.call_function("shiftright", "producer", F.lit(GROUP_BITS)).cast("bigint")
    block = F.call_function("shiftleft", of_seq, F.lit(32)).bitwiseXOR(of_producer)
    return events.withColumn("block", block).repartition("block")


def _goodness(outcome: Column) -> Column:
    """The place of an outcome in WORST_TO_BEST, as an int."""
    return (F.array_position(F.array(*map(F.lit, WORST_TO_BEST)), outcome) - F.lit(1)).cast("int")
