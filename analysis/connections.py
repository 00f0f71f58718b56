"""Counts the client connections of each broker at the end of each second, by the clients' own events.

A client that moves to a better broker opens the new connection before it leaves the old one, and has both meanwhile: it
counts connections: opened less ended.
"""

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from analysis.timeline import Timeline

OPENED, ENDED = ("connected",), ("lost", "closed")
_WHERE = ["broker", "group"]


def connections(events: DataFrame, timeline: Timeline) -> DataFrame:
    """Rows of CONNECTIONS: every broker and group ever seen, in every second from the first event to the last."""
    steps = changes(events, timeline)
    running = Window.partitionBy(*_WHERE).orderBy("second").rowsBetween(Window.unboundedPreceding, 0)
    return (
        _every_second(events, steps, timeline)
        .join(steps, ["second", *_WHERE], "left")
        .withColumn("count", F.sum(F.coalesce("change", F.lit(0))).over(running))
        .select("second", *_WHERE, "count")
    )


def changes(events: DataFrame, timeline: Timeline) -> DataFrame:
    """One row a (second, broker, group): by how many connections it changed."""
    event = F.col("event")
    change = F.when(event.isin(*OPENED), F.lit(1)).when(event.isin(*ENDED), F.lit(-1))
    return (
        events.withColumn("change", change)
        .where(F.col("change").isNotNull() & F.col("broker").isNotNull())
        .groupBy(timeline.second(F.col("at_ns")).alias("second"), *_WHERE)
        .agg(F.sum("change").alias("change"))
    )


def _every_second(events: DataFrame, steps: DataFrame, timeline: Timeline) -> DataFrame:
    second = timeline.second(F.col("at_ns"))
    span = events.agg(F.min(second).alias("from_second"), F.max(second).alias("to_second"))
    seconds = span.where(F.col("from_second").isNotNull()).select(
        F.explode(F.sequence("from_second", "to_second")).alias("second")
    )
    return steps.select(*_WHERE).distinct().crossJoin(seconds)
