"""Turns result tables into CSV, for spreadsheets and other programs: units in the headers, latency buckets as bounds.

A null is an empty cell. Rows are sorted, so the same results give the same text. No text is a formula: a spreadsheet
would run it.
"""

import io
import re
from collections.abc import Mapping

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv

from records.buckets import lower_ns, upper_ns

FORMULA = re.compile(r"'*[=+\-@\t\r＝＋－＠]")
"""How texts begin that spreadsheets take for formulas; with apostrophes, those that were such a text before."""
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


def no_formula(text: str) -> str:
    """``text`` with an apostrophe before it if a spreadsheet may take it for a formula. A number stays as it is.

    To read it back, remove one apostrophe from each text that `FORMULA` matches and that begins with one.
    """
    if not FORMULA.match(text):
        return text
    try:
        float(text)
    except ValueError:
        return f"'{text}"
    return text


def _csv(table: pa.Table, titles: Mapping[str, str]) -> str:
    """The columns that ``titles`` names, by their titles and in that order."""
    chosen = table.select(list(titles)).rename_columns(list(titles.values()))
    for at, field in enumerate(chosen.schema):
        if pa.types.is_string(field.type):
            texts = chosen.column(at)
            safe = {text: no_formula(text) for text in pc.unique(texts).to_pylist() if text is not None}
            chosen = chosen.set_column(at, field, pa.array([safe.get(text) for text in texts.to_pylist()], field.type))
    written = io.BytesIO()
    csv.write_csv(chosen.sort_by([(name, "ascending") for name in chosen.column_names]), written)
    return written.getvalue().decode()
