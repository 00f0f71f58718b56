"""Converts times from several hosts to the master's clock, and bounds the error.

Every process reports the offset of its monotonic clock from the master's, and an error bound. On one host, both are 0.
A clock that drifts has several readings, and its offset between them is interpolated.
"""

from collections.abc import Sequence
from itertools import pairwise

import polars as pl

from records.run import ProcessInfo
from records.tables.schemas import CLIENTS_PER_PROCESS


def error_bound_ns(processes: Sequence[ProcessInfo]) -> int:
    """Return the largest error of a duration between two processes: the sum of the two largest bounds."""
    return sum(sorted((process.error_bound_ns for process in processes), reverse=True)[:2])


def on_the_masters_clock(
    events: pl.DataFrame, client: str, times: Sequence[str], processes: Sequence[ProcessInfo]
) -> pl.DataFrame:
    """Convert event times to the master's clock. The client number identifies the process."""
    shifted = [process for process in processes if process.offset_ns or process.clock]
    if not shifted:
        return events
    process = pl.col(client) // CLIENTS_PER_PROCESS
    return events.with_columns(
        (pl.col(time) - _offset_ns(process, pl.col(time), shifted)).alias(time) for time in times
    )


def _offset_ns(process: pl.Expr, time: pl.Expr, shifted: Sequence[ProcessInfo]) -> pl.Expr:
    offset_ns = pl.lit(0, pl.Int64)
    for info in shifted:
        offset_ns = pl.when(process == info.index).then(_offset_at_ns(info, time)).otherwise(offset_ns)
    return offset_ns


def _offset_at_ns(info: ProcessInfo, time: pl.Expr) -> pl.Expr:
    """Return the same offset as `ProcessInfo.offset_at`, as an expression."""
    if not info.clock:
        return pl.lit(info.offset_ns, pl.Int64)
    earliest, last = info.clock[0], info.clock[-1]
    offset_ns = pl.lit(last.offset_ns, pl.Int64)
    for before, after in reversed([*pairwise(info.clock)]):
        pace = (after.offset_ns - before.offset_ns) / (after.at_ns - before.at_ns)
        moved_ns = ((time - before.at_ns) * pace).round(mode="half_away_from_zero").cast(pl.Int64)
        offset_ns = pl.when(time < after.at_ns).then(before.offset_ns + moved_ns).otherwise(offset_ns)
    return pl.when(time <= earliest.at_ns).then(pl.lit(earliest.offset_ns, pl.Int64)).otherwise(offset_ns)
