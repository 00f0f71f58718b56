"""Builds one row per sent message, over all its attempts, and one row per delivery.

A message is a (producer, seq) pair. Resends after a failover are further attempts of the same message. A delivery is a
message's first delivery or a duplicate. Deliveries need a readable identity; unreadable and foreign bodies are
`strangers`.
"""

from collections.abc import Sequence

import polars as pl

from analysis.packed_keys import is_repeated
from records.tables.schemas import UNKNOWN

MESSAGE = ["producer", "seq"]
"""The key of a message."""

WORST_TO_BEST = ("failed", "unconfirmed", "in_doubt", "acked")
"""A message has the best outcome of all its attempts. In doubt is better than failed: the broker may have it."""
OUTCOME = pl.Enum(WORST_TO_BEST)


def messages(sends: pl.DataFrame) -> pl.DataFrame:
    """Return one row per message.

    due_ns: the first due time. first_attempt, sent_ns, from_broker, destination, blocked: values of the first recorded
    attempt. own_ns: the generator's own lag, from ready to sent of that attempt; never negative. outcome: the best of
    all attempts. acked_ns: the first confirmation, or null. attempts: number of attempts. last_sent_ns: when the last
    attempt was sent.
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
    """Count the messages by best outcome."""
    by_outcome = messages.group_by(pl.col("outcome").cast(pl.String))
    return by_outcome.agg(pl.len().cast(pl.Int64).alias("messages"))


IDENTIFIED = ("intact", "corrupted")


def strangers(receipts: pl.DataFrame) -> pl.DataFrame:
    """Return deliveries that cannot be matched to a message of this run."""
    return receipts.filter(~pl.col("integrity").is_in(IDENTIFIED))


def foreign(strangers: pl.DataFrame, leftovers: pl.DataFrame) -> pl.DataFrame:
    """Return one row per place with messages of other clients or runs: destination, broker, found, messages.

    ``found``: the messages were not received, but found on the queue after the drain. Foreign dead letters do not
    count, because all clients of a broker share its dead-letter queues.
    """
    received = strangers.filter(pl.col("integrity") == "foreign").select(
        "destination", "broker", pl.lit(False).alias("found")
    )
    left = leftovers.filter((pl.col("producer") == UNKNOWN) & ~pl.col("dead_letter")).select(
        pl.concat_str(pl.lit("queue://"), "queue").alias("destination"), "broker", pl.lit(True).alias("found")
    )
    where = ["destination", "broker", "found"]
    return pl.concat([received, left]).group_by(where).agg(pl.len().cast(pl.Int64).alias("messages"))


def deliveries(receipts: pl.DataFrame, messages: pl.DataFrame, sends: pl.DataFrame) -> pl.DataFrame:
    """Return one row per delivery: its receipt, its copy number, and values of its message.

    copy: 1 for the first delivery of a message to a subscription, counted in order of receipt. duplicate: a further
    copy that the broker did not mark as redelivered. by_resend: a duplicate with a different attempt than the first
    copy. A copy of an unrecorded attempt is neither, and does not make other copies duplicates.
    due_ns: the message's first due time, null if no send is recorded (unexpected). sent_ns and from_broker: values of
    the received attempt. If that attempt is not recorded, sent_ns is null and from_broker is the first attempt's.
    first_sent_ns: when the first attempt was sent. own_ns: the generator's own lag at the first attempt.
    """
    copies = _with_copy_numbers(receipts)
    to = [*MESSAGE, "subscription"]
    first_attempts = messages.select(
        *MESSAGE,
        "due_ns",
        "own_ns",
        pl.col("first_attempt").alias("known_attempt"),
        pl.col("sent_ns").alias("first_sent_ns"),
        pl.col("from_broker").alias("entered_at"),
    )
    of_the_first = pl.col("attempt") == pl.col("known_attempt")
    entered_at = pl.col("entered_at").fill_null("")
    joined = (
        copies.rename({"broker": "to_broker"})
        .join(first_attempts, MESSAGE, how="left")
        .join(_resends(sends), [*MESSAGE, "attempt"], how="left")
        .with_columns(
            pl.when(of_the_first).then("first_sent_ns").otherwise("resent_ns").alias("sent_ns"),
            pl.when(of_the_first).then(entered_at).otherwise(pl.coalesce("resent_by", entered_at)).alias("from_broker"),
        )
        .drop("known_attempt", "entered_at", "resent_ns", "resent_by")
    )
    odd = joined.filter(unknown_attempt()).select(to).unique()
    if odd.is_empty():
        return joined
    usual, with_odd = joined.join(odd, to, how="anti"), joined.join(odd, to, how="semi")
    return pl.concat([usual, _without_unknown_duplicates(with_odd.sort("copy"), to)])


def _without_unknown_duplicates(copies: pl.DataFrame, to: Sequence[str]) -> pl.DataFrame:
    """Mark duplicates among the ordered copies of each message. Copies of unknown attempts are never duplicates."""
    known = ~unknown_attempt()
    first_known = pl.col("attempt").filter(known).first().over(to)
    duplicate = known & (known.cum_sum().over(to) > 1) & ~pl.col("redelivered")
    return copies.with_columns(
        duplicate.alias("duplicate"), (duplicate & (pl.col("attempt") != first_known)).alias("by_resend")
    )


def _resends(sends: pl.DataFrame) -> pl.DataFrame:
    """Return all attempts after the first."""
    return sends.filter(pl.col("attempt") > 1).select(
        *MESSAGE, "attempt", pl.col("sent_ns").alias("resent_ns"), pl.col("broker").alias("resent_by")
    )


def _with_copy_numbers(receipts: pl.DataFrame) -> pl.DataFrame:
    """Number the copies. Most messages have a single delivery per subscription and need no sorting."""
    to = [*MESSAGE, "subscription"]
    receipts = receipts.filter(pl.col("integrity").is_in(IDENTIFIED))
    several = is_repeated(receipts, to)
    once = (receipts if several is None else receipts.filter(~several)).with_columns(
        pl.lit(1, pl.Int32).alias("copy"),
        pl.col("attempt").alias("first_attempt"),
        pl.col("received_ns").alias("first_received_ns"),
        pl.lit(False).alias("duplicate"),
        pl.lit(False).alias("by_resend"),
    )
    if several is None:
        return once
    further = (pl.col("copy") > 1) & ~pl.col("redelivered")
    copies = (
        receipts.filter(several)
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
    """Return the first delivery of each message to each subscription."""
    return deliveries.filter(pl.col("copy") == 1)


def unknown_attempt() -> pl.Expr:
    """Return an expression that is true for a delivery of an unrecorded attempt of a recorded message."""
    return pl.col("due_ns").is_not_null() & pl.col("sent_ns").is_null()


def unexpected() -> pl.Expr:
    """Return an expression that is true for a delivery of a message without a recorded send attempt."""
    return pl.col("due_ns").is_null()
