"""Builds the summary's latency figures from Spark's distributions and histograms. Runs on the driver."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.compute as pc

from records.figures.latency import MEASURES as DURATIONS
from records.figures.latency import Lag, Latency
from records.figures.percentiles import LEAST_BEYOND, SHARES, quantiles_ns, rank_of
from records.tables.merged_tables import LESS_OWN
from records.units import NS_PER_MS

MEASURES = ("due_to_received", "sent_to_received", "sent_to_settled")
ROUND_TRIP = "round_trip"
"""From when a request was due until its reply was received: only of runs whose replies came."""
LAG = "ready_to_sent"
DUE_MEASURES = tuple(measure for measure, figure in DURATIONS.items() if figure.from_due)
Distributions = Mapping[str, Mapping[str, Any]]
"""Rows of distributions by measure."""


@dataclass(frozen=True)
class Spread:
    """Durations of one measure: total count, negative count, exact extremes, quantiles. Milliseconds or None.

    A quantile is None if fewer than LEAST_BEYOND durations lie beyond it.
    """

    count: int
    negative: int
    min_ms: float | None
    max_ms: float | None
    quantiles_ms: dict[str, float | None]

    @classmethod
    def from_distribution(cls, row: Mapping[str, Any], prefix: str = "") -> "Spread":
        """Return the figures of a row of a distribution (`records.tables.merged_tables`)."""
        total = row[f"{prefix}count"]
        quantiles = dict(zip(SHARES, row[f"{prefix}quantiles_ns"], strict=False))
        reliable = {
            name: middle_ns
            for name, middle_ns in quantiles.items()
            if total - rank_of(SHARES[name], total) >= LEAST_BEYOND
        }
        min_ns, max_ns = row[f"{prefix}min_ns"], row[f"{prefix}max_ns"]
        return cls(
            count=total,
            negative=row[f"{prefix}negative"],
            min_ms=_ms(min_ns),
            max_ms=_ms(max_ns),
            quantiles_ms={name: _ms(_between(min_ns, reliable.get(name), max_ns)) for name in SHARES},
        )

    @classmethod
    def as_measured(cls, rows: pa.Table) -> "Spread":
        """Return the figures of the recorded durations."""
        return cls._from_columns(rows, "count", "min_ns", "max_ns")

    @classmethod
    def less_own(cls, rows: pa.Table) -> "Spread":
        """Return the figures of the durations less the generator's own delay."""
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
    """Limit a quantile to the range of the values: the middle of a bucket may lie outside."""
    return None if middle_ns is None else min(max(min_ns, middle_ns), max_ns)


def _ms(value_ns: int | None) -> float | None:
    return None if value_ns is None else value_ns / NS_PER_MS


NONE = Spread(0, 0, None, None, dict.fromkeys(SHARES))
"""The figures of no durations."""


def latency_ms(in_load: Distributions) -> dict[str, Latency]:
    """Return the summary's ``latency_ms``, including fault windows. ``in_load``: the distribution of each measure."""
    return {measure: distribution_ms(in_load.get(measure)) for measure in _measures(in_load)}


def less_own_ms(in_load: Distributions) -> dict[str, Latency]:
    """Return the same figures, less the generator's own delay."""
    return {measure: distribution_ms(in_load.get(measure), LESS_OWN) for measure in _measures(in_load)}


def _measures(in_load: Distributions) -> tuple[str, ...]:
    return (*MEASURES, ROUND_TRIP) if ROUND_TRIP in in_load else MEASURES


def without_due(latency_ms: dict[str, Latency]) -> dict[str, Latency]:
    """Return the measures of a closed load, which has no due times."""
    return {measure: latency for measure, latency in latency_ms.items() if measure not in DUE_MEASURES}


def distribution_ms(row: Mapping[str, Any] | None, prefix: str = "") -> Latency:
    """Return the figures of a distribution; None means a distribution without durations."""
    return _latency(NONE if row is None else Spread.from_distribution(row, prefix))


def p99s_ns(by_second: Iterable[Mapping[str, Any]]) -> dict[int, int]:
    """Return p99 from due to received by second. ``by_second``: rows of distributions."""
    place = list(SHARES).index("p99")
    return {row["second"]: row["quantiles_ns"][place] for row in by_second if row["count"]}


def latency_of(rows: pa.Table) -> Latency:
    """Return the figures of the recorded durations of one measure."""
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


def lag_ms(in_load: Distributions, blocked_slots: int | None) -> Lag:
    """Return the summary's ``lag_ms``, including fault windows."""
    lag = Spread.from_distribution(in_load[LAG]) if LAG in in_load else NONE
    q = lag.quantiles_ms
    return Lag(p50=q["p50"], p99=q["p99"], p99_9=q["p99_9"], max=lag.max_ms, blocked_slots=blocked_slots)


def impossible(rows: pl.DataFrame) -> dict[str, int]:
    """Return the number of durations of each measure that no clock error explains, without zeros.

    ``rows``: the merged table impossible. A due time is a plan, not a reading of a clock: the measures that start from
    it show nothing about clocks.
    """
    of_clocks = rows.filter(pl.col("measure").str.starts_with("sent_to_") & (pl.col("impossible") > 0))
    return dict(of_clocks.sort("measure").select("measure", "impossible").iter_rows())
