"""Computes percentiles from counts in buckets.

Percentiles are never averaged: the counts are added up first, and the percentile is read once. Exact to 0.4 % of the
value.
"""

import math
from collections.abc import Mapping, Sequence

from records.figures.buckets import value_ns

LEAST_BEYOND = 10
"""With fewer durations beyond a percentile, it is an accident of the run and not a figure."""
SHARES = {"p50": 0.5, "p90": 0.9, "p99": 0.99, "p99_9": 0.999, "p99_99": 0.9999}
"""Share of values at or below each percentile, by the percentile's name in `records.figures.latency.Latency`."""


def values_needed(share: float) -> int:
    """Return the number of values that a percentile needs to have enough values beyond it: 1,000 for 0.99."""
    return round(LEAST_BEYOND / (1 - share))


def quantiles_ns(counts: Mapping[int, int], shares: Sequence[float]) -> list[int | None]:
    """For each share in (0, 1], find the smallest value that this share of values does not exceed.

    Return the middle of the value's bucket, or None without values. ``counts``: number of values by bucket. ValueError
    for other shares.
    """
    wrong = [share for share in shares if not 0 < share <= 1]
    if wrong:
        raise ValueError(f"share {wrong[0]}: a quantile needs a share above 0 and up to 1 (p99 is 0.99)")
    total = sum(counts.values())
    return [_value_at(counts, rank_of(share, total)) if total else None for share in shares]


def rank_of(share: float, total: int) -> int:
    """Return the rank of the value, from 1 (nearest rank). 0.99 of 100 is the 99th, despite binary fractions."""
    return max(1, math.ceil(round(share * total, 6)))


def _value_at(counts: Mapping[int, int], rank: int) -> int:
    passed = 0
    for bucket in sorted(counts):
        passed += counts[bucket]
        if passed >= rank:
            return value_ns(bucket)
    raise ValueError(f"rank {rank} of {passed} values")
