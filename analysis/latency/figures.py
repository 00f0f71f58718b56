"""Reads the summary's latency figures off latencies by second or by path. Runs on the driver, on few rows.

Each has a row for each bucket that occurs in a second, or on a path, with the extremes of what it counts.
"""

from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from records.latency import Lag, Latency
from records.percentiles import LEAST_BEYOND, SHARES, quantiles_ns, rank_of
from records.results import PATHS
from records.units import NS_PER_MS

MEASURES = ("due_to_received", "sent_to_received", "sent_to_settled")
ROUND_TRIP = "round_trip"
"""From when a request was due until its reply was received: only of runs whose replies came."""
LAG = "ready_to_sent"


@dataclass(frozen=True)
class Spread:
    """Durations of one measure: how many, how many below zero, exact extremes, quantiles. Milliseconds or None.

    A quantile is None if fewer than LEAST_BEYOND durations lie beyond it.
    """

    count: int
    negative: int
    min_ms: float | None
    max_ms: float | None
    quantiles_ms: dict[str, float | None]

    @classmethod
    def as_measured(cls, rows: pa.Table) -> "Spread":
        """Figures of the durations as they were."""
        return cls._from_columns(rows, "count", "min_ns", "max_ns")

    @classmethod
    def less_own(cls, rows: pa.Table) -> "Spread":
        """Figures of the durations less the generator's own delay."""
        return cls._from_columns(rows, "count_less_own", "less_own_min_ns", "less_own_max_ns")

    @classmethod
    def _from_columns(cls, rows: pa.Table, count: str, lowest: str, highest: str) -> "Spread":
        by_bucket = rows.group_by("bucket").aggregate([(count, "sum")])
        counts = dict(zip(by_bucket["bucket"].to_pylist(), by_bucket[f"{count}_sum"].to_pylist(), strict=True))
        min_ns, max_ns = pc.min(rows[lowest]).as_py(), pc.max(rows[highest]).as_py()
        total = sum(counts.values())
        reliable = {name: share for name, share in SHARES.items() if total - rank_of(share, total) >= LEAST_BEYOND}
        middles_ns = dict(zip(reliable, quantiles_ns(counts, list(reliable.values())), strict=True))
        return cls(
            count=total,
            negative=sum(count for bucket, count in counts.items() if bucket < 0),
            min_ms=_ms(min_ns),
            max_ms=_ms(max_ns),
            quantiles_ms={name: _ms(_between(min_ns, middles_ns.get(name), max_ns)) for name in SHARES},
        )


def _between(min_ns: int, middle_ns: int | None, max_ns: int) -> int | None:
    """The middle of a bucket may lie beyond all of its values; no quantile does."""
    return None if middle_ns is None else min(max(min_ns, middle_ns), max_ns)


def _ms(value_ns: int | None) -> float | None:
    return None if value_ns is None else value_ns / NS_PER_MS


def in_load(latency: pa.Table, measure: str) -> pa.Table:
    """The rows of one measure for messages that were due in the load."""
    return latency.filter(pc.and_(pc.equal(latency["measure"], measure), pc.equal(latency["phase"], "load")))


def latency_ms(latency: pa.Table) -> dict[str, Latency]:
    """The summary's ``latency_ms``, fault windows included."""
    return {measure: latency_of(in_load(latency, measure)) for measure in _measures(latency)}


def less_own_ms(latency: pa.Table) -> dict[str, Latency]:
    """The same, less the generator's own delay."""
    return {measure: _latency(Spread.less_own(in_load(latency, measure))) for measure in _measures(latency)}


def _measures(latency: pa.Table) -> tuple[str, ...]:
    return (*MEASURES, ROUND_TRIP) if in_load(latency, ROUND_TRIP).num_rows else MEASURES


def latency_of(rows: pa.Table) -> Latency:
    """Figures of the durations of one measure as they were."""
    return _latency(Spread.as_measured(rows))


def _latency(spread: Spread) -> Latency:
    q = spread.quantiles_ms
    return Latency(
        count=spread.count,
        negative=spread.negative,
        min=spread.min_ms,
        p50=q["p50"],
        p90=q["p90"],
        p99=q["p99"],
        p99_9=q["p99_9"],
        p99_99=q["p99_99"],
        max=spread.max_ms,
    )


def paths(latency: pa.Table) -> pa.Table:
    """Rows of PATHS: first deliveries of all phases by where they entered, where they left, and the hops between."""
    delivered = latency.filter(pc.equal(latency["measure"], "due_to_received"))
    by_path = delivered.group_by(["from_broker", "to_broker", "hops"]).aggregate([("count", "sum")])
    return by_path.rename_columns({"count_sum": "messages"}).select(PATHS.names)


def lag_ms(latency: pa.Table, blocked_slots: int) -> Lag:
    """The summary's ``lag_ms``, fault windows included."""
    lag = Spread.as_measured(in_load(latency, LAG))
    q = lag.quantiles_ms
    return Lag(p50=q["p50"], p99=q["p99"], p99_9=q["p99_9"], max=lag.max_ms, blocked_slots=blocked_slots)


def impossible(latency: pa.Table) -> dict[str, int]:
    """How many durations of each measure no clock error explains, over all phases; only measures that have some.

    A due time is a plan, not a reading of a clock: the measures that start from it tell nothing about clocks.
    """
    of_clocks = latency.filter(pc.starts_with(latency["measure"], "sent_to_"))
    by_measure = of_clocks.group_by("measure").aggregate([("impossible", "sum")])
    counted = zip(by_measure["measure"].to_pylist(), by_measure["impossible_sum"].to_pylist(), strict=True)
    return {measure: count for measure, count in sorted(counted) if count}
