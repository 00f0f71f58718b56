"""Moves the times of several hosts to the master's clock, and bounds their error.

Every process says how far its monotonic clock is from the master's and within which bound. On one host both are 0. A
clock that runs faster or slower has several readings, and its offset between them is interpolated.
"""

from collections.abc import Sequence
from itertools import pairwise

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from records.run import ProcessInfo
from records.schemas import CLIENTS_PER_PROCESS


def error_bound_ns(processes: Sequence[ProcessInfo]) -> int:
    """The most by which a duration between two processes can be wrong: the two largest bounds together."""
    return sum(sorted((process.error_bound_ns for process in processes), reverse=True)[:2])


def on_the_masters_clock(
    events: DataFrame, client: str, times: Sequence[str], processes: Sequence[ProcessInfo]
) -> DataFrame:
    """Events with their times moved to the master's clock, by the process that the client number tells."""
    shifted = [process for process in processes if process.offset_ns or process.clock]
    if not shifted:
        return events
    process = F.floor(F.col(client) / F.lit(CLIENTS_PER_PROCESS))
    return events.withColumns({time: F.col(time) - _offset_ns(process, F.col(time), shifted) for time in times})


def _offset_ns(process: Column, time: Column, shifted: Sequence[ProcessInfo]) -> Column:
    offset = F.when(F.lit(False), F.lit(0))
    for info in shifted:
        offset = offset.when(process == F.lit(info.index), _offset_at(info, time))
    return offset.otherwise(F.lit(0)).cast("bigint")


def _offset_at(info: ProcessInfo, time: Column) -> Column:
    """As `ProcessInfo.offset_at`."""
    if not info.clock:
        return F.lit(info.offset_ns)
    offset = F.when(time <= F.lit(info.clock[0].at_ns), F.lit(info.clock[0].offset_ns))
    for before, after in pairwise(info.clock):
        pace = (after.offset_ns - before.offset_ns) / (after.at_ns - before.at_ns)
        moved_ns = F.round((time - F.lit(before.at_ns)) * F.lit(pace))
        offset = offset.when(time < F.lit(after.at_ns), F.lit(before.offset_ns) + moved_ns.cast("bigint"))
    return offset.otherwise(F.lit(info.clock[-1].offset_ns))
