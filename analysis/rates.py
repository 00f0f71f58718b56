"""Counts the messages that were due, sent, confirmed and delivered in each second, by broker."""

from functools import reduce

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from analysis.deliveries import first
from analysis.messages import WORST_TO_BEST
from analysis.timeline import Timeline


def rates(
    sends: DataFrame, messages: DataFrame, deliveries: DataFrame, strangers: DataFrame, timeline: Timeline
) -> DataFrame:
    """Rows of RATES. ``second`` is of the event itself, ``phase`` of the message's due time where it has one."""
    acked = sends.where(F.col("outcome") == "acked")
    moments = [
        _moments("due", messages, at="due_ns", broker="from_broker"),
        _moments("sent", sends, at="sent_ns"),
        _moments("acked", acked, at="settled_ns"),
        _moments("received", deliveries, at="received_ns", broker="to_broker"),
        _moments("received", strangers.withColumn("due_ns", F.col("received_ns")), at="received_ns"),
    ]
    return (
        reduce(DataFrame.unionByName, moments)
        .select(
            timeline.second(F.col("at_ns")).alias("second"),
            timeline.phase(F.coalesce("due_ns", "at_ns")).alias("phase"),
            "event",
            "broker",
        )
        .groupBy("second", "phase", "event", "broker")
        .agg(F.count("*").alias("count"))
    )


def _moments(event: str, frame: DataFrame, *, at: str, broker: str = "broker") -> DataFrame:
    return frame.select(
        F.lit(event).alias("event"), F.col(at).alias("at_ns"), "due_ns", F.col(broker).alias("broker")
    ).where(F.col("at_ns").isNotNull())


def totals(messages: DataFrame, deliveries: DataFrame, timeline: Timeline) -> DataFrame:
    """One row. ``outcomes``: a struct of how many messages came to each outcome as their best, in the whole run.

    due, sent, acked, received: messages for which that happened within the load, by its own time; blocked_slots.
    """

    def within(column: str) -> Column:
        return F.count_if(timeline.in_load(F.col(column))).alias(column.removesuffix("_ns"))

    outcomes = F.struct(*[F.count_if(F.col("outcome") == name).alias(name) for name in WORST_TO_BEST])
    blocked = F.count_if(timeline.in_load(F.col("due_ns")) & F.col("blocked")).alias("blocked_slots")
    sent = messages.agg(outcomes.alias("outcomes"), within("due_ns"), within("sent_ns"), within("acked_ns"), blocked)
    return sent.crossJoin(first(deliveries).agg(within("received_ns")))
