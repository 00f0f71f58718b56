"""Finds the messages and answers that were read late because the load generator's process stood still.

A read is late by a stall if the message was sent before the stall ended, and read between the stall's beginning and the
time at which its backlog must have been read. The backlog takes at most as long again as the stall, unless the process
is busy for more than half of its time. Such a read was late by at most `read − max(stall began, sent)`. Nobody knows
how much of that was really the brokers': all of it counts as the generator's own.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import polars as pl

from records.reader import read_events
from records.run import CONSUMER, PRODUCER, RunInfo
from records.rundir import RunDirectory
from records.schemas import CLIENTS_PER_PROCESS

SLOT_BITS = 27
"""Stalls are looked up by the slot of 2**27 ns (134 ms) in which a read lies: no read is compared with all stalls."""

_SCHEMA = {"process": pl.Int32, "slot": pl.Int64, "began_ns": pl.Int64, "ended_ns": pl.Int64}


@dataclass(frozen=True)
class Stalls:
    """Stalls of the processes by process and slot, as producers and consumers met them. None: there were none."""

    of_producers: pl.DataFrame | None = None
    of_consumers: pl.DataFrame | None = None


def stalls(rows: Iterable[Mapping[str, Any]], info: RunInfo) -> Stalls:
    """``rows``: as `stall_rows` has them."""
    every = list(rows)
    producers, consumers = info.protocols_of(PRODUCER), info.protocols_of(CONSUMER)
    return Stalls(
        _frame(row for row in every if row["protocol"] in producers),
        _frame(row for row in every if row["protocol"] in consumers),
    )


def stall_rows(directory: RunDirectory, info: RunInfo) -> list[dict[str, Any]]:
    """The rows of the event table of a sealed run, on the master's clock."""
    processes = {process.index: process for process in info.processes}
    rows: list[dict[str, Any]] = read_events(directory, "stalls").to_pylist()
    for row in rows:
        if process := processes.get(row["process"]):
            row.update({time: row[time] - process.offset_at(row[time]) for time in ("began_ns", "ended_ns")})
    return rows


def by_slot(rows: Iterable[Mapping[str, Any]]) -> pl.DataFrame:
    """One row a stall and slot: those that may have made a read in that slot late."""
    slots = []
    for row in rows:
        began_ns, ended_ns = row["began_ns"], row["ended_ns"]
        caught_up_ns = ended_ns + (ended_ns - began_ns)
        for slot in range(began_ns >> SLOT_BITS, (caught_up_ns >> SLOT_BITS) + 1):
            slots.append((row["process"], slot, began_ns, ended_ns))
    return pl.DataFrame(slots, _SCHEMA, orient="row")


def with_read_late_ns(
    events: pl.DataFrame, stalls: pl.DataFrame | None, client: str, read: str, sent_ns: pl.Expr
) -> pl.DataFrame:
    """Events with ``read_late_ns``: by how much their column ``read`` may be too late, 0 if it is not.

    ``client``: the column with the number of the client that read. ``sent_ns``: when what it read was sent.
    """
    if stalls is None:
        return events.with_columns(pl.lit(0, pl.Int64).alias("read_late_ns"))
    numbered = events.with_row_index("row")
    read_ns, began_ns, ended_ns = pl.col("read_ns"), pl.col("began_ns"), pl.col("ended_ns")
    read_after_it = (read_ns >= began_ns) & (read_ns <= ended_ns + (ended_ns - began_ns))
    late_ns = read_ns - pl.max_horizontal(began_ns, "told_ns")
    late = (
        numbered.select(
            "row",
            (pl.col(client) // CLIENTS_PER_PROCESS).cast(pl.Int32).alias("process"),
            (pl.col(read) // 2**SLOT_BITS).alias("slot"),
            pl.col(read).alias("read_ns"),
            sent_ns.alias("told_ns"),
        )
        .filter(pl.col("slot").is_in(stalls["slot"].unique().implode()))
        .join(stalls, ["process", "slot"])
        .filter(read_after_it & (pl.col("told_ns") < ended_ns))
        .group_by("row")
        .agg(late_ns.clip(0).max().alias("read_late_ns"))
    )
    return numbered.join(late, "row", how="left").with_columns(pl.col("read_late_ns").fill_null(0)).drop("row")


def with_own_waits(sends: pl.DataFrame, stalls: Stalls) -> pl.DataFrame:
    """Sends with ``ready_ns`` moved back where the answer that let the producer go on may have been read late."""
    if stalls.of_producers is None:
        return sends
    late = with_read_late_ns(sends, stalls.of_producers, "producer", "ready_ns", pl.col("due_ns"))
    return late.with_columns(pl.col("ready_ns") - pl.col("read_late_ns")).drop("read_late_ns")


def _frame(rows: Iterable[Mapping[str, Any]]) -> pl.DataFrame | None:
    slots = by_slot(rows)
    return None if slots.is_empty() else slots
