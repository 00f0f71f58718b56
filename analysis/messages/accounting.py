"""Counts the messages of each subscription by what became of them."""

from collections.abc import Mapping
from functools import reduce
from typing import cast, get_type_hints

import polars as pl
import pyarrow as pa
import pyarrow.compute as pc

from analysis.messages.deliveries import unexpected
from analysis.messages.expiry import BETWEEN
from analysis.messages.outcomes import NOBODY
from records.messages import NOT_RECEIVED, Messages
from records.results import ACCOUNTING

OUTCOMES = ("acked", "failed", "in_doubt", "unconfirmed")
SUBSCRIPTION = ["destination", "subscription"]

BEYOND_THE_TABLE = (
    "redelivered",
    "foreign",
    "missing_unconfirmed",
    "left_unconfirmed",
    "refused_yet_received",
    "repeated",
    "unaccounted",
    "missed_away",
    *BETWEEN,
    "expired_yet_received",
    "unselected_yet_received",
)
"""Counted with the rest and needed for the summary, but no columns of the result table."""

ADDED_UP = (*ACCOUNTING.names[len(SUBSCRIPTION) :], *BEYOND_THE_TABLE)
DERIVED = ("failed_not_received", "in_doubt_not_received", "unowed_yet_received")
"""Follow from the others. A message that nobody was subscribed for has none of them."""

COUNTS = (*ADDED_UP, *DERIVED)


def counts(
    expected: pl.DataFrame, outcomes: pl.DataFrame, deliveries: pl.DataFrame, strangers: pl.DataFrame
) -> pl.DataFrame:
    """ADDED_UP by subscription, of some messages or all of them; without `of_order`, which takes all of them.

    ``deliveries``: as `Expectations.marked` returns them. A body with an unreadable identity counts as corrupted: it is
    not as any producer sent it.
    """
    of_each = (of_expected(expected), of_outcomes(outcomes), of_deliveries(deliveries), of_strangers(strangers))
    return added_up(pl.concat(of_each, how="diagonal"))


def added_up(counts: pl.DataFrame) -> pl.DataFrame:
    """One row a subscription, of rows of several kinds or parts of a run. A column that is missing has 0."""
    missing = [pl.lit(0, pl.Int64).alias(name) for name in ADDED_UP if name not in counts.columns]
    return counts.with_columns(missing).group_by(SUBSCRIPTION).agg(pl.sum(name) for name in ADDED_UP)


def with_derived(counts: pl.DataFrame) -> pl.DataFrame:
    """Each message that a subscription was to have was received, or is one of NOT_RECEIVED.

    So those that were received are the rest, and what was received beyond that was not owed.
    """
    missing = reduce(pl.Expr.__add__, (pl.col(name) for name in (*NOT_RECEIVED, *BETWEEN)))
    return counts.with_columns(
        _owed(pl.col("failed") - pl.col("refused_yet_received")).alias("failed_not_received"),
        _owed(pl.col("in_doubt") - pl.col("recovered")).alias("in_doubt_not_received"),
    ).with_columns(_owed(pl.col("received") + missing - pl.col("sent")).alias("unowed_yet_received"))


def _owed(count: pl.Expr) -> pl.Expr:
    return pl.when(pl.col("subscription") == NOBODY).then(0).otherwise(count)


def messages(outcomes: Mapping[str, int], accounting: pa.Table, withheld: int) -> Messages:
    """The summary's part: messages by outcome, and what the subscriptions together made of them."""
    of_outcome = {name: outcomes.get(name, 0) for name in OUTCOMES}
    known = of_outcome | {"sent": sum(of_outcome.values()), "withheld": withheld, "expected": owed(accounting)}

    def total(column: str) -> int:
        return int(pc.sum(accounting[column]).as_py() or 0)

    names = get_type_hints(Messages)
    return cast(Messages, {name: known[name] if name in known else total(name) for name in names})


def owed(accounting: pa.Table) -> int:
    """(message, subscription) pairs: a topic's message that nobody was subscribed for has none."""
    subscribed = accounting.filter(pc.not_equal(accounting["subscription"], NOBODY))
    return int(pc.sum(subscribed["sent"]).as_py() or 0)


def of_expected(expected: pl.DataFrame) -> pl.DataFrame:
    outcomes = [_count(name, pl.col("outcome") == name) for name in OUTCOMES]
    return expected.group_by(SUBSCRIPTION).agg(pl.len().cast(pl.Int64).alias("sent"), *outcomes)


def of_outcomes(outcomes: pl.DataFrame) -> pl.DataFrame:
    ends = (
        "lost",
        "unaccounted",
        "missed_away",
        "stranded",
        "dead_lettered",
        "expired",
        "unselected",
        *BETWEEN,
        "recovered",
        "missing_unconfirmed",
        "left_unconfirmed",
        "refused_yet_received",
    )
    return outcomes.group_by(SUBSCRIPTION).agg(_count(name, pl.col("message_outcome") == name) for name in ends)


def of_deliveries(deliveries: pl.DataFrame) -> pl.DataFrame:
    return deliveries.group_by(SUBSCRIPTION).agg(
        _count("received", pl.col("copy") == 1),
        _count("duplicated", pl.col("duplicate")),
        _count("duplicated_by_resend", pl.col("by_resend")),
        _count("redelivered", pl.col("redelivered")),
        _count("repeated", pl.col("redelivered") & (pl.col("copy") > 1)),
        _count("corrupted", pl.col("integrity") == "corrupted"),
        _count("unexpected", unexpected()),
        _count("expired_yet_received", pl.col("late")),
        _count("unselected_yet_received", pl.col("unselected")),
    )


def of_order(out_of_order: pl.DataFrame) -> pl.DataFrame:
    return out_of_order.group_by(SUBSCRIPTION).agg(pl.len().cast(pl.Int64).alias("reordered"))


def of_strangers(strangers: pl.DataFrame) -> pl.DataFrame:
    return strangers.group_by(SUBSCRIPTION).agg(
        _count("corrupted", pl.col("integrity") == "unreadable"), _count("foreign", pl.col("integrity") == "foreign")
    )


def _count(name: str, condition: pl.Expr) -> pl.Expr:
    return condition.sum().cast(pl.Int64).alias(name)
