"""Counts the messages left on queues by queue, broker and outcome, and the messages that brokers rejected."""

from typing import cast

import polars as pl

from analysis.messages.deliveries import MESSAGE
from analysis.messages.outcomes import place_name
from records.figures.messages import LeftBehind
from records.tables.schemas import UNKNOWN

UNSENT = "unsent"
COPIES = ("recovered", "refused_yet_received")
"""Outcomes of messages that were received: the message on the queue is another copy."""


def left_behind(leftovers: pl.DataFrame, outcomes: pl.DataFrame, messages: pl.DataFrame) -> pl.DataFrame:
    """Return one row per queue, broker and outcome. Foreign messages are omitted.

    outcome: a `message_outcome` of a message found there, in_doubt, unsent (its send is not recorded), or copy (it was
    received, or was also found in a place that shows more).
    """
    lying = outcomes.filter(pl.col("found_at").is_not_null() & ~pl.col("message_outcome").is_in(COPIES))
    there = lying.group_by(*MESSAGE, "found_at").agg(pl.min("message_outcome").alias("known"))
    received = outcomes.filter(pl.col("message_outcome") == "recovered").select(MESSAGE)
    open_ones = messages.filter(pl.col("outcome") == "in_doubt").select(*MESSAGE, pl.lit("in_doubt").alias("in_doubt"))
    in_doubt = open_ones.join(received, MESSAGE, how="anti")
    ours = leftovers.filter(pl.col("producer") != UNKNOWN).with_columns(place_name().alias("found_at"))
    sent = messages.select(MESSAGE).join(ours, MESSAGE, how="semi").with_columns(pl.lit(True).alias("sent"))
    unsent = pl.when(pl.col("sent").is_null()).then(pl.lit(UNSENT))
    counted = (
        ours.join(there, [*MESSAGE, "found_at"], how="left")
        .join(in_doubt, MESSAGE, how="left")
        .join(sent, MESSAGE, how="left")
        .with_columns(pl.coalesce("known", "in_doubt", unsent, pl.lit("copy")).alias("outcome"))
        .group_by("queue", "broker", "outcome")
    )
    return counted.agg(pl.len().cast(pl.Int64).alias("messages"))


def unsent(leftovers: pl.DataFrame, messages: pl.DataFrame) -> pl.DataFrame:
    """Return the leftovers of this run without a recorded send."""
    ours = leftovers.filter(pl.col("producer") != UNKNOWN)
    return ours.join(messages.select(MESSAGE).join(ours, MESSAGE, how="semi"), MESSAGE, how="anti")


def sort_by_count(left_behind: pl.DataFrame) -> list[LeftBehind]:
    """Return the summary's section, largest counts first."""
    in_order = left_behind.sort("messages", "queue", "broker", "outcome", descending=[True, False, False, False])
    return cast(list[LeftBehind], in_order.to_dicts())


def count_rejected(sends: pl.DataFrame, messages: pl.DataFrame) -> pl.DataFrame:
    """Return one row per broker: number of messages whose last attempt it refused and that had no better outcome.

    Messages that were never written to a connection have no row.
    """
    failed = messages.filter(pl.col("outcome") == "failed").select(MESSAGE)
    attempts = sends.filter((pl.col("outcome") == "failed") & (pl.col("broker") != ""))
    last = attempts.join(failed, MESSAGE, how="semi").sort("attempt").unique(MESSAGE, keep="last", maintain_order=True)
    return last.group_by("broker").agg(pl.len().cast(pl.Int64).alias("messages"))
