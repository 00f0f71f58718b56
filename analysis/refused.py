"""Counts the messages that no broker took, by the broker that refused them."""

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from analysis.messages import MESSAGE, laid_out


def refused(sends: DataFrame, messages: DataFrame) -> DataFrame:
    """One row a broker: messages whose last attempt it refused, none of their attempts having come to more.

    A message that was never written has no row: no broker was asked.
    """
    failed = messages.where(F.col("outcome") == "failed").select(*MESSAGE)
    attempts = laid_out(sends.where((F.col("outcome") == "failed") & (F.col("broker") != "")))
    return (
        attempts.join(failed, MESSAGE, "left_semi")
        .groupBy(*MESSAGE)
        .agg(F.max_by("broker", "attempt").alias("broker"))
        .groupBy("broker")
        .agg(F.count("*").alias("messages"))
        .orderBy("broker")
    )
