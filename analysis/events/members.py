"""Tells events of connections by the users that share them: who has which connection is in ``members``."""

import polars as pl


def of_users(events: pl.DataFrame, members: pl.DataFrame) -> pl.DataFrame:
    """Rows of a ``client``, each once for every ``user`` of its connection.

    A client without members is its own user: the connection of a single message, or of a run from before ``members``.
    """
    shared = members.filter(pl.col("connection").is_not_null()).select(pl.col("connection").alias("client"), "user")
    return events.join(shared, "client", how="left").with_columns(pl.coalesce("user", "client").alias("user"))
