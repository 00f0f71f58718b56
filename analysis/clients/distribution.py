"""Counts the clients of each broker from their stays: in each second, and at any moment. Arrow in and out; no Spark."""

from collections.abc import Mapping, Sequence
from math import inf
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from records.clients import Evenness
from records.faults import OutageSpread
from records.results import DISTRIBUTION
from records.units import NS_PER_S

OFF = ""
"""The broker of clients that are connected to none."""
Counts = npt.NDArray[np.int64]


def distribution(stays: pa.Table, clients: Mapping[str, int], load_ns: int) -> pa.Table:
    """Rows of DISTRIBUTION: every broker that a group was ever connected to, in every second of the load.

    ``stays``: rows of STAYS. ``clients``: how many each group has. The last second ends with the load.
    """
    seconds = -(-load_ns // NS_PER_S)
    parts = [DISTRIBUTION.empty_table()]
    for group, total in sorted(clients.items()):
        its = stays.filter(pc.equal(stays["group"], group))
        by_broker = {
            broker: _by_second(its.filter(pc.equal(its["broker"], broker)), seconds) for broker in brokers_of(its)
        }
        off = total - sum(by_broker.values(), np.zeros(seconds, "int64"))
        parts += [_rows(group, broker, counts) for broker, counts in {**by_broker, OFF: off}.items()]
    return pa.concat_tables(parts)


def brokers_of(stays: pa.Table) -> list[str]:
    return sorted(pc.unique(stays["broker"]).to_pylist())


def _by_second(stays: pa.Table, seconds: int) -> Counts:
    """The clients at the end of each second. A stay that the load's end cut off is open at that end."""
    ended = stays.filter(pc.not_equal(stays["cause"], "load_end"))
    return (_per_second(stays["from_ns"], seconds) - _per_second(ended["to_ns"], seconds)).cumsum()


def _per_second(at_ns: pa.ChunkedArray, seconds: int) -> Counts:
    found: Counts = np.bincount(at_ns.to_numpy() // NS_PER_S, minlength=seconds)[:seconds]
    return found


def _rows(group: str, broker: str, counts: Counts) -> pa.Table:
    names = ([group] * len(counts), [broker] * len(counts))
    columns: tuple[Any, ...] = (np.arange(len(counts), dtype="int32"), *names, counts)
    return pa.table(dict(zip(DISTRIBUTION.names, columns, strict=True)), schema=DISTRIBUTION)


def connected_at(stays: pa.Table, at_ns: int) -> dict[str, int]:
    """Clients by broker at a moment of the load."""
    there = pc.and_(pc.less_equal(stays["from_ns"], at_ns), pc.greater(stays["to_ns"], at_ns))
    found = stays.filter(there)["broker"].value_counts()
    return {each["values"]: each["counts"] for each in found.to_pylist()}


def evenness(counts: Sequence[int]) -> Evenness:
    """``counts``: the clients of each broker that could have some, zeros included."""
    total, brokers = sum(counts), len(counts)
    if not total:
        return Evenness(max_to_mean=None, cv=None, jain=None)
    mean, squares = total / brokers, sum(count * count for count in counts)
    variance = max(0.0, squares / brokers - mean * mean)
    return Evenness(
        max_to_mean=max(counts) / mean,
        cv=float(np.sqrt(variance)) / mean,
        jain=total * total / (brokers * squares),
    )


def spread(values_ms: Sequence[float | None]) -> OutageSpread:
    """The lower of the two middle values, and the largest; None for never, and for no value at all."""
    if not values_ms:
        return OutageSpread(p50=None, max=None)
    ordered = sorted(values_ms, key=lambda value_ms: inf if value_ms is None else value_ms)
    return OutageSpread(p50=ordered[(len(ordered) - 1) // 2], max=ordered[-1])
