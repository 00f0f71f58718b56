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
    received = _durations(
        first(deliveries).where(F.col("due_ns").isNotNull()),
        due_to_received=("due_ns", "received_ns"),
        sent_to_received=("sent_ns", "received_ns"),
    )
    acked = sends.where(F.col("outcome") == "acked").withColumnRenamed("broker", "from_broker")
    settled = _durations(_not_received(acked), sent_to_settled=("sent_ns", "settled_ns"))
    lag = _durations(_not_received(messages), due_to_sent=("due_ns", "sent_ns"))
    return reduce(DataFrame.unionByName, (received, settled, lag))


def _not_received(frame: DataFrame) -> DataFrame:
    return frame.withColumns({"to_broker": F.lit(""), "hops": F.lit(None).cast("int")})


def _durations(frame: DataFrame, **ends: tuple[str, str]) -> DataFrame:
    """A row for each row and measure of which both ends are known, from one pass over the frame."""
    measures = (
        F.struct(F.lit(measure).alias("measure"), F.col(began).alias("from_ns"), F.col(ended).alias("until_ns"))
        for measure, (began, ended) in ends.items()
    )
    several = frame.select("from_broker", "to_broker", "hops", "due_ns", F.inline(F.array(*measures)))
    timed = several.where(F.col("from_ns").isNotNull() & F.col("until_ns").isNotNull())
    return timed.select("measure", "from_broker", "to_broker", "hops", "due_ns", "from_ns", "until_ns")


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
