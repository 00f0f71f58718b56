"""Finds the messages and answers that were read late because the load generator's process stood still.

A read is late by a stall if the message was sent before the stall ended, and read between the stall's beginning and the
time at which its backlog must have been read. The backlog takes at most as long again as the stall, unless the process
is busy for more than half of its time. Such a read was late by at most `read − max(stall began, sent)`. Nobody knows
how much of that was really the brokers': all of it counts as the generator's own.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from records.reader import read_events
from records.run import RunInfo
from records.rundir import RunDirectory
from records.schemas import CLIENTS_PER_PROCESS

SLOT_BITS = 27
"""Stalls are looked up by the slot of 2**27 ns (134 ms) in which a read lies: no read is compared with all stalls."""

_SCHEMA = "stall_process int, stall_slot bigint, stalls array<struct<began_ns: bigint, ended_ns: bigint>>"
BySlot = dict[tuple[int, int], list[tuple[int, int]]]


@dataclass(frozen=True)
class Stalls:
    """Stalls of the processes by (process, slot), as producers and consumers met them. None: there were none."""

    of_producers: DataFrame | None = None
    of_consumers: DataFrame | None = None


def stalls(spark: SparkSession, directory: RunDirectory, info: RunInfo) -> Stalls:
    """The stalls of a sealed run, on the master's clock."""
    rows = stall_rows(directory, info)
    producers, _, consumers = info.protocol.partition(":")
    return Stalls(
        _frame(spark, by_slot(row for row in rows if row["protocol"] == producers)),
        _frame(spark, by_slot(row for row in rows if row["protocol"] == (consumers or producers))),
    )


def stall_rows(directory: RunDirectory, info: RunInfo) -> list[dict[str, Any]]:
    """The rows of the event table of a sealed run, on the master's clock."""
    processes = {process.index: process for process in info.processes}
    rows: list[dict[str, Any]] = read_events(directory, "stalls").to_pylist()
    for row in rows:
        if process := processes.get(row["process"]):
            row.update({time: row[time] - process.offset_at(row[time]) for time in ("began_ns", "ended_ns")})
    return rows


def by_slot(rows: Iterable[Mapping[str, Any]]) -> BySlot:
    """(began_ns, ended_ns) of the stalls that may have made a read late, by (process, slot of the read)."""
    found: BySlot = defaultdict(list)
    for row in rows:
        began_ns, ended_ns = row["began_ns"], row["ended_ns"]
        caught_up_ns = ended_ns + (ended_ns - began_ns)
        for slot in range(began_ns >> SLOT_BITS, (caught_up_ns >> SLOT_BITS) + 1):
            found[row["process"], slot].append((began_ns, ended_ns))
    return dict(found)


def with_read_late_ns(events: DataFrame, stalls: DataFrame | None, client: str, read: str, sent: Column) -> DataFrame:
    """Events with ``read_late_ns``: by how much their column ``read`` may be too late, 0 if it is not.

    ``client``: the column with the number of the client that read. ``sent``: when what it read was sent, in ns.
    """
    if stalls is None:
        return events.withColumn("read_late_ns", F.lit(0).cast("bigint"))
    read_ns = F.col(read)
    process = F.floor(F.col(client) / F.lit(CLIENTS_PER_PROCESS)).cast("int")
    slot = F.call_function("shiftright", read_ns, F.lit(SLOT_BITS))
    of_this = (F.col("stall_process") == process) & (F.col("stall_slot") == slot)
    late_ns = F.array_max(F.transform("stalls", lambda stall: _late_ns(stall, read_ns, sent)))
    joined = events.join(F.broadcast(stalls), of_this, "left")
    return joined.withColumn("read_late_ns", F.coalesce(late_ns, F.lit(0))).drop(*stalls.columns)


def with_own_waits(sends: DataFrame, stalls: Stalls) -> DataFrame:
    """Sends with ``ready_ns`` moved back where the answer that let the producer go on may have been read late."""
    told = with_read_late_ns(sends, stalls.of_producers, "producer", "ready_ns", F.col("due_ns"))
    return told.withColumn("ready_ns", F.col("ready_ns") - F.col("read_late_ns")).drop("read_late_ns")


def _late_ns(stall: Column, read_ns: Column, sent: Column) -> Column:
    began_ns, ended_ns = stall["began_ns"], stall["ended_ns"]
    read_after_it = (read_ns >= began_ns) & (read_ns <= ended_ns + (ended_ns - began_ns))
    late_ns = F.greatest(F.lit(0), read_ns - F.greatest(began_ns, sent))
    return F.when(read_after_it & (sent < ended_ns), late_ns).otherwise(F.lit(0))


def _frame(spark: SparkSession, found: BySlot) -> DataFrame | None:
    if not found:
        return None
    return spark.createDataFrame([(*key, each) for key, each in found.items()], _SCHEMA)
