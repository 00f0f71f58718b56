"""Finds the stays of users, and counts the clients of each broker by them.

A stay says who was connected to which broker, from when to when, and why that ended.
"""

from collections.abc import Mapping, Sequence
from math import inf
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc

from analysis.events.run import by_user
from records.clients import Evenness
from records.faults import OutageSpread
from records.results import DISTRIBUTION, STAYS
from records.units import NS_PER_S

OPENED, ENDED = "connected", ("lost", "closed")
_AT = ["client", "broker"]


def stays(connections: pl.DataFrame, members: pl.DataFrame, load_began_ns: int, load_ended_ns: int) -> pl.DataFrame:
    """Rows of STAYS: the part of each within the load; times count from its start. Users of a connection have one
    each."""
    until_ns = pl.min_horizontal("end_ns", "next_ns").fill_null(load_ended_ns)
    within = (pl.col("at_ns") < load_ended_ns) & (until_ns > load_began_ns)
    why = pl.coalesce("end_cause", "end_event", pl.lit("unrecorded"))
    return (
        by_user(_connected(connections).filter(within), members)
        .with_columns(
            (pl.col("at_ns").clip(load_began_ns) - load_began_ns).alias("from_ns"),
            (until_ns.clip(upper_bound=load_ended_ns) - load_began_ns).alias("to_ns"),
            pl.when(until_ns >= load_ended_ns).then(pl.lit("load_end")).otherwise(why).alias("cause"),
        )
        .select(STAYS.names)
    )


def clients(connections: pl.DataFrame, members: pl.DataFrame) -> dict[str, int]:
    """How many clients each group has, connected or not. Users that share a connection count one by one."""
    users = by_user(connections.select("client", "group").unique(), members)
    return dict(users.group_by("group").agg(pl.col("user").n_unique()).iter_rows())


def _connected(connections: pl.DataFrame) -> pl.DataFrame:
    """One row a connection: end_ns, end_event and end_cause are of its own end (null: not on record), next_ns is when
    the client's next connection was opened."""
    is_opened = pl.col("event") == OPENED
    follows = {name: pl.col(name).shift(-1).over(_AT) for name in ("event", "at_ns", "cause")}
    is_end = follows["event"] != OPENED
    opened_or_ended = connections.filter(
        pl.col("event").is_in([OPENED, *ENDED]) & pl.col("broker").is_not_null()
    ).with_columns(is_opened.alias("is_opened"))
    return (
        opened_or_ended.drop("ended_ns")
        .sort("at_ns", "is_opened")
        .with_columns(
            pl.when(is_end).then(follows["at_ns"]).alias("end_ns"),
            pl.when(is_end).then(follows["event"]).alias("end_event"),
            pl.when(is_end).then(follows["cause"]).alias("end_cause"),
        )
        .filter("is_opened")
        .with_columns(pl.col("at_ns").shift(-1).over("client").alias("next_ns"))
    )


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
    clients_by_second: Counts = np.bincount(at_ns.to_numpy() // NS_PER_S, minlength=seconds)[:seconds]
    return clients_by_second


def _rows(group: str, broker: str, counts: Counts) -> pa.Table:
    names = ([group] * len(counts), [broker] * len(counts))
    columns: tuple[Any, ...] = (np.arange(len(counts), dtype="int32"), *names, counts)
    return pa.table(dict(zip(DISTRIBUTION.names, columns, strict=True)), schema=DISTRIBUTION)


def connected_at(stays: pa.Table, at_ns: int) -> dict[str, int]:
    """Clients by broker at a moment of the load."""
    there = pc.and_(pc.less_equal(stays["from_ns"], at_ns), pc.greater(stays["to_ns"], at_ns))
    counts = stays.filter(there)["broker"].value_counts()
    return {row["values"]: row["counts"] for row in counts.to_pylist()}


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
