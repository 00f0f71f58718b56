"""Marks each delivery: a message's first, or a duplicate.

This module distinguishes only deliveries with a readable identity; unreadable and foreign bodies are `strangers`.
"""

import polars as pl

from analysis.messages.of_sends import MESSAGE

IDENTIFIED = ("intact", "corrupted")


def strangers(receipts: pl.DataFrame) -> pl.DataFrame:
    """Deliveries that cannot be told to be of a message of this run."""
    return receipts.filter(~pl.col("integrity").is_in(IDENTIFIED))


def deliveries(receipts: pl.DataFrame, messages: pl.DataFrame, sends: pl.DataFrame) -> pl.DataFrame:
    """One row a delivery: its receipt, its copy number, and the message that it belongs to.

    copy: 1 for the first delivery of a message to a subscription, counted in order of receipt. duplicate: a further
    copy that the broker did not mark as redelivered; by_resend: a copy with another attempt than the first copy.
    due_ns: the message's first due time, null when no send of it is on record (unexpected). sent_ns and from_broker: of
    the received attempt. If that attempt is not on record, sent_ns is null and from_broker is the first attempt's.
    first_sent_ns: when the first attempt was sent. own_ns: the generator's own lag of the first attempt.
    """
    copies = _with_copy_numbers(receipts)
    first = messages.select(
        *MESSAGE,
        "due_ns",
        "own_ns",
        pl.col("first_attempt").alias("known_attempt"),
        pl.col("sent_ns").alias("first_sent_ns"),
        pl.col("from_broker").alias("entered_at"),
    )
    of_the_first = pl.col("attempt") == pl.col("known_attempt")
    entered_at = pl.col("entered_at").fill_null("")
    return (
        copies.rename({"broker": "to_broker"})
        .join(first, MESSAGE, how="left")
        .join(_resends(sends), [*MESSAGE, "attempt"], how="left")
        .with_columns(
            pl.when(of_the_first).then("first_sent_ns").otherwise("resent_ns").alias("sent_ns"),
            pl.when(of_the_first).then(entered_at).otherwise(pl.coalesce("resent_by", entered_at)).alias("from_broker"),
        )
        .drop("known_attempt", "entered_at", "resent_ns", "resent_by")
    )


def _resends(sends: pl.DataFrame) -> pl.DataFrame:
    """Attempts after the first."""
    return sends.filter(pl.col("attempt") > 1).select(
        *MESSAGE, "attempt", pl.col("sent_ns").alias("resent_ns"), pl.col("broker").alias("resent_by")
    )


def arrivals(receipts: pl.DataFrame) -> pl.DataFrame:
    """The receipts that are first deliveries, without their messages."""
    return first(_with_copy_numbers(receipts))


def _with_copy_numbers(receipts: pl.DataFrame) -> pl.DataFrame:
    """Nearly every message comes once to a subscription, and needs no sorting."""
    to = [*MESSAGE, "subscription"]
    receipts = receipts.filter(pl.col("integrity").is_in(IDENTIFIED))
    several = receipts.group_by(to).len().filter(pl.col("len") > 1).select(to)
    once = receipts.join(several, to, how="anti").with_columns(
        pl.lit(1, pl.Int32).alias("copy"),
        pl.col("attempt").alias("first_attempt"),
        pl.col("received_ns").alias("first_received_ns"),
        pl.lit(False).alias("duplicate"),
        pl.lit(False).alias("by_resend"),
    )
    further = (pl.col("copy") > 1) & ~pl.col("redelivered")
    copies = (
        receipts.join(several, to, how="semi")
        .sort("received_ns", "attempt", "consumer", "redelivered", "broker", "integrity")
        .with_columns(
            (pl.col("attempt").cum_count().over(to)).cast(pl.Int32).alias("copy"),
            pl.col("attempt").first().over(to).alias("first_attempt"),
            pl.col("received_ns").first().over(to).alias("first_received_ns"),
        )
        .with_columns(
            further.alias("duplicate"), (further & (pl.col("attempt") != pl.col("first_attempt"))).alias("by_resend")
        )
    )
    return pl.concat([once, copies])


def first(deliveries: pl.DataFrame) -> pl.DataFrame:
    """Each message once for each subscription: its first arrival."""
    return deliveries.filter(pl.col("copy") == 1)


def unexpected() -> pl.Expr:
    """True for a delivery of a message without a recorded send attempt."""
    return pl.col("due_ns").is_null()
