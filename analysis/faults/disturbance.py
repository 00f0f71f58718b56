"""Finds how long a fault disturbed throughput and latency: until both are back in their band, and stay there.

The seconds before the fault set the band: at least nine tenths of their median deliveries a second, and a p99 of due to
received of at most twice their median p99, or 10 ms more. Plain values and Arrow in and out; no Spark.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from statistics import median
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from analysis.events.fault_spans import FaultSpan
from analysis.load.rates import BEFORE_S, by_second
from records.percentiles import quantiles_ns
from records.units import NS_PER_MS, NS_PER_S

LEAST_BEFORE_S = 3
"""The fewest seconds before a fault that can set the band."""
STAYS_S = 3
"""So many seconds in a row are in the band again."""
LEAST_SHARE = 0.9
MOST_TIMES, MOST_MORE_NS = 2, 10 * NS_PER_MS

InBand = Callable[[int], bool]


class Back(NamedTuple):
    """Seconds from a fault until each was back: 0 if it never left its band, None if it never came back."""

    throughput_s: float | None
    p99_s: float | None


def back(
    rates: pa.Table, latency: pa.Table, faults: Sequence[FaultSpan], load_began_ns: int, load_s: float
) -> dict[int, Back]:
    """By the fault's number, from the result tables. None too if there are too few seconds before it."""
    counts, p99_ns = received(rates), p99s_ns(latency)
    return {
        fault.number: Back(
            _throughput_back_s(counts, fault, load_began_ns, load_s), _p99_back_s(p99_ns, fault, load_began_ns, load_s)
        )
        for fault in faults
    }


def _throughput_back_s(counts: Mapping[int, int], fault: FaultSpan, load_began_ns: int, load_s: float) -> float | None:
    before = [counts.get(second, 0) for second in seconds_before(fault, load_began_ns)]
    if len(before) < LEAST_BEFORE_S or not median(before):
        return None
    least = LEAST_SHARE * median(before)
    return _back_s(fault, load_began_ns, load_s, lambda second: counts.get(second, 0) >= least)


def _p99_back_s(p99_ns: Mapping[int, int], fault: FaultSpan, load_began_ns: int, load_s: float) -> float | None:
    """By the second in which messages were due. A second without a delivered message is not in the band."""
    before = [p99_ns[second] for second in seconds_before(fault, load_began_ns) if second in p99_ns]
    if len(before) < LEAST_BEFORE_S:
        return None
    most_ns = most_in_band_ns(median(before))
    return _back_s(fault, load_began_ns, load_s, lambda second: p99_ns.get(second, math.inf) <= most_ns)


def most_in_band_ns(usual_ns: float) -> float:
    """The highest p99 in the band of a usual one."""
    return max(MOST_TIMES * usual_ns, usual_ns + MOST_MORE_NS)


def received(rates: pa.Table) -> dict[int, int]:
    """Deliveries by second."""
    return by_second(rates, "received")


def p99s_ns(latency: pa.Table) -> dict[int, int]:
    """p99 of due to received by second, of seconds that have any."""
    of = latency.filter(pc.equal(latency["measure"], "due_to_received"))
    summed = of.group_by(["second", "bucket"]).aggregate([("count", "sum")])
    counts: dict[int, dict[int, int]] = {}
    for row in summed.to_pylist():
        if row["count_sum"]:
            counts.setdefault(row["second"], {})[row["bucket"]] = row["count_sum"]
    found = {second: quantiles_ns(its, [0.99])[0] for second, its in counts.items()}
    return {second: value for second, value in found.items() if value is not None}


def _began_s(fault: FaultSpan, load_began_ns: int) -> float:
    return (fault.began_ns - load_began_ns) / NS_PER_S


def seconds_before(fault: FaultSpan, load_began_ns: int) -> range:
    """Whole seconds of the load before the fault."""
    end = math.floor(_began_s(fault, load_began_ns))
    return range(max(0, end - BEFORE_S), end)


def _back_s(fault: FaultSpan, load_began_ns: int, load_s: float, in_band: InBand) -> float | None:
    """The first STAYS_S seconds in the band after the first second outside; whole seconds of the load only."""
    began_s = _began_s(fault, load_began_ns)
    during = range(math.floor(began_s), math.floor(load_s))
    left = next((second for second in during if not in_band(second)), None)
    if left is None:
        return 0.0
    for second in range(left + 1, during.stop - STAYS_S + 1):
        if all(map(in_band, range(second, second + STAYS_S))):
            return second - began_s
    return None
