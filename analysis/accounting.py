"""Counts the messages of each subscription by what became of them."""

from functools import reduce

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from analysis.deliveries import unexpected
from analysis.expiry import BETWEEN
from analysis.message_outcomes import NOBODY
from records.messages import NOT_RECEIVED
from records.results import ACCOUNTING

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


def accounting(
    expected: DataFrame, outcomes: DataFrame, deliveries: DataFrame, out_of_order: DataFrame, strangers: DataFrame
) -> DataFrame:
    """One row a subscription of a destination: the columns of ACCOUNTING, BEYOND_THE_TABLE and DERIVED. Never null.

    ``deliveries``: as `Expectations.marked` returns them. A body with an unreadable identity counts as corrupted: it is
    not as any producer sent it.
    """
    of_messages = (of_expected(expected), of_outcomes(outcomes))
    parts = (*of_messages, of_deliveries(deliveries), of_order(out_of_order), of_strangers(strangers))
    together = reduce(lambda one, other: one.unionByName(other, allowMissingColumns=True), parts)
    totals = [F.coalesce(F.sum(name), F.lit(0)).alias(name) for name in ADDED_UP]
    return _with_derived(together.groupBy(*SUBSCRIPTION).agg(*totals))


def _with_derived(counts: DataFrame) -> DataFrame:
    """Each message that a subscription was to have was received, or is one of NOT_RECEIVED.

    So those that were received are the rest, and what was received beyond that was not owed.
    """
    derived = counts.withColumn("failed_not_received", _owed(F.col("failed") - F.col("refused_yet_received")))
    derived = derived.withColumn("in_doubt_not_received", _owed(F.col("in_doubt") - F.col("recovered")))
    missing = reduce(Column.__add__, (F.col(name) for name in (*NOT_RECEIVED, *BETWEEN)))
    return derived.withColumn("unowed_yet_received", _owed(F.col("received") + missing - F.col("sent")))


def _owed(count: Column) -> Column:
    return F.when(F.col("subscription") == NOBODY, F.lit(0)).otherwise(count).cast("bigint")


def of_expected(expected: DataFrame) -> DataFrame:
    outcomes = [_count(name, F.col("outcome") == name) for name in ("acked", "failed", "in_doubt", "unconfirmed")]
    return expected.groupBy(*SUBSCRIPTION).agg(F.count("*").alias("sent"), *outcomes)


def of_outcomes(outcomes: DataFrame) -> DataFrame:
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
    return outcomes.groupBy(*SUBSCRIPTION).agg(*[_count(name, F.col("message_outcome") == name) for name in ends])


def of_deliveries(deliveries: DataFrame) -> DataFrame:
    return deliveries.groupBy(*SUBSCRIPTION).agg(
        _count("received", F.col("copy") == 1),
        _count("duplicated", F.col("duplicate")),
        _count("duplicated_by_resend", F.col("by_resend")),
        _count("redelivered", F.col("redelivered")),
        _count("repeated", F.col("redelivered") & (F.col("copy") > 1)),
        _count("corrupted", F.col("integrity") == "corrupted"),
        _count("unexpected", unexpected()),
        _count("expired_yet_received", F.col("late")),
        _count("unselected_yet_received", F.col("unselected")),
    )


def of_order(out_of_order: DataFrame) -> DataFrame:
    return out_of_order.groupBy(*SUBSCRIPTION).agg(F.count("*").alias("reordered"))


def of_strangers(strangers: DataFrame) -> DataFrame:
    return strangers.groupBy(*SUBSCRIPTION).agg(
        _count("corrupted", F.col("integrity") == "unreadable"), _count("foreign", F.col("integrity") == "foreign")
    )


def _count(name: str, condition: Column) -> Column:
    return F.count_if(condition).alias(name)
