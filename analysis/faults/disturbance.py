"""Measures how long a fault disturbed throughput and latency, and the backlog that it caused.

The seconds before the fault define the normal band: at least nine tenths of their median deliveries per second, and a
p99 from due to received of at most twice their median p99, or 10 ms more. Throughput and latency are back to normal
when they stay in the band.

A message is in the backlog from its due time until it is received, while it waits at its producer, on a queue or for
its consumer. Runs on the driver, on few rows.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from itertools import accumulate, pairwise
from statistics import median
from typing import NamedTuple

import pyarrow as pa

from analysis.events.timeline import FaultSpan
from analysis.load.rates import BEFORE_S, LEAST_MORE, LEAST_MORE_S, by_second
from records.units import NS_PER_MS, NS_PER_S

LEAST_BEFORE_S = 3
"""Minimum number of seconds before a fault that can define the band."""
STAYS_S = 3
"""Number of consecutive seconds in the band that count as back to normal."""
LEAST_SHARE = 0.9
MOST_TIMES, MOST_MORE_NS = 2, 10 * NS_PER_MS

InBand = Callable[[int], bool]


class TimeToNormal(NamedTuple):
    """Seconds from a fault until each measure was back to normal: 0 if it never left its band, None if never back."""

    throughput_s: float | None
    p99_s: float | None


def back(
    rates: pa.Table, p99_ns: Mapping[int, int], faults: Sequence[FaultSpan], load_began_ns: int, load_s: float
) -> dict[int, TimeToNormal]:
    """Return the time to normal by fault number. Values are also None if too few seconds precede the fault.

    ``rates``: the result table. ``p99_ns``: p99 from due to received, by second.
    """
    counts = received(rates)
    return {
        fault.number: TimeToNormal(
            _throughput_back_s(counts, fault, load_began_ns, load_s), _p99_back_s(p99_ns, fault, load_began_ns, load_s)
        )
        for fault in faults
    }


def _throughput_back_s(counts: Mapping[int, int], fault: FaultSpan, load_began_ns: int, load_s: float) -> float | None:
    before = [counts.get(at_s, 0) for at_s in seconds_before(fault, load_began_ns)]
    if len(before) < LEAST_BEFORE_S or not median(before):
        return None
    least = LEAST_SHARE * median(before)
    return _back_s(fault, load_began_ns, load_s, lambda at_s: counts.get(at_s, 0) >= least)


def _p99_back_s(p99_ns: Mapping[int, int], fault: FaultSpan, load_began_ns: int, load_s: float) -> float | None:
    """Return when p99 was back in its band, by due times. A second without deliveries is not in the band."""
    before = [p99_ns[at_s] for at_s in seconds_before(fault, load_began_ns) if at_s in p99_ns]
    if len(before) < LEAST_BEFORE_S:
        return None
    most_ns = most_in_band_ns(median(before))
    return _back_s(fault, load_began_ns, load_s, lambda at_s: p99_ns.get(at_s, math.inf) <= most_ns)


def most_in_band_ns(usual_ns: float) -> float:
    """Return the highest p99 in the band around a usual p99."""
    return max(MOST_TIMES * usual_ns, usual_ns + MOST_MORE_NS)


def received(rates: pa.Table) -> dict[int, int]:
    """Return the number of deliveries by second."""
    return by_second(rates, "received")


def _began_s(fault: FaultSpan, load_began_ns: int) -> float:
    return (fault.began_ns - load_began_ns) / NS_PER_S


def seconds_before(fault: FaultSpan, load_began_ns: int) -> range:
    """Return the whole seconds of the load before the fault."""
    end = math.floor(_began_s(fault, load_began_ns))
    return range(max(0, end - BEFORE_S), end)


def _back_s(fault: FaultSpan, load_began_ns: int, load_s: float, in_band: InBand) -> float | None:
    """Find the first STAYS_S seconds in the band after the first second outside. Only whole seconds of the load."""
    began_s = _began_s(fault, load_began_ns)
    during = range(math.floor(began_s), math.floor(load_s))
    left_s = next((at_s for at_s in during if not in_band(at_s)), None)
    if left_s is None:
        return 0.0
    for at_s in range(left_s + 1, during.stop - STAYS_S + 1):
        if all(map(in_band, range(at_s, at_s + STAYS_S))):
            return at_s - began_s
    return None


class Backlog(NamedTuple):
    """The backlog after a fault, in outstanding deliveries.

    ``highest``: the largest backlog at the end of a second; None if nothing was due. ``drained_s``: seconds from the
    fault until the backlog was as small as before the fault; 0 if it was never larger, None if it stayed larger or too
    few seconds precede the fault. ``drain_per_s``: deliveries per second from the highest backlog until ``drained_s``;
    None if either is unknown.
    """

    highest: int | None
    drained_s: float | None
    drain_per_s: float | None = None


def backlogs(rates: pa.Table, faults: Sequence[FaultSpan], load_began_ns: int, copies: float) -> dict[int, Backlog]:
    """Return the backlog by fault number. ``copies``: expected number of deliveries per message.

    The highest backlog of a fault is the maximum until the next fault begins.
    """
    due, arrived = by_second(rates, "due"), by_second(rates, "received")
    waiting = _waiting(due, arrived, copies)
    if not due:
        return {fault.number: Backlog(None, None) for fault in faults}
    ordered = sorted(faults, key=lambda fault: fault.began_ns)
    backlog_by_fault = {}
    for fault, later in pairwise([*ordered, None]):
        assert fault is not None
        until = math.inf if later is None else (later.began_ns - load_began_ns) / NS_PER_S
        before = seconds_before(fault, load_began_ns)
        began_s = (fault.began_ns - load_began_ns) / NS_PER_S
        backlog_by_fault[fault.number] = _backlog_after(began_s, until, before, waiting, due, arrived)
    return backlog_by_fault


def _backlog_after(
    began_s: float,
    until_s: float,
    before: range,
    waiting: Mapping[int, int],
    due: Mapping[int, int],
    arrived: Mapping[int, int],
) -> Backlog:
    during = {at_s: count for at_s, count in waiting.items() if math.floor(began_s) <= at_s < until_s}
    if not during:
        return Backlog(None, None)
    highest = max(during.values())
    usual = [waiting[at_s] for at_s in before if at_s in waiting]
    if len(usual) < LEAST_BEFORE_S:
        return Backlog(highest, None)
    most = median(usual) + max(LEAST_MORE, LEAST_MORE_S * median(due.get(at_s, 0) for at_s in before))
    if highest <= most:
        return Backlog(highest, 0.0)
    at = max(during, key=lambda at_s: during[at_s])
    drained = next((at_s for at_s in sorted(waiting) if at_s > at and waiting[at_s] <= most), None)
    if drained is None:
        return Backlog(highest, None)
    meanwhile = sum(arrived.get(at_s, 0) for at_s in range(at + 1, drained + 1))
    return Backlog(highest, drained + 1 - began_s, meanwhile / (drained - at))


def _waiting(due: Mapping[int, int], arrived: Mapping[int, int], copies: float) -> dict[int, int]:
    """Return the backlog at the end of each second, from the first to the last second with any event."""
    seconds = sorted(due.keys() | arrived.keys())
    if not seconds:
        return {}
    every = range(seconds[0], seconds[-1] + 1)
    remaining = accumulate(due.get(at_s, 0) * copies - arrived.get(at_s, 0) for at_s in every)
    return {at_s: max(round(count), 0) for at_s, count in zip(every, remaining, strict=True)}
