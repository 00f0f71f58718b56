"""Counts the messages of each subscription by what became of them, and adds up the counts by kind of message.

A message whose time to live was over, and that is nowhere to be found, may have expired or have been lost. Brokers
count the messages of each queue that expired (`expired_count`), so of a queue that many are taken for expired and any
further ones for lost. Of a topic brokers tell no such count: there nobody knows.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import reduce
from typing import Any, cast, get_type_hints

import polars as pl
import pyarrow as pa
import pyarrow.compute as pc

from analysis.messages.deliveries import unexpected, unknown_attempt
from analysis.messages.outcomes import NOBODY
from records.messages import KINDS, NOT_RECEIVED, KindCounts, Messages
from records.results import ACCOUNTING
from records.run import UserInfo

BETWEEN = ("past_ttl", "past_ttl_unconfirmed")
"""Counts of messages that are nowhere and past their time to live, until `settled` decides."""
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
"""Counted with the rest and needed for the summary, but no columns of the result table."""

ADDED_UP = (*ACCOUNTING.names[len(SUBSCRIPTION) :], *BEYOND_THE_TABLE)
DERIVED = ("failed_not_received", "in_doubt_not_received", "unowed_yet_received")
"""Follow from the others. A message that nobody was subscribed for has none of them."""

COUNTS = (*ADDED_UP, *DERIVED)


def counts(
    expected: pl.DataFrame, outcomes: pl.DataFrame, deliveries: pl.DataFrame, strangers: pl.DataFrame
) -> pl.DataFrame:
    """ADDED_UP by subscription, of some messages or all of them; without `count_reordered`, which takes all of them.

    ``deliveries``: as `Expectations.marked` returns them. A body with an unreadable identity counts as corrupted: it is
    not as any producer sent it.
    """
    of_each = (
        count_expected(expected),
        count_outcomes(outcomes),
        count_deliveries(deliveries),
        count_strangers(strangers),
    )
    return added_up(pl.concat(of_each, how="diagonal"))


def added_up(counts: pl.DataFrame) -> pl.DataFrame:
    """One row a subscription, of rows of several kinds or parts of a run. A column that is missing has 0."""
    missing = [pl.lit(0, pl.Int64).alias(name) for name in ADDED_UP if name not in counts.columns]
    return counts.with_columns(missing).group_by(SUBSCRIPTION).agg(pl.sum(name) for name in ADDED_UP)


def by_count(counts: pl.DataFrame) -> pl.DataFrame:
    """One row for each subscription and count: counted (its name) and count. Zeros are left out, except of sent."""
    rows = counts.unpivot(index=SUBSCRIPTION, variable_name="counted", value_name="count")
    return rows.filter((pl.col("count") != 0) | (pl.col("counted") == "sent"))


def by_subscription(counts: pl.DataFrame) -> pl.DataFrame:
    """One row for each subscription, of rows of `by_count`."""
    of_name = {name: pl.col("count").filter(pl.col("counted") == name).sum() for name in ADDED_UP}
    return counts.group_by(SUBSCRIPTION).agg(count.alias(name) for name, count in of_name.items())


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
    counted = of_outcome | {"sent": sum(of_outcome.values()), "withheld": withheld, "expected": owed(accounting)}

    def total(column: str) -> int:
        return int(pc.sum(accounting[column]).as_py() or 0)

    names = get_type_hints(Messages)
    return cast(Messages, {name: counted[name] if name in counted else total(name) for name in names})


def owed(accounting: pa.Table) -> int:
    """(message, subscription) pairs: a topic's message that nobody was subscribed for has none."""
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
    return out_of_order.group_by(SUBSCRIPTION).agg(pl.len().cast(pl.Int64).alias("reordered"))


def count_strangers(strangers: pl.DataFrame) -> pl.DataFrame:
    return strangers.group_by(SUBSCRIPTION).agg(
        _count("corrupted", pl.col("integrity") == "unreadable"), _count("foreign", pl.col("integrity") == "foreign")
    )


def _count(name: str, condition: pl.Expr) -> pl.Expr:
    return condition.sum().cast(pl.Int64).alias(name)


def expired_counts(samples: pl.DataFrame, *, fresh: bool) -> dict[str, int]:
    """By queue: how many of its messages expired on all brokers in the run.

    ``fresh``: the brokers are the run's own, so that what they counted before the first sample is the run's too. A
    broker that is started again counts from 0.
    """
    value, before = pl.col("value"), pl.col("value").shift(1).over("broker", "object")
    first_count = value if fresh else pl.lit(0)
    increase = pl.when(before.is_null()).then(first_count).when(value >= before).then(value - before).otherwise(value)
    counted = samples.filter((pl.col("kind") == "queue") & (pl.col("metric") == "expired_count")).sort("at_ns")
    expired = counted.with_columns(increase.alias("more")).group_by("object").agg(pl.sum("more"))
    return dict(expired.iter_rows())


def settled(
    accounting: pa.Table, counted: Mapping[str, int], *, searched: bool, shared: Collection[str] = ()
) -> tuple[pa.Table, tuple[str, ...]]:
    """The accounting with each message of BETWEEN counted as expired, lost, missing or unaccounted.

    ``counted``: expired messages by queue, as brokers say. ``searched``: whether every place was. ``shared``: queues
    from which other clients consumed. Also returns a sentence for each subscription whose messages may have expired or
    not.
    """
    rows, notes = accounting.to_pylist(), []
    for row in rows:
        of_queue = counted.get(row["subscription"]) if _is_queue(row) else None  # a subscription may have its name
        found = searched and not (_is_queue(row) and row["subscription"] in shared)
        if _settle(row, of_queue, found):
            notes.append(
                f"{row['destination']}: messages past their time to live are nowhere, and no broker counts those that "
                f"expired for {row['subscription']}"
            )
    return pa.Table.from_pylist(rows, accounting.schema), tuple(notes)


def _settle(row: dict[str, Any], counted: int | None, searched: bool) -> bool:
    """Decide for one subscription; whether nobody knows of some."""
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
"""What becomes of a message that a subscription was owed and did not get, of which the send is not known to fail."""
MODES = {frozenset({True}): "persistent", frozenset({False}): "non_persistent"}


def kinds(
    accounting: pa.Table,
    subscriptions: Iterable[Mapping[str, Any]],
    users: Sequence[UserInfo],
    queues: Collection[str] = (),
) -> dict[str, KindCounts]:
    """By name: ``queue_persistent`` and so on. ``accounting``: with the columns beyond the result table. ``queues``:
    names of those that messages to other destinations go to.

    Messages that nobody was subscribed for have no kind. Nor have those of a destination that gets persistent messages
    and others.
    """
    held = {(row["destination"], row["subscription"]): row["kind"] for row in subscriptions}
    counts_by_kind: dict[str, Counter[str]] = {}
    for row in accounting.to_pylist():
        kind = held.get((row["destination"], row["subscription"]))
        if kind is None and (row["subscription"] in queues or _is_queue(row)):
            kind = "queue"  # nobody consumes it
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
    """Whether messages to it are durable, by the settings of its producers."""
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
