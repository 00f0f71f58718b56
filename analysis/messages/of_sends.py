"""Makes one row of each message that was sent, over all its attempts.

A message is one (producer, seq); resends after a failover are further attempts of the same message.
"""

import polars as pl

MESSAGE = ["producer", "seq"]
"""What tells a message from others."""

WORST_TO_BEST = ("failed", "unconfirmed", "in_doubt", "acked")
"""What is claimed of a message is the best that any attempt came to. In doubt beats failed: it may be there."""
OUTCOME = pl.Enum(WORST_TO_BEST)


def messages(sends: pl.DataFrame) -> pl.DataFrame:
    """One row a message.

    due_ns: the first due time. first_attempt, sent_ns, from_broker, destination, blocked: of the first attempt on
    record. own_ns: the generator's own lag, by which that was sent after it was ready; never below 0. outcome: the best
    of any. acked_ns: the first confirmation, null without one. attempts: how many. last_sent_ns: of the last one.
    """
    acked_ns = pl.when(pl.col("outcome") == "acked").then("settled_ns")
    one_a_row = sends.select(
        *MESSAGE,
        "due_ns",
        pl.col("attempt").alias("first_attempt"),
        "sent_ns",
        (pl.col("sent_ns") - pl.col("ready_ns")).clip(0).alias("own_ns"),
        pl.col("broker").alias("from_broker"),
        "destination",
        "blocked",
        "outcome",
        acked_ns.alias("acked_ns"),
        pl.lit(1).alias("attempts"),
        pl.col("sent_ns").alias("last_sent_ns"),
    )
    resent = sends.filter(pl.col("attempt") > 1).select(MESSAGE).unique()
    if resent.is_empty():
        return one_a_row
    once = one_a_row.join(resent, MESSAGE, how="anti")
    return pl.concat([once, _over_attempts(one_a_row.join(resent, MESSAGE, how="semi"))])


def _over_attempts(sends: pl.DataFrame) -> pl.DataFrame:
    of_first = ("first_attempt", "sent_ns", "own_ns", "from_broker", "destination", "blocked")
    in_order = sends.sort("first_attempt", "sent_ns", "from_broker")
    return (
        in_order.group_by(MESSAGE)
        .agg(
            pl.min("due_ns"),
            *[pl.first(name) for name in of_first],
            pl.max("outcome"),
            pl.min("acked_ns"),
            pl.len().cast(pl.Int32).alias("attempts"),
            pl.max("last_sent_ns"),
        )
        .select(sends.columns)
    )


def outcomes(messages: pl.DataFrame) -> pl.DataFrame:
    """How many messages came to each outcome as their best."""
    by_outcome = messages.group_by(pl.col("outcome").cast(pl.String))
    return by_outcome.agg(pl.len().cast(pl.Int64).alias("messages"))
