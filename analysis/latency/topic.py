"""The latency topic: latencies of messages, each measure in buckets, by path and second."""

from collections.abc import Callable, Collection
from functools import cache, partial

import polars as pl
import pyarrow as pa

from analysis.events.run import MergedTables, RowsOfPart, Run, TopicResults, as_table
from analysis.latency import by_label, figures, histogram
from analysis.latency.histogram import KEY, added_up
from analysis.latency.seconds import LatencyBySecond, foreseen_spans, span_histogram, span_histograms, waits_of
from analysis.messages.part import Part


class LatencyTopic:
    """Tables: latency (written by the parts), paths. Summary: latency_ms, latency_by.

    For later topics: latency_by_second; impossible, the number of durations that no clock error explains, by measure;
    latency_in_load, the distribution of each measure; latency_of_labels, the latencies of each label as they were and
    less the generator's own delay; and p99_ns, the p99 of due to received by second.
    """

    step = "timed the messages"

    def tables(self, run: Run) -> dict[str, RowsOfPart]:
        labels = None if run.info.is_closed else by_label.Labels.of(run)
        of_labels = {"latency_by_label": partial(by_label.rows_of_part, labels=labels)} if labels else {}
        spans = foreseen_spans(run.info)
        in_spans = {"latency_of_spans": partial(_of_spans, spans=spans)} if spans else {}
        return (
            of_labels
            | in_spans
            | {
                "latency": _cells,
                "waits": _waits,
                "impossible": _impossible,
                "latency_in_load": _in_load,
                "latency_by_due_second": _by_due_second,
                "paths": _paths,
            }
        )

    def conclude(self, run: Run, merged: MergedTables, results: TopicResults) -> None:
        results.latency_by_second = LatencyBySecond(merged["waits"], _histograms(run, merged))
        results.impossible = figures.impossible(merged["impossible"])
        results.latency_in_load = {row["measure"]: row for row in merged["latency_in_load"].to_dicts()}
        results.p99_ns = figures.p99s_ns(merged["latency_by_due_second"].to_dicts())
        results.tables["paths"] = as_table(merged["paths"])
        results.summary["latency_ms"] = figures.latency_ms(results.latency_in_load)
        if run.info.is_closed:
            results.summary["latency_ms"] = figures.without_due(results.summary["latency_ms"])
            results.summary["latency_by"] = by_label.latency_by_label({})
            results.latency_of_labels = {}
            return
        rows = merged["latency_by_label"].to_dicts() if "latency_by_label" in merged else ()
        of_labels = by_label.by_label(run, rows, results.latency_in_load.get(figures.MEASURES[0]))
        results.summary["latency_by"] = by_label.latency_by_label(of_labels)
        results.latency_of_labels = by_label.with_less_own(of_labels)


def _cells(part: Part) -> pl.DataFrame:
    return part.compute_once(histogram_of).select(*KEY, "count", "count_less_own")


def _histograms(run: Run, merged: MergedTables) -> Callable[[str, range], pa.Table]:
    """Return a function that looks up known spans, and computes other spans by another pass over the events."""
    foreseen = foreseen_spans(run.info)

    @cache
    def rows_of(span: range) -> pl.DataFrame:
        if span in foreseen:
            return merged["latency_of_spans"]
        purpose = f"latency: seconds {span.start} to {span.stop}"
        return run.compute(purpose, {"latency_of_spans": partial(_of_spans, spans=(span,))})["latency_of_spans"]

    return lambda measure, span: span_histogram(rows_of(span), measure, span)


def _of_spans(part: Part, spans: Collection[range]) -> pl.DataFrame:
    return span_histograms(part.compute_once(histogram_of), spans)


def _waits(part: Part) -> pl.DataFrame:
    return waits_of(part.compute_once(histogram_of))


def _impossible(part: Part) -> pl.DataFrame:
    return part.compute_once(histogram_of).group_by(pl.col("measure").cast(pl.String)).agg(pl.sum("impossible"))


def _in_load(part: Part) -> pl.DataFrame:
    return added_up(part.compute_once(histogram_of).filter(pl.col("phase") == "load"), ["measure", "bucket"])


def _by_due_second(part: Part) -> pl.DataFrame:
    return added_up(part.compute_once(histogram_of).filter(_from_due()), ["second", "bucket"])


def _paths(part: Part) -> pl.DataFrame:
    """Count first deliveries of all phases by the producer's broker, the consumer's broker, and hops."""
    received = pl.col("measure") == "sent_to_received" if part.run.closed else _from_due()
    by_path = part.compute_once(histogram_of).filter(received).group_by("from_broker", "to_broker", "hops")
    return by_path.agg(pl.sum("count").alias("messages"))


def _from_due() -> pl.Expr:
    return pl.col("measure") == "due_to_received"


def histogram_of(part: Part) -> pl.DataFrame:
    """Return all latencies of a part, as `analysis.latency.histogram.latency` does.

    A closed load has none that count from due times.
    """
    facts = part.run
    timed = histogram.durations(part.sends, part.messages, part.deliveries, facts.stalls, facts.replies)
    if facts.closed:
        timed = (measured for measured in timed if measured[0] not in figures.DUE_MEASURES)
    return histogram.latency(timed, facts.timeline, facts.clock_error_ns)
