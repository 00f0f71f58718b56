"""Decides when a warm-up is over: as soon as the median latency of successive seconds settles, or after a time limit.

Pure: counts in, a decision out. Latencies from due to received are used where enough are known, else those from sent
to confirmed.
"""

from collections.abc import Mapping

from drivers.users.live_latency import RECEIVED, SETTLED, LiveLatency
from records.percentiles import quantiles_ns

AT_LEAST_S = 5
AT_MOST_S = 15.0
SECONDS = 3
"""So many successive seconds must agree."""
TOLERATED_SHARE = 0.1
TOLERATED_NS = 200_000
FEWEST = 10
"""Latencies that a second must have before its median says anything."""
GRACE_S = 0.7
"""After a second is over: until every process has reported it."""

HAS_SETTLED, NOT_SETTLED, NO_LATENCY = "settled", "not_settled", "no_latency"

Seconds = Mapping[int, Mapping[int, int]]
"""Second since the warm-up began -> bucket of `records.buckets` -> how many latencies."""


def decision(live: LiveLatency, done_s: float, at_most_s: float = AT_MOST_S) -> str:
    """'' during the warm-up, else the reason of its end: one of the ends of `records.run.WarmUp`.

    ``done_s``: how long it has lasted.
    """
    last = int(done_s - GRACE_S) - 1
    medians = next((found for kind in (RECEIVED, SETTLED) if (found := last_medians(live.seconds(kind), last))), None)
    if last + 1 >= AT_LEAST_S and medians and settled(medians):
        return HAS_SETTLED
    if done_s < at_most_s:
        return ""
    return NOT_SETTLED if medians else NO_LATENCY


def last_medians(seconds: Seconds, last: int) -> tuple[int, ...] | None:
    """Median latencies (ns) of the seconds up to ``last``; None if one of them has too few latencies."""
    wanted = [seconds.get(second, {}) for second in range(last - SECONDS + 1, last + 1)]
    if any(sum(counts.values()) < FEWEST for counts in wanted):
        return None
    return tuple(median_ns(counts) for counts in wanted)


def median_ns(counts: Mapping[int, int]) -> int:
    """The median by counts in buckets. ValueError without any."""
    (median,) = quantiles_ns(counts, [0.5])
    if median is None:
        raise ValueError("no latency, so no median")
    return median


def settled(medians_ns: tuple[int, ...]) -> bool:
    """Whether they lie within the larger of a tenth of the lowest and 0.2 ms."""
    lowest = min(medians_ns)
    return max(medians_ns) - lowest <= max(TOLERATED_SHARE * abs(lowest), TOLERATED_NS)


def in_words(end: str, lasted_s: float) -> str:
    """For the log."""
    return {
        HAS_SETTLED: f"warm-up: the median latency has settled after {lasted_s:.1f} s",
        NOT_SETTLED: f"warm-up: the median latency has not settled within {lasted_s:g} s; the load begins all the same",
        NO_LATENCY: f"warm-up: {lasted_s:g} s, as too few latencies are known while it runs to see whether they settle",
    }[end]
