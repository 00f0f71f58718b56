"""Writes results into the run folder so that a reader sees a whole file or none."""

import json
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from records.files import remove_file, replace_whole
from records.results import RESULT_TABLES
from records.rundir import RunDirectory
from records.summary import Summary

RESULT_FILE = "all.parquet"
ROWS_PER_PIECE = 500_000
WIDE = 2**62  # differences beyond it may not fit into an integer
Ints = npt.NDArray[np.int64]


def write_results(
    directory: RunDirectory, tables: Mapping[str, pa.Table], long_tables: Mapping[str, Iterable[pa.Table]]
) -> None:
    """Every result table as one Parquet file, its rows in order. RunUnwritable; KeyError when a table is missing.

    ``long_tables``: those that come piece by piece, each with rows that come after those of the one before.
    From here on until they are listed again (`records.digests`), the run does not count as analysed.
    """
    remove_file(directory.digests_path)
    for name, schema in RESULT_TABLES.items():
        pieces = joined(long_tables[name] if name in long_tables else [tables[name]], schema)
        path = directory.results(name) / RESULT_FILE
        replace_whole(path, partial(_write, pieces, schema), make_folder=True)
        for stale_file in path.parent.glob("*.parquet"):
            if stale_file != path:  # a reader would take its rows too
                remove_file(stale_file)


def joined(pieces: Iterable[pa.Table], schema: pa.Schema) -> Iterator[pa.Table]:
    """The same rows in ordered pieces of at least ROWS_PER_PIECE rows, save for the last one."""
    waiting: list[pa.Table] = []
    for piece in pieces:
        waiting.append(piece.select(schema.names).cast(schema))
        if sum(table.num_rows for table in waiting) >= ROWS_PER_PIECE:
            yield _in_order(pa.concat_tables(waiting))
            waiting = []
    if waiting:
        yield _in_order(pa.concat_tables(waiting))


def _in_order(table: pa.Table) -> pa.Table:
    return table.take(order(table))


def _write(pieces: Iterable[pa.Table], schema: pa.Schema, path: Path) -> None:
    with pq.ParquetWriter(path, schema, compression="zstd") as writer:
        for piece in pieces:
            writer.write_table(piece)


def order(table: pa.Table) -> pa.Array:
    """The rows' numbers in order of all columns, nulls last.

    Columns are packed into as few integers as hold them, since a sort by one takes a third of the time of one by nine.
    """
    packed: list[Ints] = []
    room = 0
    for ranks, span in (_ranks(table[name]) for name in table.schema.names):
        if span > room:
            packed.append(np.zeros(table.num_rows, "int64"))
            room = 2**63 - 1
        packed[-1] = packed[-1] * span + ranks
        room //= span
    return pa.array(np.lexsort(packed[::-1]))


def _ranks(column: pa.ChunkedArray) -> tuple[Ints, int]:
    """Numbers from 0 on that are ordered as the values of a column are, and one more than the largest of them."""
    values = column.combine_chunks()
    values = _dense(values) if pa.types.is_string(values.type) else values.cast("int64")
    if values.null_count == len(values):
        return np.zeros(len(values), "int64"), 1
    low, high = pc.min(values).as_py(), pc.max(values).as_py()
    if high - low >= WIDE:
        values = _dense(values)
        low, high = 1, len(values)
    return pc.subtract(values, low).fill_null(high - low + 1).to_numpy(), high - low + 2


def _dense(values: pa.Array) -> pa.Array:
    encoded = values.dictionary_encode()
    return pc.rank(encoded.dictionary).cast("int64").take(encoded.indices)


def write_summary(directory: RunDirectory, summary: Summary) -> None:
    """summary.json. RunUnwritable when the disk does not take it."""
    text = json.dumps(summary, indent=2, ensure_ascii=False, allow_nan=False) + "\n"
    replace_whole(directory.summary_path, lambda unfinished: unfinished.write_text(text, encoding="utf-8"))
