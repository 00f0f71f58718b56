"""Counts the messages due, sent, confirmed and delivered in each second, by broker."""

from collections.abc import Mapping

import polars as pl
import pyarrow as pa
import pyarrow.compute as pc

from analysis.events.timeline import Timeline
from analysis.messages.deliveries import first
from analysis.packed_keys import grouped

BEFORE_S = 10
"""Number of seconds before an event that serve as the baseline."""
LEAST_MORE, LEAST_MORE_S = 5, 0.1
"""A backlog is normal if it is larger by at most this number of messages, or by the messages due in this many seconds.
"""
KEY = ["second", "phase", "event", "broker"]


def rates(
    sends: pl.DataFrame,
    messages: pl.DataFrame,
    deliveries: pl.DataFrame,
    strangers: pl.DataFrame,
    timeline: Timeline,
) -> pl.DataFrame:
    """Return rows of RATES. ``at_s`` is the time of the event; ``phase`` is the phase of the due time, if known.

    Foreign messages are not counted, because they could hide that the run's own messages are late.
    """
    unreadable = strangers.filter(pl.col("integrity") != "foreign")
    acked = sends.filter(pl.col("outcome") == "acked")
    due_ns, received_ns = pl.col("due_ns"), pl.col("received_ns")

    def counted(event: str, frame: pl.DataFrame, at_ns: pl.Expr, due_ns: pl.Expr, broker: str) -> pl.DataFrame:
        at_s, phase = timeline.second_of(at_ns).alias("second"), timeline.phase(due_ns).alias("phase")
        moments = frame.filter(at_ns.is_not_null()).select(at_s, phase, pl.col(broker).alias("broker"))
        counts = grouped(moments, moments.columns, pl.len().cast(pl.Int64).alias("count"))
        return counts.with_columns(pl.lit(event).alias("event"))

    moments = pl.concat(
        [
            counted("due", messages, due_ns, due_ns, "from_broker"),
            counted("sent", sends, pl.col("sent_ns"), due_ns, "broker"),
            counted("acked", acked, pl.col("settled_ns"), due_ns, "broker"),
            counted("received", deliveries, received_ns, pl.coalesce("due_ns", "received_ns"), "to_broker"),
            counted("received", unreadable, received_ns, received_ns, "broker"),
        ]
    )
    return moments.group_by(KEY).agg(pl.sum("count"))


def with_unsent(moments: pl.DataFrame, unsent: Mapping[int, int]) -> pl.DataFrame:
    """Add messages that were due but never sent to rows of RATES, without a broker. ``unsent``: by second."""
    if not unsent:
        return moments
    seconds = pl.Series("second", sorted(unsent), moments.schema["second"])
    phase = pl.when(pl.col("second") < 0).then(pl.lit("warm-up")).otherwise(pl.lit("load"))
    rows = pl.DataFrame({"second": seconds}).with_columns(
        phase.cast(moments.schema["phase"]).alias("phase"),
        pl.lit("due").cast(moments.schema["event"]).alias("event"),
        pl.lit("").cast(moments.schema["broker"]).alias("broker"),
        pl.Series("count", [unsent[at_s] for at_s in sorted(unsent)], moments.schema["count"]),
    )
    return pl.concat([moments, rows.select(moments.columns)]).group_by(KEY).agg(pl.sum("count"))


def totals(messages: pl.DataFrame, deliveries: pl.DataFrame, timeline: Timeline) -> pl.DataFrame:
    """Return one row with the totals of the load: due, sent, acked and received messages, and blocked_slots.

    A message counts for each of these events that happened within the load. Totals of several parts can be added.
    """

    def within(column: str) -> pl.Expr:
        return timeline.in_load(pl.col(column)).sum().cast(pl.Int64).alias(column.removesuffix("_ns"))

    blocked = (timeline.in_load(pl.col("due_ns")) & pl.col("blocked")).sum().cast(pl.Int64).alias("blocked_slots")
    of_messages = messages.select(within("due_ns"), within("sent_ns"), within("acked_ns"), blocked)
    return pl.concat([of_messages, first(deliveries).select(within("received_ns"))], how="horizontal")


def by_second(rates: pa.Table, event: str) -> dict[int, int]:
    """Return how often an event happened in each second. Seconds without the event are omitted."""
    of_event = rates.filter(pc.equal(rates["event"], event)).group_by("second").aggregate([("count", "sum")])
    return dict(zip(of_event["second"].to_pylist(), of_event["count_sum"].to_pylist(), strict=True))
