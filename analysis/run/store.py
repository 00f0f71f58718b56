"""Writes results to the run folder atomically: readers see complete files or none."""

import json
import shutil
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from records.errors import RunUnwritable, explained
from records.figures.summary import Summary
from records.files import remove_file, replace_whole
from records.store.rundir import RunDirectory
from records.tables.results import RESULT_TABLES
from records.tables.row_order import order

RESULT_FILE = "all.parquet"
UNFINISHED = ".unfinished"


@contextmanager
def unfinished_results(directory: RunDirectory) -> Iterator[Path]:
    """Create a temporary folder in the run for tables that parts write. Raises RunUnwritable."""
    path = directory.path / "results" / UNFINISHED
    try:
        shutil.rmtree(path, ignore_errors=True)  # left by an analysis that was killed
        path.mkdir(parents=True)
    except OSError as error:
        why, next_step = explained(error)
        raise RunUnwritable(f"{path}: cannot be created: {why}; {next_step}") from None
    try:
        yield path
    finally:
        shutil.rmtree(path, ignore_errors=True)


def write_results(
    directory: RunDirectory,
    tables: Mapping[str, pa.Table],
    written: Path | None = None,
    elsewhere: Collection[str] = (),
) -> None:
    """Write all result tables as Parquet with sorted rows.

    ``written``: the folder with the tables that the parts wrote (`write_part`), which are moved from there.
    ``elsewhere``: tables that Spark wrote to another place.

    The run does not count as analyzed again until the results are listed (`records.store.digests`).

    Raises RunUnwritable, and KeyError if a table is missing.
    """
    remove_file(directory.digests_path)
    for name, schema in RESULT_TABLES.items():
        if name in elsewhere:
            continue
        folder = directory.results(name)
        if written and (written / name).is_dir():
            parts = sorted((written / name).glob("*.parquet"))
            new = [folder / part.name for part in parts]
            for part, path in zip(parts, new, strict=True):
                replace_whole(path, partial(shutil.move, part), make_folder=True)
        else:
            new = [folder / RESULT_FILE]
            replace_whole(new[0], partial(_write, tables[name], schema), make_folder=True)
        for stale_file in folder.glob("*.parquet"):
            if stale_file not in new:  # readers would read its rows too
                remove_file(stale_file)


def write_part(folder: Path, name: str, number: int, rows: pa.Table) -> None:
    """Write one part's rows of a result table to a sorted Parquet file, which a repeated task replaces.

    Raises RunUnwritable.
    """
    path = folder / name / f"part-{number:05}.parquet"
    replace_whole(path, partial(_write, rows, RESULT_TABLES[name]), make_folder=True)


def in_order(table: pa.Table, schema: pa.Schema) -> pa.Table:
    """Sort the rows and select the columns of a result table."""
    rows = table.select(schema.names).cast(schema)
    return rows.take(order(rows))


def _write(table: pa.Table, schema: pa.Schema, path: Path) -> None:
    pq.write_table(in_order(table, schema), path, compression="zstd")


def write_summary(directory: RunDirectory, summary: Summary) -> None:
    """Write summary.json. Raises RunUnwritable if the write fails."""
    text = json.dumps(summary, indent=2, ensure_ascii=False, allow_nan=False) + "\n"
    replace_whole(directory.summary_path, lambda unfinished: unfinished.write_text(text, encoding="utf-8"))
