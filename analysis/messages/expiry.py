"""Decides which of the missing messages expired, by the brokers' own counts.

A message whose time to live was over, and that is nowhere to be found, may have expired or have been lost. Brokers
count the messages of each queue that expired (`expired_count`), so of a queue that many are taken for expired and any
further ones for lost. Of a topic brokers tell no such count: there nobody knows.
"""

from collections.abc import Mapping
from typing import Any

import polars as pl
import pyarrow as pa

BETWEEN = ("past_ttl", "past_ttl_unconfirmed")
"""Counts of messages that are nowhere and past their time to live, until `settled` decides."""


def expired_counts(samples: pl.DataFrame, *, fresh: bool) -> dict[str, int]:
    """By queue: how many of its messages expired on all brokers in the run.

    ``fresh``: the brokers are the run's own, so that what they counted before the first sample is the run's too. A
    broker that is started again counts from 0.
    """
    value, before = pl.col("value"), pl.col("value").shift(1).over("broker", "object")
    first = value if fresh else pl.lit(0)
    more = pl.when(before.is_null()).then(first).when(value >= before).then(value - before).otherwise(value)
    counted = samples.filter((pl.col("kind") == "queue") & (pl.col("metric") == "expired_count")).sort("at_ns")
    expired = counted.with_columns(more.alias("more")).group_by("object").agg(pl.sum("more"))
    return dict(expired.iter_rows())


def settled(accounting: pa.Table, counted: Mapping[str, int], *, searched: bool) -> tuple[pa.Table, tuple[str, ...]]:
    """The accounting with each message of BETWEEN counted as expired, lost, missing or unaccounted.

    ``counted``: expired messages by queue, as brokers say. ``searched``: whether every place was. Also returns a
    sentence for each subscription whose messages may have expired or not.
    """
    rows, notes = accounting.to_pylist(), []
    for row in rows:
        if _settle(row, counted.get(row["subscription"]), searched):
            notes.append(
                f"{row['destination']}: messages past their time to live are nowhere, and no broker counts those that "
                f"expired for {row['subscription']}"
            )
    return pa.Table.from_pylist(rows, accounting.schema), tuple(notes)


def _settle(row: dict[str, Any], counted: int | None, searched: bool) -> bool:
    """Decide for one subscription; whether nobody knows of some."""
    acked, unconfirmed = row["past_ttl"], row["past_ttl_unconfirmed"]
    row["past_ttl"] = row["past_ttl_unconfirmed"] = 0
    left = max(0, (counted or 0) - row["expired"])
    expired = min(acked, left)
    more = min(unconfirmed, left - expired)
    row["expired"] += expired + more
    known = searched and counted is not None
    row["lost" if known else "unaccounted"] += acked - expired
    row["missing_unconfirmed" if known else "unaccounted"] += unconfirmed - more
    return counted is None and acked + unconfirmed > 0
