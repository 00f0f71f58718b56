"""Measures how long each destination took to deliver its first message, and how long until all of them had."""

from collections.abc import Sequence
from typing import Any

import polars as pl

from records.messages import Destinations, FirstReceiptSpread
from records.units import NS_PER_MS, NS_PER_S


def first_receipts(messages: pl.DataFrame, deliveries: pl.DataFrame) -> pl.DataFrame:
    """One row a destination. due_ns: when its first message was due, null if none was sent to it. received_ns: when the
    first one was received, null if none was."""
    sent = messages.group_by("destination").agg(pl.min("due_ns"))
    arrived = deliveries.group_by("destination").agg(pl.min("received_ns"))
    return earliest(pl.concat([sent, arrived], how="diagonal"))


def earliest(first_receipts: pl.DataFrame) -> pl.DataFrame:
    """One row a destination, of rows of several parts of a run."""
    return first_receipts.group_by("destination").agg(pl.min("due_ns"), pl.min("received_ns"))


def spread(rows: Sequence[dict[str, Any]]) -> Destinations:
    """The summary's part, of rows of `first_receipts`."""
    rows = [row for row in rows if row["due_ns"] is not None]
    reached = [row for row in rows if row["received_ns"] is not None]
    waits_ns = sorted(row["received_ns"] - row["due_ns"] for row in reached)
    all_flow_s = None
    if reached and len(reached) == len(rows):
        began_ns = min(row["due_ns"] for row in rows)
        all_flow_s = (max(row["received_ns"] for row in rows) - began_ns) / NS_PER_S
    return Destinations(
        count=len(rows),
        reached=len(reached),
        all_flow_s=all_flow_s,
        first_ms=FirstReceiptSpread(
            p50=waits_ns[(len(waits_ns) - 1) // 2] / NS_PER_MS if waits_ns else None,
            max=waits_ns[-1] / NS_PER_MS if waits_ns else None,
        ),
    )
