"""How do results get into the run folder so that a reader sees a whole file or none?"""

import json
import os
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from records.errors import RunUnwritable, explained
from records.results import RESULT_TABLES
from records.rundir import RunDirectory
from records.summary import Summary

RESULT_FILE = "all.parquet"


def write_results(directory: RunDirectory, results: Mapping[str, pa.Table]) -> None:
    """Every result table as one Parquet file, its rows in order. RunUnwritable; KeyError when a table is missing."""
    for name, schema in RESULT_TABLES.items():
        table = results[name].select(schema.names).cast(schema)
        ordered = table.sort_by([(column, "ascending") for column in schema.names])
        path = directory.results(name) / RESULT_FILE
        _replace(path, partial(pq.write_table, ordered, compression="zstd"))


def write_summary(directory: RunDirectory, summary: Summary) -> None:
    """summary.json. RunUnwritable when the disk does not take it."""
    text = json.dumps(summary, indent=2, ensure_ascii=False, allow_nan=False) + "\n"
    _replace(directory.summary_path, lambda unfinished: unfinished.write_text(text, encoding="utf-8"))


def _replace(path: Path, write: Callable[[Path], object]) -> None:
    unfinished = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            write(unfinished)
            unfinished.replace(path)
        finally:
            unfinished.unlink(missing_ok=True)
    except OSError as error:
        why, next_step = explained(error)
        raise RunUnwritable(f"{path}: cannot be written: {why}; {next_step}") from None
