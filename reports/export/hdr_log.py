"""Writes the latencies of a run as a HdrHistogram log (V2 encoding): an interval for each second of the load.

The tables have latencies in buckets (`records.buckets`). Each latency is logged as the middle of its bucket, which is
within 0.4 % of it. The log's own buckets (3 significant digits) add up to 0.1 %.
"""

from collections.abc import Iterator, Mapping
from datetime import datetime

import pyarrow as pa
from hdrh.histogram import HdrHistogram

from records.buckets import value_ns
from records.summary import Summary
from records.units import NS_PER_MS
from reports.parts.histogram import select

MEASURE = "due_to_received"
HIGHEST_NS = 3_600_000_000_000  # an hour; more if the run has longer ones
SIGNIFICANT_DIGITS = 3
LEGEND = '"StartTimestamp","Interval_Length","Interval_Max","Interval_Compressed_Histogram"'

Counts = Mapping[int, Mapping[int, int]]


def hdr_log(latency: pa.Table, summary: Summary) -> str:
    """The log as text. Latencies are nanoseconds, intervals are seconds from the start of the load.

    ``latency``: the result table. A negative latency, which takes clocks that disagree, cannot be logged: a comment
    says how many there were.
    """
    counts = counts_by_second(latency)
    negative = sum(count for of in counts.values() for bucket, count in of.items() if bucket < 0)
    lines = [*_header(summary["wall"], negative), *_intervals(counts)]
    return "\n".join(lines) + "\n"


def counts_by_second(latency: pa.Table) -> Counts:
    """For each second of the load, how many messages that were due in it lie in each bucket."""
    rows = select(latency, measure=MEASURE, phase="load")
    merged = rows.group_by(["second", "bucket"]).aggregate([("count", "sum")])
    counts: dict[int, dict[int, int]] = {}
    for row in merged.to_pylist():
        if row["count_sum"]:
            counts.setdefault(row["second"], {})[row["bucket"]] = row["count_sum"]
    return counts


def _header(wall: str, negative: int) -> Iterator[str]:
    yield "#[Histogram log format version 1.2]"
    try:
        began = datetime.fromisoformat(wall)
    except ValueError:  # an unknown moment: the intervals count from 0 all the same
        pass
    else:
        yield f"#[BaseTime: {began.timestamp():.3f} (seconds since epoch)]"
        yield f"#[StartTime: {began.timestamp():.3f} (seconds since epoch), {wall}]"
    yield "# Nanoseconds from the time when a message was due to its first receipt; load, by the second it was due."
    yield "# Each is the middle of a bucket that is at most 0.8 % wide, so it is within 0.4 % of what was measured."
    if negative:
        yield f"# {negative} negative latencies are left out, as the format cannot hold them."
    yield LEGEND


def _intervals(counts: Counts) -> Iterator[str]:
    """A line a second; one without messages is empty, so that no interval is missing."""
    if not counts:
        return
    highest_ns = max(HIGHEST_NS, *(value_ns(max(of)) for of in counts.values()))
    histogram = HdrHistogram(1, highest_ns, SIGNIFICANT_DIGITS)
    for second in range(min(counts), max(counts) + 1):
        histogram.reset()
        of = {value_ns(bucket): count for bucket, count in counts.get(second, {}).items() if bucket >= 0}
        for latency_ns, count in of.items():
            histogram.record_value(latency_ns, count)
        yield f"{second:.3f},1.000,{max(of, default=0) / NS_PER_MS:.3f},{histogram.encode().decode()}"
