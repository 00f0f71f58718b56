"""Makes tables of the clients at each broker and of their moves: by moment, by fault, by second and by stay."""

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from records.balance import Distribution, FaultMoves, GroupBalance, Rebalance
from reports.numbers import counted
from reports.values import Cell, Column, Table

NS_PER_S = 1_000_000_000
MOST_STAYS, MOST_CHANGES = 300, 60
MOMENTS = {"begin": "the load begins", "end": "the load ends"}


def balance_table(group: GroupBalance, faults: Sequence[FaultMoves]) -> Table:
    """The clients of a group by broker, beside their fair share, a row a moment."""
    brokers = list(group["moments"][0]["connected"])
    columns = (
        Column("When"),
        Column("At (s of load)", 1),
        *(Column(broker, 0) for broker in brokers),
        Column("Off", 0),
        Column("Fair share", 1),
        Column("Max/mean", 2),
        Column("CV", 2),
        Column("Jain's index", 3),
    )
    unsettled = {_after(fault) for fault in faults if fault["settled_s"] is None}
    rows = tuple(_moment(moment, brokers, unsettled) for moment in group["moments"])
    return Table(f"Clients of {group['group']} by broker", columns, rows)


def _after(fault: FaultMoves) -> str:
    return f"after {fault['fault']}" + (" mended" if fault["effect"] == "mended" else "")


def _moment(moment: Distribution, brokers: Sequence[str], unsettled: set[str]) -> tuple[Cell, ...]:
    name = MOMENTS.get(moment["moment"], moment["moment"])
    return (
        f"{name}, not settled" if name in unsettled else name,
        moment["at_s"],
        *(moment["connected"][broker] for broker in brokers),
        moment["off"],
        moment["fair_share"],
        moment["max_to_mean"],
        moment["cv"],
        moment["jain"],
    )


def moves_table(rebalance: Rebalance) -> Table:
    """The moves after each fault, and how long the clients took to settle."""
    columns = (
        Column("Fault"),
        Column("Effect"),
        Column("At (s of load)", 1),
        Column("Moves", 0),
        Column("Clients that moved", 0),
        Column("Off p50 (ms)", 0),
        Column("Off max (ms)", 0),
        Column("First move after (s)", 2),
        Column("Settled after (s)"),
        Column("Later moves", 0),
    )
    rows = tuple(
        (
            fault["fault"],
            fault["effect"],
            fault["at_s"],
            fault["moves"],
            fault["moved"],
            fault["off_ms"]["p50"],
            fault["off_ms"]["max"],
            fault["first_move_s"],
            fault["state"] if fault["settled_s"] is None else f"{fault['settled_s']:.2f}",
            fault["later_moves"],
        )
        for fault in rebalance["faults"]
    )
    caption = (
        "Moves after each fault; off: from the old connection to the new one; settled: nobody moved or was off for 5 s"
    )
    return Table(caption, columns, rows, "No fault was applied within the load.")


def distribution_table(distribution: pa.Table) -> Table:
    """The clients of each group and broker at the end of those seconds that changed them; of many only some."""
    by_second: dict[int, dict[tuple[str, str], int]] = {}
    for row in distribution.to_pylist():
        by_second.setdefault(row["second"], {})[row["group"], row["broker"]] = row["clients"]
    changed = [second for second, counts in sorted(by_second.items()) if counts != by_second.get(second - 1)]
    every = -(-len(changed) // MOST_CHANGES) or 1
    names = list(by_second.get(0, {}))
    columns = (Column("Second", 0), *(Column(f"{group}: {broker or 'off'}", 0) for group, broker in names))
    rows = tuple((second, *(by_second[second][name] for name in names)) for second in changed[::every])
    which = "each second that changed them" if every == 1 else f"one in {every} seconds that changed them"
    return Table(f"Clients of each broker at the end of {which}", columns, rows, "No client connected.")


def stays_table(stays: pa.Table) -> Table:
    """A row a stay of every client that had several, or was off for a time; of many only the first."""
    columns = (
        Column("Client", 0),
        Column("Group"),
        Column("Broker"),
        Column("From (s of load)", 3),
        Column("To (s of load)", 3),
        Column("Ended by"),
    )
    whole = pc.and_(pc.equal(stays["from_ns"], 0), pc.equal(stays["cause"], "load_end"))
    others = stays.filter(pc.invert(whole)).sort_by([("user", "ascending"), ("from_ns", "ascending")])
    more = f" (the first {MOST_STAYS:,} of {others.num_rows:,})" if others.num_rows > MOST_STAYS else ""
    unmoved = f"{counted(stays.num_rows - others.num_rows, 'client')} stayed at one broker for the whole load"
    rows = tuple(map(_stay, others.slice(0, MOST_STAYS).to_pylist()))
    return Table(f"Stays of the other clients{more}; {unmoved}", columns, rows, "There were no others.", sortable=True)


def _stay(row: Mapping[str, Any]) -> tuple[Cell, ...]:
    times = (row["from_ns"] / NS_PER_S, row["to_ns"] / NS_PER_S)
    return row["user"], row["group"], row["broker"], *times, row["cause"].replace("_", " ")
