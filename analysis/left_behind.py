"""Counts the messages that were left behind, by queue, broker and outcome."""

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from analysis.message_outcomes import place_name
from analysis.messages import MESSAGE, laid_out
from records.schemas import UNKNOWN

COPIES = ("recovered", "refused_yet_received")
"""Outcomes of messages that were received: what lies on a queue is one more copy."""


def left_behind(leftovers: DataFrame, outcomes: DataFrame, messages: DataFrame) -> DataFrame:
    """One row a queue, broker and outcome, with most messages first; without those of others than this run.

    outcome: a `message_outcome` if the message was found there, in_doubt, or copy (it was received, or is found in a
    place that says more).
    """
    found = outcomes.where(F.col("found_at").isNotNull() & ~F.col("message_outcome").isin(*COPIES))
    there = found.groupBy(*MESSAGE, "found_at").agg(F.min("message_outcome").alias("known"))
    open_ones = messages.where(F.col("outcome") == "in_doubt").select(*MESSAGE, "outcome")
    received = outcomes.where(F.col("message_outcome") == "recovered").select(*MESSAGE)
    in_doubt = open_ones.join(received, MESSAGE, "left_anti")
    ours = laid_out(leftovers.where(F.col("producer") != UNKNOWN)).withColumn("found_at", place_name())
    return (
        ours.join(there, [*MESSAGE, "found_at"], "left")
        .join(in_doubt, MESSAGE, "left")
        .withColumn("outcome", F.coalesce("known", "outcome", F.lit("copy")))
        .groupBy("queue", "broker", "outcome")
        .agg(F.count("*").alias("messages"))
        .orderBy(F.desc("messages"), "queue", "broker", "outcome")
    )
