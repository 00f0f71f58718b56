"""Tables and sentences about latency: by path (the brokers of producer and consumer, and hops), by region, overall."""

from collections.abc import Collection
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from records.figures.latency import Latency, Regions
from records.figures.percentiles import values_needed
from records.figures.summary import Summary
from reports.latency.main_measure import DUE, main_measure, measure_text, start_clause
from reports.load import held_step, step_name
from reports.messages import owed_and_received
from reports.parts.histogram import Histogram, select
from reports.parts.numbers import joined, significant
from reports.parts.values import Columns, Table, columns_of, table_of


def paths_table(table: pa.Table, latency: pa.Table, measure: str = DUE) -> Table:
    """Return a table with a row per path: its messages, and their latency in the load phase."""
    measured = select(latency, phase="load", measure=measure)
    columns: Columns = (
        ("From", None, "from_broker"),
        ("To", None, "to_broker"),
        ("Hops", 0, "hops"),
        ("Messages", 0, "messages"),
        ("p50 (ms)", 2, lambda row: _percentile(row, measured, 0.5)),
        ("p99 (ms)", 2, lambda row: _percentile(row, measured, 0.99)),
    )
    rows = table.sort_by([("from_broker", "ascending"), ("to_broker", "ascending")]).to_pylist()
    caption = f"Paths that messages took, latency {measure_text(measure)}"
    return table_of(caption, rows, columns, "No message was delivered.", sortable=True)


def _percentile(row: dict[str, Any], measured: pa.Table, share: float) -> float | None:
    same_ends = select(measured, from_broker=row["from_broker"], to_broker=row["to_broker"])
    hops = same_ends["hops"]
    histogram = Histogram.of(same_ends.filter(hops.is_null() if row["hops"] is None else _equal(hops, row["hops"])))
    return histogram.percentile(share) if histogram.count >= values_needed(share) else None


def _equal(column: pa.ChunkedArray, value: int) -> pa.ChunkedArray:
    return pc.fill_null(pc.equal(column, value), False)


OF_ALL = "latency_ms.due_to_received"
"""The figures of all messages. A doubtful figure is doubtful for the messages of each region too."""


def regions_sentence(regions: Regions, doubtful: Collection[str]) -> str:
    """Return a sentence on latency by region; '' if no message crossed. ``doubtful``: figures as a check names them."""
    if not regions["across"]["count"]:
        return ""
    crossed = f"Messages that crossed to another region took {_least_and_median(regions['across'], doubtful)}"
    if not regions["within"]["count"]:
        return f"No message stayed in its region. {crossed}."
    return f"Messages that stayed in their region took {_least_and_median(regions['within'], doubtful)}. {crossed}."


def _least_and_median(latency: Latency, doubtful: Collection[str]) -> str:
    """Return ``0.61 ms at least and 3.87 ms (doubtful) at the median``; too few messages have no median."""
    figures = (("min", "at least", latency["min"]), ("p50", "at the median", latency["p50"]))
    texts = [
        f"{significant(value)} ms{' (doubtful)' if f'{OF_ALL}.{name}' in doubtful else ''} {rank}"
        for name, rank, value in figures
        if value is not None
    ]
    return joined(texts)


def regions_table(regions: Regions) -> Table:
    """Return latency in the load phase, for messages that stayed in a region and for messages that crossed."""
    columns = columns_of(Latency, ("Messages that", None, "what"), "count", "min", "p50", "p90", "p99", "max")
    rows = (
        {"what": "stayed in their region", **regions["within"]},
        {"what": "crossed to another", **regions["across"]},
    )
    return table_of("Latency by regions, due → received", rows, columns, "No message was delivered.")


def latency_sentence(summary: Summary) -> str:
    """Return the latency in words; for a load in steps, the latency at the highest held rate."""
    held = held_step(summary["steps"], summary["throughput"]["held_per_s"])
    if held is not None:
        return f"At {step_name(held)}: {_latency_words(held['due_to_received_ms'], everything=True).lower()}"
    measure = main_measure(summary)
    latency: Latency | None = summary["latency_ms"].get(measure)
    if latency is None or not latency["count"]:
        return "No latency was measured."
    if trip := _round_trip(summary["latency_ms"].get("round_trip")):
        return trip
    everything = owed_and_received(summary["messages"]) >= summary["messages"]["expected"]
    closed = "" if measure == DUE else " The load was closed, so this latency hides waits."
    return _latency_words(latency, everything=everything, since=start_clause(measure)) + closed


def _round_trip(latency: Latency | None) -> str:
    """Return the round-trip time; '' if the run had no requests or has no median."""
    if latency is None or latency["p50"] is None:
        return ""
    half = f"Half of the replies came within {significant(latency['p50'])} ms of the time their requests were due"
    return f"{half}{_tail(latency)}."


def _latency_words(latency: Latency, *, everything: bool, since: str = "they were due") -> str:
    if latency["p50"] is None:
        return "Too few arrived for a median latency."
    half = "Half arrived" if everything else "Of the messages that arrived, half came"
    return f"{half} within {significant(latency['p50'])} ms of the time {since}{_tail(latency)}."


def _tail(latency: Latency) -> str:
    return "" if latency["p99"] is None else f", 99 % within {significant(latency['p99'])} ms"
