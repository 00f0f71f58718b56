"""Turns result tables into CSV, for spreadsheets and other programs: units in the headers, latency buckets as bounds.

A null is an empty cell. Rows are sorted, so the same results give the same text.
"""

import io
from collections.abc import Mapping

import pyarrow as pa
from pyarrow import csv

from records.buckets import lower_ns, upper_ns

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
    """``latency``: the result table. A row says how many were from ``latency_from_ns`` to ``latency_to_ns``."""
    buckets = latency["bucket"].to_pylist()
    bounded = latency
    for name, bound in (("from_ns", lower_ns), ("to_ns", upper_ns)):
        of = {bucket: bound(bucket) for bucket in set(buckets)}
        bounded = bounded.append_column(name, pa.array([of[bucket] for bucket in buckets], pa.int64()))
    return _csv(bounded, LATENCY_COLUMNS)


def rates_csv(rates: pa.Table) -> str:
    """``rates``: the result table. A row has the messages of one event at one broker in one second."""
    return _csv(rates, RATE_COLUMNS)


def _csv(table: pa.Table, titles: Mapping[str, str]) -> str:
    """The columns that ``titles`` names, by their titles and in that order."""
    chosen = table.select(list(titles)).rename_columns(list(titles.values()))
    written = io.BytesIO()
    csv.write_csv(chosen.sort_by([(name, "ascending") for name in chosen.column_names]), written)
    return written.getvalue().decode()
