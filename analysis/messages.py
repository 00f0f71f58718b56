"""What is known of each message that was sent, over all its attempts?

A message is one (producer, seq); resends after a failover are further attempts of the same message.
"""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

MESSAGE = ["producer", "seq"]

WORST_TO_BEST = ("failed", "unconfirmed", "in_doubt", "acked")
"""What is claimed of a message is the best that any attempt came to. In doubt beats failed: it may be there."""


def messages(sends: DataFrame) -> DataFrame:
    """One row a message.

    due_ns: the first due time. sent_ns, from_broker, destination, blocked: of the first attempt. outcome: the best of
    any. acked_ns: the first confirmation, null without one. attempts: array of (attempt, sent_ns, broker) in order.
    """
    of_one = sends.groupBy(*MESSAGE).agg(
        F.min("due_ns").alias("due_ns"),
        F.max(_goodness(F.col("outcome"))).alias("goodness"),
        F.min(F.when(F.col("outcome") == "acked", F.col("settled_ns"))).alias("acked_ns"),
        F.array_sort(F.collect_list(F.struct("attempt", "sent_ns", "broker", "destination", "blocked"))).alias("all"),
    )
    first = F.col("all")[0]
    return of_one.select(
        *MESSAGE,
        "due_ns",
        first["sent_ns"].alias("sent_ns"),
        first["broker"].alias("from_broker"),
        first["destination"].alias("destination"),
        first["blocked"].alias("blocked"),
        F.array(*map(F.lit, WORST_TO_BEST))[F.col("goodness")].alias("outcome"),
        "acked_ns",
        F.col("all").alias("attempts"),
    )


def _goodness(outcome: Column) -> Column:
    """The place of an outcome in WORST_TO_BEST, as an int."""
    return (F.array_position(F.array(*map(F.lit, WORST_TO_BEST)), outcome) - F.lit(1)).cast("int")
