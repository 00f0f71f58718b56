"""Tells events of connections by the users that share them: who has which connection is in ``members``."""

from pyspark.sql import DataFrame
from pyspark.sql import functions as F


def of_users(events: DataFrame, members: DataFrame) -> DataFrame:
    """Rows of a ``client``, each once for every ``user`` of its connection.

    A client without members is its own user: the connection of a single message, or of a run from before ``members``.
    """
    shared = members.where(F.col("connection").isNotNull()).select(F.col("connection").alias("client"), "user")
    return events.join(F.broadcast(shared), "client", "left").withColumn("user", F.coalesce("user", "client"))
