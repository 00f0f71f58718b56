"""Computes the distribution of clients over brokers, and its evenness, from merged rows. Runs on the driver."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import inf
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl
import pyarrow as pa

from records.figures.clients import Evenness
from records.figures.faults import OutageSpread
from records.tables.results import DISTRIBUTION
from records.units import NS_PER_S

OFF = ""
"""The broker name for disconnected clients."""
Counts = npt.NDArray[np.int64]
Away = Mapping[str, Sequence[tuple[int, int]]]
"""By group: (from, until) of each time in which a client is away by schedule, in ns of the load."""
NONE_AWAY: Away = {}


@dataclass(frozen=True)
class ConnectedClients:
    """The number of connected clients by moment of the load (ns), group and broker."""

    counts: Mapping[int, Mapping[tuple[str, str], int]]

    @classmethod
    def of(cls, rows: pl.DataFrame, at_ns: Iterable[int]) -> "ConnectedClients":
        """Read the merged table connected_clients. ``at_ns``: all moments for which it was computed."""
        counts: dict[int, dict[tuple[str, str], int]] = {moment_ns: {} for moment_ns in at_ns}
        for row in rows.to_dicts():
            counts[row["at_ns"]][row["client_group"], row["broker"]] = row["clients"]
        return cls(counts)

    def merge(self, other: "ConnectedClients") -> "ConnectedClients":
        return ConnectedClients({**self.counts, **other.counts})

    def clients_by_broker(self, group: str, at_ns: int) -> dict[str, int]:
        """Return the clients of a group by broker. Raises KeyError for an unknown moment."""
        return {broker: clients for (of, broker), clients in self.counts[at_ns].items() if of == group}

    def total_clients(self, at_ns: int) -> int:
        """Return the clients of all groups. Raises KeyError for an unknown moment."""
        return sum(self.counts[at_ns].values())


def distribution(
    changes: pl.DataFrame, group_sizes: Mapping[str, int], load_ns: int, away: Away = NONE_AWAY
) -> pa.Table:
    """Return rows of DISTRIBUTION: every broker that a group was connected to at any time, in every second of the load.

    ``changes``: the merged table client_changes. ``away``: clients that are away by schedule; they are not OFF. The
    last second ends with the load.
    """
    seconds = -(-load_ns // NS_PER_S)
    rows = [DISTRIBUTION.empty_table()]
    for group, total in sorted(group_sizes.items()):
        of_group = changes.filter(pl.col("client_group") == group)
        by_broker = {
            broker: _running_total(of_group.filter(pl.col("broker") == broker), seconds)
            for broker in brokers_of(changes, group)
        }
        off = total - sum(by_broker.values(), np.zeros(seconds, "int64")) - _away(away.get(group, ()), seconds, load_ns)
        rows += [_rows(group, broker, counts) for broker, counts in {**by_broker, OFF: off}.items()]
    return pa.concat_tables(rows)


def brokers_of(changes: pl.DataFrame, group: str) -> list[str]:
    """Return the brokers that a group was connected to at any time. ``changes``: the merged table client_changes."""
    return sorted(changes.filter(pl.col("client_group") == group)["broker"].unique())


def _running_total(changes: pl.DataFrame, seconds: int) -> Counts:
    """Return the clients at the end of each second."""
    by_second = np.zeros(seconds, "int64")
    within = changes.filter(pl.col("second") < seconds)
    by_second[within["second"].to_numpy()] = within["change"].to_numpy()
    return by_second.cumsum()


def _away(absences: Iterable[tuple[int, int]], seconds: int, load_ns: int) -> Counts:
    """Return the clients that are away at the end of each second."""
    changes = np.zeros(seconds + 1, "int64")
    for from_ns, until_ns in absences:
        if until_ns > 0 and from_ns < load_ns:
            changes[max(from_ns, 0) // NS_PER_S] += 1
            changes[min(until_ns // NS_PER_S, seconds)] -= 1
    return changes.cumsum()[:seconds]


def _rows(group: str, broker: str, counts: Counts) -> pa.Table:
    names = ([group] * len(counts), [broker] * len(counts))
    columns: tuple[Any, ...] = (np.arange(len(counts), dtype="int32"), *names, counts)
    return pa.table(dict(zip(DISTRIBUTION.names, columns, strict=True)), schema=DISTRIBUTION)


def evenness(counts: Sequence[int]) -> Evenness:
    """Return how evenly clients are spread. ``counts``: clients per broker, including brokers without clients."""
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
    """Return the lower of the two middle values, and the largest. None means never, or no values."""
    if not values_ms:
        return OutageSpread(p50=None, max=None)
    ordered = sorted(values_ms, key=lambda value_ms: inf if value_ms is None else value_ms)
    return OutageSpread(p50=ordered[(len(ordered) - 1) // 2], max=ordered[-1])
