"""Writes results of an analyzed run for other programs: CSV tables, and a HdrHistogram log (V2 encoding).

In CSV, headers contain the units, and each latency bucket is given by its bounds. A null is an empty cell. Rows are
sorted, so the same results give the same text. Text that a spreadsheet would run as a formula gets an apostrophe in
front.

The log has an interval for each second of the load. The result tables have latencies in buckets
(`records.figures.buckets`): each latency is logged as the middle of a bucket, which is within 0.4 % of the latency. The
log's own buckets (3 significant digits) add up to 0.1 %.
"""

import io
import platform
import re
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from importlib import import_module
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv

from records.errors import RunUnreadable, RunUnwritable, UserError, explained
from records.figures.buckets import lower_ns, upper_ns, value_ns
from records.figures.summary import Summary
from records.store.rundir import RunDirectory
from records.tables.results import RESULT_TABLES
from records.units import NS_PER_MS
from reports.inputs import read_summary, result_table, why_changed
from reports.latency.main_measure import DUE, main_measure
from reports.parts.formats import write_whole
from reports.parts.histogram import select

FORMULA = re.compile(r"'*[=+\-@\t\r＝＋－＠]")
"""The start of texts that spreadsheets take for formulas, also after apostrophes, so that escaping is reversible."""
LATENCY_COLUMNS = {
    "measure": "measure",
    "phase": "phase",
    "second": "second_from_load_start_s",
    "from_broker": "from_broker",
    "to_broker": "to_broker",
    "hops": "hops",
    "in_fault": "in_fault",
    "from_ns": "latency_from_ns",
    "to_ns": "latency_to_ns",
    "count": "messages",
    "count_less_own": "messages_less_generator_delay",
}
RATE_COLUMNS = {
    "second": "second_from_load_start_s",
    "phase": "phase",
    "event": "event",
    "broker": "broker",
    "count": "messages_in_second",
}


def latency_csv(latency: pa.Table) -> str:
    """Return the result table ``latency`` as CSV.

    A row counts the messages from ``latency_from_ns`` to ``latency_to_ns``.
    """
    buckets = latency["bucket"].to_pylist()
    bounded = latency
    for name, bound in (("from_ns", lower_ns), ("to_ns", upper_ns)):
        bound_by_bucket = {bucket: bound(bucket) for bucket in set(buckets)}
        bounded = bounded.append_column(name, pa.array([bound_by_bucket[bucket] for bucket in buckets], pa.int64()))
    return csv_text(bounded, LATENCY_COLUMNS)


def rates_csv(rates: pa.Table) -> str:
    """Return the result table ``rates`` as CSV. A row has the messages of one event at one broker in one second."""
    return csv_text(rates, RATE_COLUMNS)


def no_formula(text: str) -> str:
    """Put an apostrophe before ``text`` if a spreadsheet may interpret it as a formula. A number stays as it is.

    To read it back, remove one apostrophe from each text that `FORMULA` matches and that begins with one.
    """
    if not FORMULA.match(text):
        return text
    try:
        float(text)
    except ValueError:
        return f"'{text}"
    return text


def csv_text(table: pa.Table, titles: Mapping[str, str]) -> str:
    """Return the columns that ``titles`` names as CSV, with these titles and in this order."""
    chosen = table.select(list(titles)).rename_columns(list(titles.values()))
    for at, field in enumerate(chosen.schema):
        if pa.types.is_string(field.type):
            texts = chosen.column(at)
            safe = {text: no_formula(text) for text in pc.unique(texts).to_pylist() if text is not None}
            chosen = chosen.set_column(at, field, pa.array([safe.get(text) for text in texts.to_pylist()], field.type))
    written = io.BytesIO()
    csv.write_csv(chosen.sort_by([(name, "ascending") for name in chosen.column_names]), written)
    return written.getvalue().decode()


HIGHEST_NS = 3_600_000_000_000  # an hour; more if the run has longer ones
SIGNIFICANT_DIGITS = 3
LEGEND = '"StartTimestamp","Interval_Length","Interval_Max","Interval_Compressed_Histogram"'

Counts = Mapping[int, Mapping[int, int]]


def hdr_log(latency: pa.Table, summary: Summary) -> str:
    """Return the log as text. Latencies are nanoseconds, intervals are seconds from the start of the load.

    ``latency``: the result table. Negative latencies, which mean that clocks disagree, cannot be logged: a comment has
    their number.
    """
    measure = main_measure(summary)
    counts = counts_by_second(latency, measure)
    negative = sum(
        count for count_by_bucket in counts.values() for bucket, count in count_by_bucket.items() if bucket < 0
    )
    lines = [*_header(summary["wall"], negative, measure), *_intervals(counts)]
    return "\n".join(lines) + "\n"


def counts_by_second(latency: pa.Table, measure: str = DUE) -> Counts:
    """Return the number of messages in each bucket, by the second of the load when they were due or sent."""
    rows = select(latency, measure=measure, phase="load")
    merged = rows.group_by(["second", "bucket"]).aggregate([("count", "sum")])
    counts: dict[int, dict[int, int]] = {}
    for row in merged.to_pylist():
        if row["count_sum"]:
            counts.setdefault(row["second"], {})[row["bucket"]] = row["count_sum"]
    return counts


def _header(wall: str, negative: int, measure: str) -> Iterator[str]:
    yield "#[Histogram log format version 1.2]"
    try:
        began = datetime.fromisoformat(wall)
    except ValueError:  # an unknown moment: the intervals count from 0 all the same
        pass
    else:
        yield f"#[BaseTime: {began.timestamp():.3f} (seconds since epoch)]"
        yield f"#[StartTime: {began.timestamp():.3f} (seconds since epoch), {wall}]"
    was = "was due" if measure == DUE else "was sent"
    yield f"# Nanoseconds from the time when a message {was} to its first receipt; load, by the second it {was}."
    yield "# Each is the middle of a bucket that is at most 0.8 % wide, so it is within 0.4 % of the measured value."
    if negative:
        yield f"# {negative} negative latencies are left out, as the format cannot hold them."
    yield LEGEND


def _intervals(counts: Counts) -> Iterator[str]:
    """Yield a line per second. A second without messages has an empty interval, so that none is missing."""
    from hdrh.histogram import HdrHistogram  # no machine but x86_64 has it

    if not counts:
        return
    highest_ns = max(HIGHEST_NS, *(value_ns(max(count_by_latency)) for count_by_latency in counts.values()))
    histogram = HdrHistogram(1, highest_ns, SIGNIFICANT_DIGITS)
    for second in range(min(counts), max(counts) + 1):
        histogram.reset()
        count_by_latency = {value_ns(bucket): count for bucket, count in counts.get(second, {}).items() if bucket >= 0}
        for latency_ns, count in count_by_latency.items():
            histogram.record_value(latency_ns, count)
        yield f"{second:.3f},1.000,{max(count_by_latency, default=0) / NS_PER_MS:.3f},{histogram.encode().decode()}"


def _unchanged_summary(run: RunDirectory) -> Summary:
    """Read the summary. Raises RunUnreadable for a changed run too, as the exported files could not show the change."""
    summary = read_summary(run)
    if changes := why_changed(run):
        raise RunUnreadable(changes)
    return summary


def _csv_files(run: RunDirectory) -> dict[str, str]:
    _unchanged_summary(run)
    latency, rates = (result_table(run, name, RESULT_TABLES[name]) for name in ("latency", "rates"))
    return {"latency.csv": latency_csv(latency), "rates.csv": rates_csv(rates)}


def _hdr_files(run: RunDirectory) -> dict[str, str]:
    try:
        import_module("hdrh.histogram")
    except ModuleNotFoundError as error:
        here = f"{error}; there are builds of hdrhistogram for x86_64, and this machine is {platform.machine()}"
        raise UserError(f"--to hdr takes the package hdrhistogram: {here}; use make install or --to csv") from None
    summary = _unchanged_summary(run)
    return {f"{main_measure(summary)}.hlog": hdr_log(result_table(run, "latency", RESULT_TABLES["latency"]), summary)}


FORMS: dict[str, Callable[[RunDirectory], dict[str, str]]] = {"hdr": _hdr_files, "csv": _csv_files}


def export(run: RunDirectory, form: str, folder: Path) -> list[Path]:
    """Write the files of a form (a key of FORMS) into ``folder``, which is made if need be; returns their paths.

    RunUnreadable when the run was not analyzed or by another version, RunUnwritable when a file cannot be written,
    UserError when this machine lacks the package for the form.
    """
    texts = FORMS[form](run)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        why, next_step = explained(error)
        raise RunUnwritable(f"{folder}: the folder cannot be made: {why}; {next_step}") from None
    for name, text in texts.items():
        write_whole(folder / name, text)
    return [folder / name for name in texts]
