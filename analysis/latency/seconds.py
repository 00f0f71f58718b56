"""Latencies by second: the number of waiting messages, and histograms of ranges of seconds on demand.

The driver keeps a few rows per second. A histogram has hundreds of rows per second, so Spark merges the seconds.
"""

from collections import defaultdict
from collections.abc import Callable, Collection
from dataclasses import dataclass

import polars as pl
import pyarrow as pa

from analysis.latency.figures import LAG, latency_of
from analysis.latency.histogram import added_up
from analysis.latency.timing import FROM_DUE
from records.figures.buckets import value_ns
from records.figures.latency import Latency
from records.loads.client_steps import parse_client_steps
from records.loads.rate_steps import ends_s, judged_seconds
from records.run import RunInfo
from records.tables.merged_tables import BUCKET, LATENCY_FIGURES
from records.units import NS_PER_S

OF_SPANS = (FROM_DUE, LAG)
"""The measures whose histograms are computed for spans of seconds."""
Histogram = Callable[[str, range], pa.Table]


@dataclass(frozen=True)
class LatencyBySecond:
    """``waits``: rows of `waits_of`. ``histogram``: returns a measure's buckets with their figures, for the messages
    that were due in these seconds; the measure is one of OF_SPANS.
    """

    waits: pl.DataFrame
    histogram: Histogram

    def arrived(self, measure: str = FROM_DUE) -> dict[int, float]:
        """Return the number of messages with a duration, by second of the due time."""
        by_second = self._waits(measure).group_by("second").agg(pl.sum("messages"))
        return {at_s: float(messages) for at_s, messages in by_second.iter_rows()}

    def waiting(self, measure: str = FROM_DUE) -> dict[int, float]:
        """Return the number of waiting messages at the end of each second. Only messages that were received count.

        The due times of a second are assumed to be spread evenly over it.
        """
        changes: dict[int, float] = defaultdict(float)
        for at_s, waited_s, messages, rest_ns in self._waits(measure).iter_rows():
            rest = rest_ns / NS_PER_S
            changes[at_s] += messages if waited_s else rest
            if waited_s:  # all messages wait at the ends of this many seconds, and a part of them at another one
                changes[at_s + waited_s] -= messages - rest
            changes[at_s + waited_s + 1] -= rest
        waiting, waits = {}, 0.0
        for at_s in range(min(changes, default=0), max(changes, default=0)):
            waits += changes.get(at_s, 0.0)
            waiting[at_s] = max(waits, 0.0)
        return waiting

    def figures(self, measure: str, seconds: range) -> Latency:
        """Return the figures of the recorded durations."""
        return latency_of(self.histogram(measure, seconds))

    def counts(self, measure: str, seconds: range, figure: str = "count") -> dict[int, int]:
        """Return the number of messages by bucket. ``figure``: count or count_less_own."""
        return counts_by_bucket(self.histogram(measure, seconds), figure)

    def _waits(self, measure: str) -> pl.DataFrame:
        rows = self.waits.filter(pl.col("measure") == measure)
        return rows.select("second", "waited_s", "messages", "rest_ns").sort("second", "waited_s")  # sums are of floats


def _nothing(_measure: str, _seconds: range) -> pa.Table:
    return pa.table({})


NO_LATENCIES = LatencyBySecond(pl.DataFrame(), _nothing)
"""Before the latencies were computed."""


def counts_by_bucket(rows: pa.Table, figure: str = "count") -> dict[int, int]:
    """Return the number of messages per bucket, without empty buckets."""
    summed = rows.group_by(BUCKET).aggregate([(figure, "sum")])
    counts = zip(summed[BUCKET].to_pylist(), summed[f"{figure}_sum"].to_pylist(), strict=True)
    return {bucket: count for bucket, count in counts if count}


def waits_of(histogram: pl.DataFrame) -> pl.DataFrame:
    """Return messages by measure, second and whole seconds of waiting. rest_ns: the sum of their remaining waits.

    ``histogram``: rows with measure, second, bucket and count.
    """
    buckets = histogram.select(BUCKET).unique()
    waited_ns = [max(value_ns(bucket), 0) for bucket in buckets[BUCKET]]
    of_buckets = buckets.with_columns(
        pl.Series("waited_s", [each // NS_PER_S for each in waited_ns], pl.Int64),
        pl.Series("rest_ns", [each % NS_PER_S for each in waited_ns], pl.Int64),
    )
    rows = histogram.select(pl.col("measure").cast(pl.String), "second", BUCKET, "count").join(of_buckets, BUCKET)
    return rows.group_by("measure", "second", "waited_s").agg(
        pl.sum("count").alias("messages"), (pl.col("count") * pl.col("rest_ns")).sum().alias("rest_ns")
    )


def foreseen_spans(info: RunInfo) -> tuple[range, ...]:
    """Return the seconds of the steps of a load, which are known before the analysis."""
    ends = ends_s(info.rate_steps)
    of_rates = (judged_seconds(end - step.for_s, end) for step, end in zip(info.rate_steps, ends, strict=True))
    of_clients = parse_client_steps(info.client_steps).spans_s if info.client_steps else ()
    return tuple(dict.fromkeys((*of_rates, *(range(from_s, until_s) for from_s, until_s in of_clients))))


def span_histograms(histogram: pl.DataFrame, spans: Collection[range]) -> pl.DataFrame:
    """Return the histograms of these spans of seconds: rows of the merged table latency_of_spans."""
    measured = histogram.filter(pl.col("measure").cast(pl.String).is_in(OF_SPANS))
    within = [
        measured.filter(pl.col("second").is_between(span.start, span.stop - 1)).with_columns(
            pl.lit(span.start, pl.Int32).alias("from_s"), pl.lit(span.stop, pl.Int32).alias("until_s")
        )
        for span in spans
    ]
    return added_up(pl.concat(within), ["measure", "from_s", "until_s", BUCKET])


def span_histogram(rows: pl.DataFrame, measure: str, span: range) -> pa.Table:
    """Return one histogram of the merged table latency_of_spans."""
    is_asked = (pl.col("measure") == measure) & (pl.col("from_s") == span.start) & (pl.col("until_s") == span.stop)
    table: pa.Table = rows.filter(is_asked).select(BUCKET, *LATENCY_FIGURES).to_arrow()
    return table
