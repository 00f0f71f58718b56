"""Measures how long each destination took to deliver its first message, and how long until all of them had."""

from collections.abc import Sequence
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from records.messages import Destinations, FirstReceiptSpread
from records.units import NS_PER_MS, NS_PER_S


def first_receipts(messages: DataFrame, deliveries: DataFrame) -> DataFrame:
    """One row a destination that was sent to. due_ns: when its first message was due. received_ns: its first receipt,
    null if there was none."""
    sent = messages.groupBy("destination").agg(F.min("due_ns").alias("due_ns"))
    arrived = deliveries.groupBy("destination").agg(F.min("received_ns").alias("received_ns"))
    return sent.join(arrived, "destination", "left")


def spread(rows: Sequence[dict[str, Any]]) -> Destinations:
    """The summary's part, of rows of `first_receipts`."""
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
