"""How long did each message take, from when it was due and from when it was sent? The canonical latency table.

A message is timed once a subscription, by its first receipt. Nothing is clamped: a negative duration has a bucket.
"""

from functools import reduce

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from analysis.buckets import bucket
from analysis.deliveries import first
from analysis.timeline import Timeline

KEY = ["measure", "from_broker", "to_broker", "hops", "phase", "second", "in_fault", "bucket"]


def durations(sends: DataFrame, messages: DataFrame, deliveries: DataFrame) -> DataFrame:
    """One row a duration: measure, from_broker, to_broker, hops, due_ns, from_ns, until_ns. All four measures.

    due_to_received is absent for a message of which no send is on record, sent_to_received for such an attempt.
    """
    received = first(deliveries)
    acked = sends.where(F.col("outcome") == "acked").withColumnRenamed("broker", "from_broker")
    return reduce(
        DataFrame.unionByName,
        [
            _durations("due_to_received", received, "due_ns", "received_ns"),
            _durations("sent_to_received", received, "sent_ns", "received_ns"),
            _durations("sent_to_settled", acked, "sent_ns", "settled_ns"),
            _durations("due_to_sent", messages, "due_ns", "sent_ns"),
        ],
    )


def _durations(measure: str, frame: DataFrame, began: str, ended: str) -> DataFrame:
    crossed = "to_broker" in frame.columns
    return frame.where(F.col(began).isNotNull() & F.col(ended).isNotNull()).select(
        F.lit(measure).alias("measure"),
        "from_broker",
        (F.col("to_broker") if crossed else F.lit("")).alias("to_broker"),
        (F.col("hops") if crossed else F.lit(None).cast("int")).alias("hops"),
        "due_ns",
        F.col(began).alias("from_ns"),
        F.col(ended).alias("until_ns"),
    )


def latency(durations: DataFrame, timeline: Timeline, clock_error_ns: int) -> DataFrame:
    """Rows of LATENCY, and of each the exact min_ns and max_ns, and how many lie below -clock_error_ns (impossible)."""
    took_ns = F.col("took_ns")
    return (
        durations.select(
            *KEY[:4],
            timeline.phase(F.col("due_ns")).alias("phase"),
            timeline.second(F.col("due_ns")).alias("second"),
            timeline.in_fault(F.col("from_ns"), F.col("until_ns")).alias("in_fault"),
            (F.col("until_ns") - F.col("from_ns")).alias("took_ns"),
        )
        .withColumn("bucket", bucket(took_ns))
        .groupBy(*KEY)
        .agg(
            F.count("*").alias("count"),
            F.min(took_ns).alias("min_ns"),
            F.max(took_ns).alias("max_ns"),
            _impossible(took_ns, clock_error_ns).alias("impossible"),
        )
    )


def _impossible(took_ns: Column, clock_error_ns: int) -> Column:
    return F.count_if(took_ns < F.lit(-clock_error_ns))
