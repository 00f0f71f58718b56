"""Computes where the clients were: a row of cells for each client, and how many each broker had over time."""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from records.clients import BrokerAway, GroupBalance
from records.run import RunInfo
from records.units import NS_PER_S
from reports.inputs import Results
from reports.values import NOWHERE, Backdrop, ClientAreas, ClientRows, ClientTimeline, NamedColour

COLUMNS, AREA_COLUMNS = 900, 300
MOST_COLOURS, STYLES_OF_MANY = 8, (0, 1, 2, 3, 4, 5, 7)
"""The styles of the liveliest of more brokers: the rest is grey, as is style 6."""
Ints = npt.NDArray[np.int64]


def timeline(results: Results, backdrop: Backdrop) -> ClientTimeline:
    """The clients of each group, sorted by where they were at the beginning, after the faults and at the end."""
    stays, brokers = results.tables["stays"], named(results)
    position = {broker.name: at for at, broker in enumerate(brokers)}
    groups = tuple(
        _rows(group, stays.filter(pc.equal(stays["group"], group["group"])), position, backdrop.load_s)
        for group in results.summary["rebalance"]["groups"]
    )
    return ClientTimeline(brokers, tuple(rows for rows in groups if rows.clients), backdrop)


def named(results: Results) -> tuple[NamedColour, ...]:
    """The brokers in the run's order, each in its colour.

    Of more than eight, seven have one: those with faults, then those with the most clients.
    """
    stays = results.tables["stays"]
    seen = dict.fromkeys((*(broker.name for broker in results.run.brokers), *stays["broker"].unique().to_pylist()))
    places = {name for group in results.summary["rebalance"]["groups"] for name in brokers_of(group)}
    names = [name for name in seen if name in places]
    if len(names) <= MOST_COLOURS:
        return tuple(NamedColour(name, list(seen).index(name)) for name in names)
    targets = {fault["target"] for fault in results.summary["recovery"]["faults"]}
    spent = {name: pc.sum(_length(stays, name)).as_py() or 0 for name in names}
    liveliest = sorted(names, key=lambda name: (name not in targets, -spent[name]))[: len(STYLES_OF_MANY)]
    kept = sorted(liveliest, key=names.index)
    styles = dict(zip(kept, STYLES_OF_MANY, strict=True))
    return tuple(NamedColour(name, styles.get(name, 0), name not in styles) for name in names)


def _length(stays: pa.Table, broker: str) -> pa.ChunkedArray:
    its = stays.filter(pc.equal(stays["broker"], broker))
    return pc.subtract(its["to_ns"], its["from_ns"])


def brokers_of(group: GroupBalance) -> list[str]:
    return list(group["moments"][0]["connected"])


def _rows(group: GroupBalance, stays: pa.Table, position: Mapping[str, int], load_s: float) -> ClientRows:
    cells = {client: _cells(rows, position, load_s) for client, rows in _by_client(stays).items()}
    looked_at = [min(COLUMNS - 1, int(moment["at_s"] / load_s * COLUMNS)) for moment in group["moments"]]

    def key(client: int) -> tuple[Any, ...]:
        its = cells[client]
        places = [int(its[column]) if its[column] != NOWHERE else len(position) for column in looked_at]
        changes = np.flatnonzero(np.diff(its))
        return (*places, changes[0] if len(changes) else COLUMNS, client)

    ordered = sorted(cells, key=key)
    rows = tuple(tuple(cells[client].tolist()) for client in ordered)
    return ClientRows(group["group"], tuple(ordered), rows, group["clients"] - len(ordered))


def _by_client(stays: pa.Table) -> dict[int, list[dict[str, Any]]]:
    found: dict[int, list[dict[str, Any]]] = {}
    for row in sorted(stays.to_pylist(), key=lambda row: row["from_ns"]):
        found.setdefault(row["user"], []).append(row)
    return found


def _cells(stays: Sequence[Mapping[str, Any]], position: Mapping[str, int], load_s: float) -> Ints:
    """A column in which the client was connected to none for any time is NOWHERE: no gap is too short to be seen."""
    column_ns = load_s * NS_PER_S / COLUMNS
    cells = np.full(COLUMNS, NOWHERE, dtype="int64")
    for stay in stays:
        cells[int(stay["from_ns"] / column_ns) : -int(-stay["to_ns"] // column_ns)] = position[stay["broker"]]
    for before, after in pairwise(stays):
        if after["from_ns"] > before["to_ns"]:
            cells[int(before["to_ns"] / column_ns) : -int(-after["from_ns"] // column_ns)] = NOWHERE
    return cells


def areas(results: Results, backdrop: Backdrop) -> tuple[tuple[NamedColour, ...], tuple[ClientAreas, ...]]:
    """The brokers of the areas, those without a colour together as the last one, and the areas of each group."""
    brokers, stays, gone = named(results), results.tables["stays"], results.summary["rebalance"]["away"]
    muted = [broker.name for broker in brokers if broker.muted]
    shown = tuple(broker for broker in brokers if not broker.muted)
    together = [*([broker.name] for broker in shown), *([muted] if muted else [])]
    rest = (NamedColour(f"{len(muted)} more", 0, muted=True),) if muted else ()
    found = (
        _areas(group, stays.filter(pc.equal(stays["group"], group["group"])), together, gone, results.run, backdrop)
        for group in results.summary["rebalance"]["groups"]
    )
    return (*shown, *rest), tuple(found)


def _areas(
    group: GroupBalance,
    stays: pa.Table,
    together: Sequence[Sequence[str]],
    gone: Sequence[BrokerAway],
    run: RunInfo,
    backdrop: Backdrop,
) -> ClientAreas:
    """A value for each column in which any changed. ``together``: the brokers of each area."""
    starts = np.arange(AREA_COLUMNS) * backdrop.load_s / AREA_COLUMNS
    middles_ns = (starts + backdrop.load_s / AREA_COLUMNS / 2) * NS_PER_S
    names = [name for names in together for name in names]
    counts = np.array([_count(stays.filter(pc.equal(stays["broker"], name)), middles_ns) for name in names])
    there = np.array([_is_there(name, group, gone, run, starts) for name in names]) | (counts > 0)
    fair = there * (group["clients"] / np.maximum(1, there.sum(axis=0)))
    firsts = np.cumsum([0, *(len(names) for names in together)])[:-1]
    counts, fair = np.add.reduceat(counts, firsts, axis=0), np.add.reduceat(fair, firsts, axis=0)
    both = np.vstack([counts, fair])
    changed = np.append(True, (both[:, 1:] != both[:, :-1]).any(axis=0))
    return ClientAreas(
        group["group"],
        group["clients"],
        (*starts[changed].tolist(), backdrop.load_s),
        tuple((*row[changed].tolist(), int(row[-1])) for row in counts),
        tuple((*row[changed].tolist(), float(row[-1])) for row in fair),
        _told(group, together),
    )


def _told(group: GroupBalance, together: Sequence[Sequence[str]]) -> tuple[tuple[float, tuple[int, ...]], ...]:
    """The beginning, and whenever the clients had settled after a fault, or could have."""
    moments = [each for each in group["moments"] if each["moment"] == "begin" or each["moment"].startswith("after")]
    return tuple(
        (moment["at_s"], tuple(sum(moment["connected"].get(name, 0) for name in names) for names in together))
        for moment in moments
    )


def _count(stays: pa.Table, at_ns: npt.NDArray[np.float64]) -> Ints:
    begun = np.searchsorted(np.sort(stays["from_ns"].to_numpy()), at_ns, side="right")
    ended = np.searchsorted(np.sort(stays["to_ns"].to_numpy()), at_ns, side="right")
    found: Ints = begun - ended
    return found


def _is_there(
    broker: str, group: GroupBalance, gone: Sequence[BrokerAway], run: RunInfo, at_s: npt.NDArray[np.float64]
) -> npt.NDArray[np.bool_]:
    """Whether a group's clients may go to a broker: a standby takes none, and a fault may keep it away."""
    standby = any(each.name == broker and each.standby_of for each in run.brokers)
    there = np.full(len(at_s), broker in brokers_of(group) and not standby)
    for one in gone:
        if one["broker"] == broker:
            until_s = float("inf") if one["until_s"] is None else one["until_s"]
            there &= (at_s < one["from_s"]) | (at_s >= until_s)
    return there
