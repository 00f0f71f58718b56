"""Counts the messages that each fault affected: lost, stranded, duplicated, redelivered, reordered and late messages.

A message is attributed to one fault at most. A lost or stranded message belongs to a fault that was not over when the
message was sent (`fault_of`). A repeated or reordered message belongs to the last fault that had begun before it
arrived.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median
from typing import Any

import polars as pl

from analysis.events.timeline import FaultSpan, last_begun
from analysis.faults.disturbance import LEAST_BEFORE_S, most_in_band_ns, seconds_before
from records.figures.buckets import bucket_of, upper_ns
from records.units import NS_PER_S

PAST_TTL = "past_ttl"
"""Counted like lost messages until the analysis knows whether all of them expired."""


def harm(outcomes: pl.DataFrame, deliveries: pl.DataFrame, faults: Sequence[FaultSpan]) -> pl.DataFrame:
    """Return one row per fault: its number, and the counts lost, past_ttl, stranded, duplicated and redelivered.

    ``past_ttl`` messages expired or were lost. Counts from several parts can be added.
    """
    is_stranded = pl.col("message_outcome") == "stranded"
    of_outcomes = {
        "lost": pl.col("message_outcome") == "lost",
        PAST_TTL: pl.col("message_outcome") == PAST_TTL,
        "stranded": is_stranded,
    }
    of_deliveries = {"duplicated": pl.col("duplicate"), "redelivered": pl.col("redelivered")}
    counted = [
        _counts(outcomes.with_columns(fault_of(faults).alias("fault")), of_outcomes, faults),
        _counts(deliveries.with_columns(last_begun(faults).alias("fault")), of_deliveries, faults),
    ]
    return pl.concat(counted, how="align")


def reordered(out_of_order: pl.DataFrame) -> dict[int, int]:
    """Return the number of messages received out of order by fault number. ``out_of_order``: rows of the whole run, as
    `analysis.messages.order.summarized` returns them."""
    of_faults = out_of_order.filter(pl.col("fault").is_not_null())
    return dict(of_faults.group_by("fault").agg(pl.sum("alike")).iter_rows())


def stranded(outcomes: pl.DataFrame, faults: Sequence[FaultSpan]) -> pl.DataFrame:
    """Return one row per fault number and broker with stranded messages: their number, and age_ns of the oldest."""
    their = outcomes.filter(pl.col("message_outcome") == "stranded").with_columns(fault_of(faults).alias("fault"))
    by_broker = their.filter(pl.col("fault").is_not_null()).group_by("fault", pl.col("left_at").alias("broker"))
    return by_broker.agg(pl.len().cast(pl.Int64).alias("messages"), pl.max("age_ns"))


def by_fault(stranded: pl.DataFrame) -> dict[int, list[Mapping[str, Any]]]:
    """Group the rows of `stranded` by fault number."""
    rows_by_fault: dict[int, list[Mapping[str, Any]]] = {}
    for row in stranded.sort("fault", "broker").iter_rows(named=True):
        rows_by_fault.setdefault(row["fault"], []).append(row)
    return rows_by_fault


@dataclass(frozen=True)
class LateFrom:
    """First deliveries slower than ``most_ns`` are late if they were due in these seconds of a fault.

    ``until_s``: the second when the next fault began; None if there is none.
    """

    fault: int
    most_ns: int
    from_s: int
    until_s: int | None


def late_limits(p99_ns: Mapping[int, int], faults: Sequence[FaultSpan], load_began_ns: int) -> list[LateFrom]:
    """Return the upper end of the p99 band of the seconds before each fault.

    ``p99_ns``: p99 from due to received, by second. A fault after too few seconds has no limit.
    """
    limits = []
    for fault, following in pairwise([*sorted(faults, key=lambda fault: fault.began_ns), None]):
        assert fault is not None
        until_s = None if following is None else _began_second(following, load_began_ns)
        before = [p99_ns[at_s] for at_s in seconds_before(fault, load_began_ns) if at_s in p99_ns]
        if len(before) >= LEAST_BEFORE_S:
            most_ns = upper_ns(bucket_of(math.ceil(most_in_band_ns(median(before)))))  # that bucket is in the band
            limits.append(LateFrom(fault.number, most_ns, _began_second(fault, load_began_ns), until_s))
    return limits


def late(timed: pl.DataFrame, second: pl.Expr, limits: Sequence[LateFrom]) -> pl.DataFrame:
    """Count the late first deliveries of each fault: rows of the merged table late.

    ``timed``: the result of `analysis.latency.histogram.from_due`. ``second``: the second of the due time.
    """
    rows = timed.select(second.alias("second"), "took_ns")
    counts = []
    for limit in limits:
        is_late = (pl.col("took_ns") > limit.most_ns) & (pl.col("second") >= limit.from_s)
        if limit.until_s is not None:
            is_late &= pl.col("second") < limit.until_s
        counts.append(rows.select(pl.lit(limit.fault, pl.Int32).alias("fault"), is_late.sum().alias("late")))
    return pl.concat(counts)


def _began_second(fault: FaultSpan, load_began_ns: int) -> int:
    return math.floor((fault.began_ns - load_began_ns) / NS_PER_S)


def fault_of(faults: Sequence[FaultSpan]) -> pl.Expr:
    """Return the number of a lost or stranded message's fault; null if all were over when the message was sent.

    Of several that overlap, it is a fault of the broker that the message was first sent to. Otherwise, and of several
    faults of this broker, it is one that ends a broker abruptly, then one that can disconnect clients, then the first.
    """
    until_ns = [pl.when(pl.col("sent_ns") <= fault.until_ns).then(fault.until_ns) for fault in faults]
    first_until_ns = pl.min_horizontal(until_ns)
    beyond = max(fault.number for fault in faults) + 1

    def rank(fault: FaultSpan) -> pl.Expr:
        of_another = (pl.col("from_broker") != fault.target).fill_null(True).cast(pl.Int64)
        gentle = 0 if fault.traits.ends_abruptly else 1 if fault.traits.explains_outages else 2
        return (3 * of_another + gentle) * beyond + fault.number

    ranks = [
        pl.when((pl.col("sent_ns") <= fault.until_ns) & (fault.began_ns <= first_until_ns)).then(rank(fault))
        for fault in faults
    ]
    return (pl.min_horizontal(ranks) % beyond).cast(pl.Int32)


def _counts(frame: pl.DataFrame, kinds: Mapping[str, pl.Expr], faults: Sequence[FaultSpan]) -> pl.DataFrame:
    """Return one row per fault: its number, and for each kind the number of rows with this number in ``fault``."""

    def of_each() -> Iterator[pl.DataFrame]:
        for fault in faults:
            its = pl.col("fault") == fault.number
            yield frame.select(
                pl.lit(fault.number, pl.Int32).alias("fault"),
                *[(is_one & its).sum().cast(pl.Int64).alias(name) for name, is_one in kinds.items()],
            )

    return pl.concat(of_each())
