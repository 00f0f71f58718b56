"""Sums up for how long brokers took nothing from producers, by the clients' own events."""

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F


def periods(events: DataFrame) -> DataFrame:
    """One row a period of one producer: broker, began_ns, took_ns."""
    # A period may begin at the very moment when the one before it ended: ``unblocked`` comes first.
    one_after_the_other = Window.partitionBy("client", "broker", "reason").orderBy("at_ns", F.desc("event"))
    return (
        events.where(F.col("event").isin("blocked", "unblocked"))
        .withColumn("ended_ns", F.lead("at_ns").over(one_after_the_other))
        .where((F.col("event") == "blocked") & F.col("ended_ns").isNotNull())
        .select("broker", F.col("at_ns").alias("began_ns"), (F.col("ended_ns") - F.col("at_ns")).alias("took_ns"))
    )


def blocked(events: DataFrame) -> DataFrame:
    """One row: how many periods, total_ns of them all, longest_ns, and the brokers."""
    return periods(events).agg(
        F.count("*").alias("periods"),
        F.coalesce(F.sum("took_ns"), F.lit(0)).alias("total_ns"),
        F.coalesce(F.max("took_ns"), F.lit(0)).alias("longest_ns"),
        F.sort_array(F.collect_set("broker")).alias("brokers"),
    )
