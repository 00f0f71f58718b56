"""Decides when a warm-up is over: as soon as the median latency of successive seconds settles, or after a time limit.

The decision depends only on counts. It uses latencies from due to received if enough are known, otherwise latencies
from sent to confirmed. A growing backlog is not settled: latency keeps rising, even if slowly compared with its value,
or fewer messages are received than confirmed.
"""

from collections.abc import Mapping
from itertools import pairwise

from drivers.users.live_latency import RECEIVED, SETTLED, UNTIMED, LiveLatency
from harness.scenario import WARM_UP_AT_LEAST_S, WARM_UP_AT_MOST_S
from records.figures.percentiles import quantiles_ns

SECONDS = 3
"""Number of successive seconds that must agree."""
TOLERATED_SHARE = 0.1
TOLERATED_NS = 200_000
MOVES_NS = 100_000_000
"""If medians rise, or fall, in each second, a total change of this size indicates a backlog."""
KEEP_UP = 0.9
"""Least number of received messages per confirmed message if consumers keep up."""
FEWEST = 10
"""Least number of latencies in a second for a meaningful median."""
GRACE_S = 0.7
"""Time from the end of a second until every process has reported it."""

HAS_SETTLED, NOT_SETTLED, NO_LATENCY = "settled", "not_settled", "no_latency"

Seconds = Mapping[int, Mapping[int, int]]
"""Second since the warm-up began -> bucket of `records.figures.buckets` -> number of latencies."""


def decision(live: LiveLatency, done_s: float, at_most_s: float = WARM_UP_AT_MOST_S) -> str:
    """Return the reason why the warm-up ends, as in `records.run.WarmUp.end`; empty while it continues.

    ``done_s``: the duration so far.
    """
    last = int(done_s - GRACE_S) - 1
    received, confirmed = (last_medians(live.seconds(kind), last) for kind in (RECEIVED, SETTLED))
    medians = received or confirmed
    steady = medians and settled(medians) and not moves(medians) and (received or keeps_up(live, last))
    if last + 1 >= WARM_UP_AT_LEAST_S and steady:
        return HAS_SETTLED
    if done_s < at_most_s:
        return ""
    return NOT_SETTLED if medians else NO_LATENCY


def lasts_s(end: str, known_by_s: float) -> float:
    """Return the warm-up's duration.

    ``known_by_s``: when all processes can know its end; a busy machine may be late.
    """
    return min(known_by_s, WARM_UP_AT_MOST_S) if end == HAS_SETTLED else WARM_UP_AT_MOST_S


def last_medians(seconds: Seconds, last: int) -> tuple[int, ...] | None:
    """Return the median latencies (ns) of the seconds up to ``last``; None if one of them has too few latencies."""
    wanted = [seconds.get(second, {}) for second in range(last - SECONDS + 1, last + 1)]
    if any(sum(counts.values()) < FEWEST for counts in wanted):
        return None
    return tuple(median_ns(counts) for counts in wanted)


def median_ns(counts: Mapping[int, int]) -> int:
    """Return the median from counts in buckets. ValueError without latencies."""
    (median,) = quantiles_ns(counts, [0.5])
    if median is None:
        raise ValueError("no latency, so no median")
    return median


def settled(medians_ns: tuple[int, ...]) -> bool:
    """Whether the medians differ by at most the larger of a tenth of the lowest and 0.2 ms."""
    lowest = min(medians_ns)
    return max(medians_ns) - lowest <= max(TOLERATED_SHARE * abs(lowest), TOLERATED_NS)


def moves(medians_ns: tuple[int, ...]) -> bool:
    """Whether the medians rise, or fall, in each second, as they do while a backlog grows or drains."""
    steps = [after - before for before, after in pairwise(medians_ns)]
    one_way = all(step > 0 for step in steps) or all(step < 0 for step in steps)
    return one_way and abs(medians_ns[-1] - medians_ns[0]) >= MOVES_NS


def keeps_up(live: LiveLatency, last: int) -> bool:
    """Whether nearly as many messages were received as confirmed in the seconds up to ``last``."""
    confirmed = _count(live.seconds(SETTLED), last)
    received = _count(live.seconds(RECEIVED), last) + _count(live.seconds(UNTIMED), last)
    return received >= KEEP_UP * confirmed or confirmed - received < FEWEST


def _count(seconds: Seconds, last: int) -> int:
    return sum(sum(seconds.get(second, {}).values()) for second in range(last - SECONDS + 1, last + 1))


def describe_end(end: str, lasted_s: float) -> str:
    """Describe the end of the warm-up for the log."""
    return {
        HAS_SETTLED: f"warm-up: the median latency has settled after {lasted_s:.1f} s",
        NOT_SETTLED: f"warm-up: the median latency has not settled within {lasted_s:g} s; the load begins anyway",
        NO_LATENCY: f"warm-up: {lasted_s:g} s, as too few latencies were known during it to see whether they settle",
    }[end]
