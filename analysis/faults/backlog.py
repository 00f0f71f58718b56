"""Finds how many messages piled up after a fault, and how long it took until they had arrived.

A message is in the backlog from when it was due until it was received: it waits at its producer, on a queue or for its
consumer. Plain values and Arrow in and out; no Spark.
"""

import math
from collections.abc import Mapping, Sequence
from itertools import accumulate, pairwise
from statistics import median
from typing import NamedTuple

import pyarrow as pa

from analysis.events.fault_spans import FaultSpan
from analysis.faults.disturbance import LEAST_BEFORE_S, seconds_before
from analysis.load.rates import LEAST_MORE, LEAST_MORE_S, by_second
from records.units import NS_PER_S


class Backlog(NamedTuple):
    """``highest``: deliveries still to come, at the end of the second that had most; None if nothing was due.

    ``drained_s``: from the fault until they were no more than before it; 0 if they never were, None if they never
    were again, or too few seconds are known before it. ``drain_per_s``: deliveries a second from the highest backlog
    until then; None without either.
    """

    highest: int | None
    drained_s: float | None
    drain_per_s: float | None = None


def backlogs(rates: pa.Table, faults: Sequence[FaultSpan], load_began_ns: int, copies: float) -> dict[int, Backlog]:
    """By the fault's number, from the result table. ``copies``: how many deliveries each message should have.

    The highest backlog of a fault is that until the next one begins.
    """
    due, arrived = by_second(rates, "due"), by_second(rates, "received")
    waiting = _waiting(due, arrived, copies)
    if not waiting:
        return {fault.number: Backlog(None, None) for fault in faults}
    ordered = sorted(faults, key=lambda fault: fault.began_ns)
    found = {}
    for fault, later in pairwise([*ordered, None]):
        assert fault is not None
        until = math.inf if later is None else (later.began_ns - load_began_ns) / NS_PER_S
        before = seconds_before(fault, load_began_ns)
        began_s = (fault.began_ns - load_began_ns) / NS_PER_S
        found[fault.number] = _of_fault(began_s, until, before, waiting, due, arrived)
    return found


def _of_fault(
    began_s: float,
    until_s: float,
    before: range,
    waiting: Mapping[int, int],
    due: Mapping[int, int],
    arrived: Mapping[int, int],
) -> Backlog:
    during = {second: count for second, count in waiting.items() if math.floor(began_s) <= second < until_s}
    if not during:
        return Backlog(None, None)
    highest = max(during.values())
    usual = [waiting[second] for second in before if second in waiting]
    if len(usual) < LEAST_BEFORE_S:
        return Backlog(highest, None)
    most = median(usual) + max(LEAST_MORE, LEAST_MORE_S * median(due.get(second, 0) for second in before))
    if highest <= most:
        return Backlog(highest, 0.0)
    at = max(during, key=lambda second: during[second])
    drained = next((second for second in sorted(waiting) if second > at and waiting[second] <= most), None)
    if drained is None:
        return Backlog(highest, None)
    meanwhile = sum(arrived.get(second, 0) for second in range(at + 1, drained + 1))
    return Backlog(highest, drained + 1 - began_s, meanwhile / (drained - at))


def _waiting(due: Mapping[int, int], arrived: Mapping[int, int], copies: float) -> dict[int, int]:
    """At the end of each second, from the first to the last in which anything happened."""
    seconds = sorted(due.keys() | arrived.keys())
    if not seconds:
        return {}
    every = range(seconds[0], seconds[-1] + 1)
    left = accumulate(due.get(second, 0) * copies - arrived.get(second, 0) for second in every)
    return {second: max(round(count), 0) for second, count in zip(every, left, strict=True)}
