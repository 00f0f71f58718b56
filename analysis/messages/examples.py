"""Lists up to a hundred messages of each anomaly, so that readers can look them up in the event tables."""

from collections.abc import Iterable

import polars as pl

from analysis.events.timeline import Timeline
from analysis.messages.deliveries import unexpected, unknown_attempt
from analysis.tables import first_rows
from records.tables.merged_tables import EXAMPLES_KEPT

PAST_TTL = "past_ttl"
"""Provisional anomaly of missing messages past their time to live, until the analysis knows whether some are lost."""
_SCHEMA = {
    "anomaly": pl.String,
    "destination": pl.String,
    "subscription": pl.String,
    "producer": pl.Int32,
    "seq": pl.Int64,
    "from_broker": pl.String,
    "at_ns": pl.Int64,
    "detail": pl.String,
}


def anomalies(outcomes: pl.DataFrame, deliveries: pl.DataFrame, strangers: pl.DataFrame) -> pl.DataFrame:
    """Return the earliest messages of each anomaly except reordered. at_ns: when it was due, or else received.

    ``deliveries``: the result of `Expectations.with_late_and_unselected`.
    """
    return earliest(pl.concat([_ends(outcomes), *_copies(deliveries), *_strangers(strangers)]))


def earliest(anomalies: pl.DataFrame) -> pl.DataFrame:
    """Return the first messages of each anomaly (EXAMPLES_KEPT), from rows of several kinds or parts of a run."""
    return first_rows(anomalies, EXAMPLES_KEPT)


def repeated(anomalies: pl.DataFrame) -> pl.DataFrame:
    """Repeat each row ``copies`` times."""
    return anomalies.select(pl.col(*_SCHEMA).repeat_by("copies")).explode(*_SCHEMA)


def make_rows(anomalies: pl.DataFrame, timeline: Timeline, *, all_expired: bool = True) -> pl.DataFrame:
    """Return rows of ANOMALIES.

    ``all_expired``: all missing messages past their time to live expired. If false, some of them may be lost, but it is
    unknown which.
    """
    past_ttl = "expired" if all_expired else "expired or lost"
    named = anomalies.with_columns(pl.col("anomaly").replace(PAST_TTL, past_ttl))
    return earliest(named).with_columns(timeline.second_of(pl.col("at_ns")).alias("second")).drop("at_ns")


def _ends(outcomes: pl.DataFrame) -> pl.DataFrame:
    named = outcomes.filter(~pl.col("message_outcome").is_in(["missing_unconfirmed", "past_ttl_unconfirmed"]))
    found_at = (
        pl.when(pl.col("found_at").is_null())
        .then(pl.lit(""))
        .otherwise(pl.concat_str(pl.lit(", left on "), pl.col("found_at")))
    )
    nowhere = pl.lit(", not found after its time to live")
    where = pl.when(pl.col("message_outcome") == PAST_TTL).then(nowhere).otherwise(found_at)
    detail = pl.format("{} after {} attempt(s){}", pl.col("outcome").cast(pl.String), "attempts", where)
    return _rows(named, pl.col("message_outcome"), detail, pl.col("due_ns"))


def _copies(deliveries: pl.DataFrame) -> Iterable[pl.DataFrame]:
    """Yield rows for deliveries. A delivery can have several anomalies: a corrupted duplicate has a row for each."""
    kinds = {
        "duplicated": (pl.col("duplicate"), _copy_detail()),
        "corrupted": (pl.col("integrity") == "corrupted", _delivery_detail("its body is not as it was sent")),
        "unexpected": (unexpected(), _delivery_detail("its send is not recorded")),
        "unknown_attempts": (unknown_attempt(), _delivery_detail("this attempt is not recorded")),
        "expired_yet_received": (pl.col("late"), _delivery_detail("its time to live was over")),
        "unselected_yet_received": (pl.col("unselected"), _delivery_detail("its selector does not match")),
    }
    for anomaly, (condition, detail) in kinds.items():
        yield _rows(deliveries.filter(condition), pl.lit(anomaly), detail, pl.coalesce("due_ns", "received_ns"))


def overtaken(out_of_order: pl.DataFrame) -> pl.DataFrame:
    """Return rows for the messages of the whole run that were received out of order."""
    detail = pl.format("consumer {} had received seq {} before", "consumer", "overtaken_by")
    return _rows(out_of_order, pl.lit("reordered"), detail, pl.coalesce("due_ns", "received_ns"))


def unsent(leftovers: pl.DataFrame) -> pl.DataFrame:
    """Return rows for leftovers without a recorded send."""
    named = leftovers.with_columns(
        pl.concat_str(pl.lit("queue://"), "queue").alias("destination"),
        pl.col("queue").alias("subscription"),
        pl.lit("").alias("from_broker"),
    )
    detail = pl.format("its send is not recorded; attempt {}, left on {} at {}", "attempt", "queue", "broker")
    return _rows(named, pl.lit("unsent_leftovers"), detail, pl.lit(0, pl.Int64))


def _strangers(strangers: pl.DataFrame) -> Iterable[pl.DataFrame]:
    kinds = {
        "unreadable": ("corrupted", "its identity is damaged"),
        "foreign": ("foreign", "not sent by this run"),
    }
    for integrity, (anomaly, reason) in kinds.items():
        of_kind = strangers.filter(pl.col("integrity") == integrity).with_columns(pl.lit("").alias("from_broker"))
        detail = pl.format(f"{reason}; received by consumer {{}} from {{}}", "consumer", "broker")
        yield _rows(of_kind, pl.lit(anomaly), detail, pl.col("received_ns"))


def _copy_detail() -> pl.Expr:
    by = pl.when("by_resend").then(pl.lit("by a resend")).otherwise(pl.lit("by the broker"))
    after_ns = pl.col("received_ns") - pl.col("first_received_ns")
    return pl.format(
        "copy {}, {} (attempt {} after {}), {} ms after the first, to consumer {} from {}",
        *("copy", by, "attempt", "first_attempt", _milliseconds(after_ns), "consumer", "to_broker"),
    )


def _milliseconds(took_ns: pl.Expr) -> pl.Expr:
    """Format a non-negative duration in milliseconds with three decimals, half a microsecond rounded up."""
    took_us = (took_ns + 500) // 1_000
    return pl.format("{}.{}", took_us // 1_000, (took_us % 1_000).cast(pl.String).str.zfill(3))


def _delivery_detail(reason: str) -> pl.Expr:
    return pl.format(f"{reason}; attempt {{}}, received by consumer {{}} from {{}}", "attempt", "consumer", "to_broker")


def _rows(frame: pl.DataFrame, anomaly: pl.Expr, detail: pl.Expr, at_ns: pl.Expr) -> pl.DataFrame:
    detailed = frame.with_columns(anomaly.alias("anomaly"), detail.alias("detail"), at_ns.alias("at_ns"))
    return detailed.select(pl.col(name).cast(kind) for name, kind in _SCHEMA.items())
