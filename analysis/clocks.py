"""Moves the times of several hosts to the master's clock, and bounds their error.

Every process says how far its monotonic clock is from the master's and within which bound. On one host both are 0.
"""

from collections.abc import Sequence

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
    shifted = [process for process in processes if process.offset_ns]
    if not shifted:
        return events
    offset_ns = _offset_ns(F.floor(F.col(client) / F.lit(CLIENTS_PER_PROCESS)), shifted)
    return events.withColumns({time: F.col(time) - offset_ns for time in times})


def _offset_ns(process: Column, shifted: Sequence[ProcessInfo]) -> Column:
    offset = F.when(F.lit(False), F.lit(0))
    for info in shifted:
        offset = offset.when(process == F.lit(info.index), F.lit(info.offset_ns))
    return offset.otherwise(F.lit(0)).cast("bigint")
