"""Computes percentiles from the latency table, which counts messages by latency bucket."""

from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from records.figures.buckets import value_ns
from records.figures.percentiles import rank_of
from records.units import NS_PER_MS


@lru_cache(maxsize=1 << 16)
def bucket_ms(bucket: int) -> float:
    return value_ns(bucket) / NS_PER_MS


@dataclass(frozen=True)
class Histogram:
    """``pairs``: (milliseconds, count) in ascending order of value."""

    pairs: tuple[tuple[float, int], ...]

    @classmethod
    def of(cls, latency: pa.Table, count: str = "count") -> "Histogram":
        """Merge rows of the latency table over groups, seconds and phases. ``count``: the name of a count column."""
        merged = latency.group_by("bucket").aggregate([(count, "sum")])
        buckets, counts = merged["bucket"].to_pylist(), merged[f"{count}_sum"].to_pylist()
        return cls(tuple(sorted((bucket_ms(b), int(n)) for b, n in zip(buckets, counts, strict=True) if n)))

    @cached_property
    def cumulative(self) -> "np.ndarray[tuple[int], np.dtype[np.int64]]":
        return np.cumsum([count for _, count in self.pairs], dtype=np.int64)

    @property
    def count(self) -> int:
        return int(self.cumulative[-1]) if self.pairs else 0

    def percentile(self, fraction: float) -> float | None:
        """Return the smallest value that at least this fraction of samples does not exceed (nearest rank), in ms."""
        if not self.pairs:
            return None
        rank = rank_of(fraction, self.count)
        return self.pairs[int(np.searchsorted(self.cumulative, rank))][0]

    @property
    def maximum(self) -> float | None:
        return self.pairs[-1][0] if self.pairs else None


def select(latency: pa.Table, **wanted: str | int | bool) -> pa.Table:
    """Return the rows with these values: ``select(latency, measure="due_to_received", phase="load")``."""
    for column, value in wanted.items():
        latency = latency.filter(pc.equal(latency[column], value))
    return latency
