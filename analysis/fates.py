"""What became of each message at each subscription that was to have it?

Jepsen's total queue, per subscription: what was attempted, acknowledged and received decides, over all attempts.
"""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from analysis.messages import MESSAGE, laid_out

QUEUE_PREFIX = "^queue://"
NOBODY = ""
"""The subscription of a topic's message that nobody was subscribed for."""


def expected(messages: DataFrame, subscriptions: DataFrame) -> DataFrame:
    """One row a (message, subscription): a queue's own, and each of a topic's that had begun before the first attempt.

    Adds subscription; it is NOBODY for a message to a topic that had no subscription then.
    """
    topics = (
        subscriptions.where(F.col("kind") != "queue")
        .groupBy("destination", F.col("subscription").alias("subscriber"))
        .agg(F.min("began_ns").alias("began_ns"))
        .withColumnRenamed("destination", "topic")
    )
    had_begun = (F.col("destination") == F.col("topic")) & (F.col("began_ns") <= F.col("sent_ns"))
    queue = F.when(~F.col("destination").startswith("topic://"), queue_name(F.col("destination")))
    return (
        messages.join(F.broadcast(topics), had_begun, "left")
        .withColumn("subscription", F.coalesce(queue, F.col("subscriber"), F.lit(NOBODY)))
        .drop("topic", "subscriber", "began_ns")
    )


def queue_name(column: Column) -> Column:
    """``queue://orders`` and ``orders`` are the same queue."""
    return F.regexp_replace(column, QUEUE_PREFIX, "")


def found(leftovers: DataFrame) -> DataFrame:
    """One row a message that was left somewhere: on a queue (from where it could still be read) before a dead one.

    dead_letter, and found_at: ``queue at broker``, one of them.
    """
    place = F.struct(F.col("dead_letter"), F.concat_ws(" at ", "queue", "broker").alias("found_at"))
    return laid_out(leftovers).groupBy(*MESSAGE).agg(F.min(place).alias("place")).select(*MESSAGE, "place.*")


def fates(expected: DataFrame, first_deliveries: DataFrame, found: DataFrame) -> DataFrame:
    """One row a (message, subscription) that came to a fate; none for what is as it should be, or was never promised.

    fate: lost | stranded | dead_lettered (acked, not received) | recovered (in doubt, received)
    | missing_unconfirmed (unconfirmed, neither received nor found).
    """
    received = first_deliveries.select(*MESSAGE, "subscription", F.lit(True).alias("received"))
    return (
        expected.join(received.hint("shuffle_hash"), [*MESSAGE, "subscription"], "left")
        .join(found.hint("shuffle_hash"), MESSAGE, "left")
        .withColumn("received", F.coalesce("received", F.lit(False)))
        .withColumn("fate", F.when(F.col("subscription") != NOBODY, _fate()))
        .where(F.col("fate").isNotNull())
    )


def _fate() -> Column:
    outcome, missing, nowhere = F.col("outcome"), ~F.col("received"), F.col("dead_letter").isNull()
    acked_and_missing = (outcome == "acked") & missing
    return (
        F.when(acked_and_missing & nowhere, "lost")
        .when(acked_and_missing & F.col("dead_letter"), "dead_lettered")
        .when(acked_and_missing, "stranded")
        .when((outcome == "in_doubt") & F.col("received"), "recovered")
        .when((outcome == "unconfirmed") & missing & nowhere, "missing_unconfirmed")
    )
