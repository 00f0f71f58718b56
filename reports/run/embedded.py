"""Embeds the data for programs into the page: one JSON document, safe inside a <script> element."""

import dataclasses
import json
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from reports.inputs import Results
from reports.parts.formats import safe_in_script

WHOLE = ("accounting", "anomalies", "paths", "links", "outages")


def embedded(results: Results) -> str:
    """Summary, run (without the rendered files), the small result tables, and the latency histogram of the load."""
    run = dataclasses.asdict(results.run)
    del run["rendered"]
    for process in run["processes"]:
        del process["host"]  # a report may be published
    document = {
        "summary": results.summary,
        "run": run,
        "tables": {name: columns(results.tables[name]) for name in WHOLE},
        "latency_of_the_load": columns(merged(results.tables["latency"])),
    }
    return safe_in_script(json.dumps(document, separators=(",", ":"), ensure_ascii=False, sort_keys=True))


def merged(latency: pa.Table) -> pa.Table:
    """Counts by measure and bucket, over all seconds and paths."""
    load = latency.filter(pc.equal(latency["phase"], "load"))
    counts = load.group_by(["measure", "bucket"]).aggregate([("count", "sum")])
    named = counts.rename_columns(["measure", "bucket", "count"])
    return named.sort_by([("measure", "ascending"), ("bucket", "ascending")])


def columns(table: pa.Table) -> dict[str, Any]:
    """Column name -> values."""
    values: dict[str, Any] = table.to_pydict()
    return values
