"""Counts the messages of each subscription by outcome, and adds up the counts by kind of message.

A message that is past its time to live and was not found may have expired or been lost. Brokers count the expired
messages of each queue (`expired_count`). The analysis takes that number of a queue's missing messages as expired and
the others as lost. Brokers report no count for a topic, so the outcome of messages to it stays unknown.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import reduce
from typing import Any, cast, get_type_hints

import polars as pl
import pyarrow as pa
import pyarrow.compute as pc

from analysis.messages.deliveries import unexpected, unknown_attempt
from analysis.messages.outcomes import NOBODY, SEARCHED, Search
from records.figures.messages import KINDS, NOT_RECEIVED, KindCounts, Messages
from records.run import UserInfo
from records.tables.results import ACCOUNTING

BETWEEN = ("past_ttl", "past_ttl_unconfirmed")
"""Counts of messages past their time to live that were not found. `settled` decides their outcome."""
OUTCOMES = ("acked", "failed", "in_doubt", "unconfirmed")
SUBSCRIPTION = ["destination", "subscription"]

BEYOND_THE_TABLE = (
    "redelivered",
    "foreign",
    "unknown_attempts",
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
"""Additional counts for the summary, without columns in the result table."""

ADDED_UP = (*ACCOUNTING.names[len(SUBSCRIPTION) :], *BEYOND_THE_TABLE)
DERIVED = ("failed_not_received", "in_doubt_not_received", "unowed_yet_received")
"""Counts derived from the others; 0 for messages without a subscription."""

COUNTS = (*ADDED_UP, *DERIVED)


def counts(
    expected: pl.DataFrame, outcomes: pl.DataFrame, deliveries: pl.DataFrame, strangers: pl.DataFrame
) -> pl.DataFrame:
    """Return the counts ADDED_UP by subscription for all or some of the messages, except reordered ones.

    `count_reordered` counts these, as it needs all messages. ``deliveries``: the result of
    `Expectations.with_late_and_unselected`. A body with an unreadable identity counts as corrupted, because no producer
    sent it like that.
    """
    of_each = (
        count_expected(expected),
        count_outcomes(outcomes),
        count_deliveries(deliveries),
        count_strangers(strangers),
    )
    return added_up(pl.concat(of_each, how="diagonal"))


def added_up(counts: pl.DataFrame) -> pl.DataFrame:
    """Add up rows of several kinds or parts of a run to one row per subscription. Missing columns become 0."""
    missing = [pl.lit(0, pl.Int64).alias(name) for name in ADDED_UP if name not in counts.columns]
    return counts.with_columns(missing).group_by(SUBSCRIPTION).agg(pl.sum(name) for name in ADDED_UP)


def by_count(counts: pl.DataFrame) -> pl.DataFrame:
    """Return one row per subscription and count: ``counted`` (its name) and ``count``. Omit zeros except of sent."""
    rows = counts.unpivot(index=SUBSCRIPTION, variable_name="counted", value_name="count")
    return rows.filter((pl.col("count") != 0) | (pl.col("counted") == "sent"))


def by_subscription(counts: pl.DataFrame) -> pl.DataFrame:
    """Convert rows of `by_count` to one row per subscription."""
    of_name = {name: pl.col("count").filter(pl.col("counted") == name).sum() for name in ADDED_UP}
    return counts.group_by(SUBSCRIPTION).agg(count.alias(name) for name, count in of_name.items())


def with_derived(counts: pl.DataFrame) -> pl.DataFrame:
    """Add the DERIVED counts.

    Each message owed to a subscription was received or is one of NOT_RECEIVED. So the owed and received messages are
    the rest, and received messages beyond that number were not owed.
    """
    missing = reduce(pl.Expr.__add__, (pl.col(name) for name in (*NOT_RECEIVED, *BETWEEN)))
    return counts.with_columns(
        _owed(pl.col("failed") - pl.col("refused_yet_received")).alias("failed_not_received"),
        _owed(pl.col("in_doubt") - pl.col("recovered")).alias("in_doubt_not_received"),
    ).with_columns(_owed(pl.col("received") + missing - pl.col("sent")).alias("unowed_yet_received"))


def _owed(count: pl.Expr) -> pl.Expr:
    return pl.when(pl.col("subscription") == NOBODY).then(0).otherwise(count)


def messages(outcomes: Mapping[str, int], accounting: pa.Table, withheld: int) -> Messages:
    """Return the summary's section: messages by outcome, and the totals over all subscriptions."""
    of_outcome = {name: outcomes.get(name, 0) for name in OUTCOMES}
    counted = of_outcome | {"sent": sum(of_outcome.values()), "withheld": withheld, "expected": count_owed(accounting)}

    def total(column: str) -> int:
        return int(pc.sum(accounting[column]).as_py() or 0)

    names = get_type_hints(Messages)
    return cast(Messages, {name: counted[name] if name in counted else total(name) for name in names})


def count_owed(accounting: pa.Table) -> int:
    """Return the number of (message, subscription) pairs. A topic's message without a subscription has no pair."""
    subscribed = accounting.filter(pc.not_equal(accounting["subscription"], NOBODY))
    return int(pc.sum(subscribed["sent"]).as_py() or 0)


def count_expected(expected: pl.DataFrame) -> pl.DataFrame:
    outcomes = [_count(name, pl.col("outcome") == name) for name in OUTCOMES]
    return expected.group_by(SUBSCRIPTION).agg(pl.len().cast(pl.Int64).alias("sent"), *outcomes)


def count_outcomes(outcomes: pl.DataFrame) -> pl.DataFrame:
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


def count_deliveries(deliveries: pl.DataFrame) -> pl.DataFrame:
    return deliveries.group_by(SUBSCRIPTION).agg(
        _count("received", pl.col("copy") == 1),
        _count("duplicated", pl.col("duplicate")),
        _count("duplicated_by_resend", pl.col("by_resend")),
        _count("redelivered", pl.col("redelivered")),
        _count("repeated", pl.col("redelivered") & (pl.col("copy") > 1) & ~unknown_attempt()),
        _count("corrupted", pl.col("integrity") == "corrupted"),
        _count("unexpected", unexpected()),
        _count("unknown_attempts", unknown_attempt()),
        _count("expired_yet_received", pl.col("late")),
        _count("unselected_yet_received", pl.col("unselected")),
    )


def count_reordered(out_of_order: pl.DataFrame) -> pl.DataFrame:
    """Count messages received out of order. ``out_of_order``: rows of `order.summarized`."""
    return out_of_order.group_by(SUBSCRIPTION).agg(pl.sum("alike").alias("reordered"))


def count_strangers(strangers: pl.DataFrame) -> pl.DataFrame:
    return strangers.group_by(SUBSCRIPTION).agg(
        _count("corrupted", pl.col("integrity") == "unreadable"), _count("foreign", pl.col("integrity") == "foreign")
    )


def _count(name: str, condition: pl.Expr) -> pl.Expr:
    return condition.sum().cast(pl.Int64).alias(name)


def expired_counts(samples: pl.DataFrame, *, fresh: bool) -> dict[str, int]:
    """Return, by queue, how many messages expired on all brokers in the run.

    ``fresh``: the run started the brokers, so their counts before the first sample belong to the run too. A restarted
    broker counts from 0.
    """
    value, before = pl.col("value"), pl.col("value").shift(1).over("broker", "object")
    first_count = value if fresh else pl.lit(0)
    increase = pl.when(before.is_null()).then(first_count).when(value >= before).then(value - before).otherwise(value)
    counted = samples.filter((pl.col("kind") == "queue") & (pl.col("metric") == "expired_count")).sort("at_ns")
    expired = counted.with_columns(increase.alias("more")).group_by("object").agg(pl.sum("more"))
    return dict(expired.iter_rows())


def settled(
    accounting: pa.Table, counted: Mapping[str, int], search: Search = SEARCHED
) -> tuple[pa.Table, tuple[str, ...]]:
    """Count each message of BETWEEN as expired, lost, missing or unaccounted.

    ``counted``: expired messages by queue, as reported by the brokers. Also returns a sentence for each subscription if
    it is not known whether its messages expired.
    """
    rows, notes = accounting.to_pylist(), []
    for row in rows:
        of_queue = counted.get(row["subscription"]) if _is_queue(row) else None  # a subscription may have its name
        if _settle(row, of_queue, search.is_complete_for(row["subscription"])):
            notes.append(
                f"{row['destination']}: messages past their time to live were not found, and no broker counts the "
                f"expired messages of {row['subscription']}"
            )
    return pa.Table.from_pylist(rows, accounting.schema), tuple(notes)


def _settle(row: dict[str, Any], counted: int | None, searched: bool) -> bool:
    """Decide for one subscription. Return whether the outcome of some messages is unknown."""
    acked, unconfirmed = row["past_ttl"], row["past_ttl_unconfirmed"]
    row["past_ttl"] = row["past_ttl_unconfirmed"] = 0
    unused = max(0, (counted or 0) - row["expired"])
    expired = min(acked, unused)
    also_expired = min(unconfirmed, unused - expired)
    row["expired"] += expired + also_expired
    is_known = searched and counted is not None
    row["lost" if is_known else "unaccounted"] += acked - expired
    row["missing_unconfirmed" if is_known else "unaccounted"] += unconfirmed - also_expired
    return counted is None and acked + unconfirmed > 0


UNDELIVERED = ("lost", "missing_unconfirmed", "unaccounted", "stranded", "left_unconfirmed", "dead_lettered", "expired")
"""Outcomes of messages that a subscription was owed and did not receive, and whose send is not known to have failed."""
MODES = {frozenset({True}): "persistent", frozenset({False}): "non_persistent"}


def kinds(
    accounting: pa.Table,
    subscriptions: Iterable[Mapping[str, Any]],
    users: Sequence[UserInfo],
    queues: Collection[str] = (),
) -> dict[str, KindCounts]:
    """Return counts by kind of message, such as ``queue_persistent``.

    ``accounting``: includes the columns BEYOND_THE_TABLE. ``queues``: queues that get messages sent to other
    destinations. Messages without a subscription have no kind. Neither do messages of a destination that gets both
    persistent and non-persistent messages.
    """
    held = {(row["destination"], row["subscription"]): row["kind"] for row in subscriptions}
    counts_by_kind: dict[str, Counter[str]] = {}
    for row in accounting.to_pylist():
        kind = held.get((row["destination"], row["subscription"]))
        if kind is None and (row["subscription"] in queues or _is_queue(row)):
            kind = "queue"  # it has no consumer
        mode = MODES.get(_durable(row["destination"], users))
        if kind and mode:
            counts_by_kind.setdefault(f"{kind}_{mode}", Counter()).update(_counts(row))
    return {
        name: cast(KindCounts, {part: counts_by_kind[name][part] for part in KindCounts.__annotations__})
        for name in KINDS
        if name in counts_by_kind
    }


def _is_queue(row: Mapping[str, Any]) -> bool:
    return not str(row["destination"]).startswith("topic://")


def _durable(destination: str, users: Sequence[UserInfo]) -> frozenset[Any]:
    """Return the durability settings of a destination's producers."""
    producers = (user for user in users if user.role == "producer" and destination in user.destinations)
    return frozenset(user.settings.get("durable") for user in producers)


def _counts(row: Mapping[str, Any]) -> dict[str, int]:
    same = {name: int(row[name]) for name in KindCounts.__annotations__ if name in row}
    return {
        **same,
        "subscriptions": 1,
        "expected": int(row["sent"]),
        "pending": int(row["stranded"]) + int(row["left_unconfirmed"]),
        "undelivered": sum(int(row[name]) for name in UNDELIVERED),
    }
