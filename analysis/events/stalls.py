"""Finds messages and answers that the load generator read late because its process stalled.

A stall can make a read late if the message was sent before the stall ended, and read between the start of the stall and
the time at which the stall's backlog must have been read. Reading the backlog takes at most as long as the stall,
unless the process is busy for more than half of the time. The read was late by at most `read − max(stall began, sent)`.
The brokers' share of this time cannot be measured, so all of it counts as the generator's own delay.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import polars as pl
import pyarrow as pa

from records.run import CONSUMER, PRODUCER, RunInfo
from records.tables.schemas import CLIENTS_PER_PROCESS

SLOT_BITS = 27
"""Stalls are indexed by slots of 2**27 ns (134 ms), so that a read is only compared with stalls near it."""

_SCHEMA = {"process": pl.Int32, "slot": pl.Int64, "began_ns": pl.Int64, "ended_ns": pl.Int64}


@dataclass(frozen=True)
class Stalls:
    """Stalls by process and slot that affected producers and consumers. None: no stalls."""

    of_producers: pl.DataFrame | None = None
    of_consumers: pl.DataFrame | None = None


def stalls(rows: Iterable[Mapping[str, Any]], info: RunInfo) -> Stalls:
    """Index the rows from `stall_rows`."""
    every = list(rows)
    producers, consumers = info.protocols_of(PRODUCER), info.protocols_of(CONSUMER)
    return Stalls(
        _frame(row for row in every if row["protocol"] in producers),
        _frame(row for row in every if row["protocol"] in consumers),
    )


def stall_rows(recorded: pa.Table, info: RunInfo) -> list[dict[str, Any]]:
    """Return the stalls of a run, with times on the master's clock. ``recorded``: the event table stalls."""
    processes = {process.index: process for process in info.processes}
    rows: list[dict[str, Any]] = recorded.to_pylist()
    for row in rows:
        if process := processes.get(row["process"]):
            row.update({time: row[time] - process.offset_at(row[time]) for time in ("began_ns", "ended_ns")})
    return rows


def by_slot(rows: Iterable[Mapping[str, Any]]) -> pl.DataFrame:
    """Return one row per stall and slot with reads that the stall may have made late."""
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
    """Add ``read_late_ns`` to events: by how much their column ``read`` may be too late, or 0.

    ``client``: the column with the number of the reading client. ``sent_ns``: send time of the message or answer.
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
    """Move ``ready_ns`` of sends back if the answer that the producer was waiting for may have been read late."""
    if stalls.of_producers is None:
        return sends
    late = with_read_late_ns(sends, stalls.of_producers, "producer", "ready_ns", pl.col("due_ns"))
    return late.with_columns(pl.col("ready_ns") - pl.col("read_late_ns")).drop("read_late_ns")


def _frame(rows: Iterable[Mapping[str, Any]]) -> pl.DataFrame | None:
    slots = by_slot(rows)
    return None if slots.is_empty() else slots
