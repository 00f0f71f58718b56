"""Sums up for how long brokers took nothing from producers, by the clients' own events."""

import polars as pl

from records.load import Blocked
from records.units import NS_PER_MS


def periods(events: pl.DataFrame) -> pl.DataFrame:
    """One row a period of one producer: broker, began_ns, took_ns."""
    ended_ns = pl.col("at_ns").shift(-1).over("client", "broker", "reason")
    # A period may begin at the very moment when the one before it ended: ``unblocked`` comes first.
    return (
        events.filter(pl.col("event").is_in(["blocked", "unblocked"]))
        .sort("at_ns", "event", descending=[False, True])
        .with_columns(ended_ns.alias("ended_ns"))
        .filter((pl.col("event") == "blocked") & pl.col("ended_ns").is_not_null())
        .select("broker", pl.col("at_ns").alias("began_ns"), (pl.col("ended_ns") - pl.col("at_ns")).alias("took_ns"))
    )


def blocked(events: pl.DataFrame) -> Blocked:
    """The summary's part."""
    every = periods(events)
    took_ns = every["took_ns"].to_list()
    return Blocked(
        periods=len(took_ns),
        total_ms=sum(took_ns) / NS_PER_MS,
        longest_ms=max(took_ns, default=0) / NS_PER_MS,
        brokers=sorted(set(every["broker"].drop_nulls().to_list())),
    )
