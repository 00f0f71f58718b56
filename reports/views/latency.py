"""Computes latency, and the generator's own lag, over time."""

import pyarrow as pa

from reports.values import Backdrop, Line, Panel, TimeSeries
from reports.views.grid import with_step
from reports.views.histogram import Histogram, select

SHOWN = (("p50", 0.5), ("p99", 0.99), ("max", 1.0))


def by_step(rows: pa.Table, backdrop: Backdrop) -> dict[int, Histogram]:
    """Step -> all its latencies, buckets merged (percentiles of several seconds are never averaged)."""
    found = with_step(rows, backdrop).group_by(["step", "bucket"]).aggregate([("count", "sum")])
    steps = sorted(set(found["step"].to_pylist()))
    renamed = found.rename_columns(["step", "bucket", "count"])
    return {step: Histogram.of(select(renamed, step=step)) for step in steps}


def over_time(rows: pa.Table, backdrop: Backdrop) -> tuple[Line, ...]:
    """Median, 99th percentile and largest latency of the messages due in each step; ms."""
    found = by_step(rows, backdrop)
    empty = Histogram(())
    return tuple(
        Line(name, tuple(found.get(start, empty).percentile(fraction) for start in backdrop.starts), style)
        for style, (name, fraction) in enumerate(SHOWN)
    )


def latency(table: pa.Table, backdrop: Backdrop) -> TimeSeries:
    lines = over_time(select(table, measure="due_to_received"), backdrop)
    return TimeSeries(tuple(backdrop.starts), (Panel("", lines),), "ms", backdrop, log_y=True, decimals=2)


def lag(table: pa.Table, backdrop: Backdrop) -> TimeSeries:
    """How late the generator was through its own fault."""
    lines = over_time(select(table, measure="ready_to_sent"), backdrop)
    return TimeSeries(tuple(backdrop.starts), (Panel("", lines),), "ms", backdrop, log_y=True, decimals=2)
