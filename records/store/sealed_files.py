"""Turns the streams of one table into sealed Parquet files, divided by message.

The file at its final path is always complete: it is written next to it, verified, and then moved. If a stream did not
end properly, the metadata of its file says so.
"""

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from records.errors import RunUnwritable, explained
from records.store.parts import GROUPS_KEY, PARTS_KEY, part_of
from records.store.rundir import RunDirectory
from records.store.seal import GROUP_DIGESTS_KEY, group_digest, unsealed_groups
from records.store.streams import PROCESS_KEY, RUN_KEY, SUFFIX, TABLE_KEY, Stream, being_written, described
from records.tables.schemas import EVENT_TABLES, UNSEALED_VERSION

EMPTY = "no-events"  # name of the file that gives a table without events its schema
PROBLEM_KEY = b"brokerbench.problem"
ROWS_PER_GROUP = 262_144
ROWS_DIVIDED_AT_ONCE = 1_000_000


@dataclass(frozen=True)
class Origin:
    """The metadata that a run's events have about the run."""

    run_id: str
    version: int | None  # None: ours
    has_seal: bool

    @classmethod
    def of(cls, directory: RunDirectory) -> "Origin":
        has_seal = directory.has_seal
        return cls(directory.run_id, None if has_seal else UNSEALED_VERSION, has_seal)

    def schema(self, schema: pa.Schema, table: str, process: str) -> pa.Schema:
        return described(schema, table, process, self.run_id, self.version)

    def stream(self, path: Path, schema: pa.Schema) -> Stream:
        run = {RUN_KEY: self.run_id} if self.has_seal else {}
        return Stream(path, schema, self.version, {**run, TABLE_KEY: path.parent.name, PROCESS_KEY: path.stem})


@dataclass(frozen=True)
class SealedTable:
    """``files``: the files that were written. ``growing``: the files whose stream is still being written.

    ``ended``: the streams that are no longer being written.
    """

    files: list[Path]
    growing: list[Path]
    ended: list[Path]


def seal_table(directory: RunDirectory, table: str, origin: Origin, parts: int, *, first: bool) -> SealedTable:
    """Write the files of a table's streams, and keep the streams. Raises RunUnreadable, RunUnwritable.

    ``first``: nothing of the run has been sealed yet, so a table without events gets a file without rows.
    """
    folder, schema = directory.events(table), EVENT_TABLES[table]
    sealed = SealedTable([], [], [])
    try:
        folder.mkdir(parents=True, exist_ok=True)
        remove_unfinished(folder)
        for stream in sorted(directory.streams(table).glob(f"*{SUFFIX}")):
            alive = being_written(stream)
            parquet = folder / f"{stream.stem}.parquet"
            _write_parquet(
                parquet, origin.schema(schema, table, stream.stem), origin.stream(stream, schema), alive, parts
            )
            sealed.files.append(parquet)
            if alive:
                sealed.growing.append(parquet)
            else:
                sealed.ended.append(stream)
        empty = folder / f"{EMPTY}.parquet"
        if first and parquet_files(directory, table) in ([], [empty]):
            _write_parquet(empty, origin.schema(schema, table, EMPTY), None)
            sealed.files.append(empty)
    except OSError as error:
        why, next_step = explained(error)
        raise RunUnwritable(f"{folder}: events cannot be sealed: {why}; the streams are kept: {next_step}") from None
    return sealed


def remove_unfinished(folder: Path) -> None:
    """Remove the drafts of an interrupted sealing."""
    for unfinished in folder.glob(".*.unfinished"):
        unfinished.unlink()


def _write_parquet(path: Path, schema: pa.Schema, stream: Stream | None, alive: bool = False, parts: int = 1) -> None:
    """Write a draft next to ``path``, verify it, and move it there: the file at ``path`` is always complete."""
    unfinished = path.with_name(f".{path.name}.unfinished")
    try:
        with (
            unfinished.open("w+b") as file,
            pq.ParquetWriter(file, schema, compression="zstd", **_encodings(schema)) as writer,
        ):
            part_of_group, digests = [], []
            for part, group in _divided(stream or (), parts):
                begin = file.tell()
                writer.write_table(group, row_group_size=group.num_rows)
                part_of_group.append(part)
                digests.append(group_digest(file, begin, file.tell()))
            metadata = {
                PROBLEM_KEY: _problem(stream, alive) if stream else "",
                PARTS_KEY: str(parts),
                GROUPS_KEY: " ".join(map(str, part_of_group)),
                GROUP_DIGESTS_KEY: " ".join(digests),
            }
            writer.add_key_value_metadata({key.decode(): text for key, text in metadata.items()})
        if stream:
            _verify(unfinished, stream)
        unfinished.replace(path)
    finally:
        unfinished.unlink(missing_ok=True)


def _encodings(schema: pa.Schema) -> dict[str, object]:
    """Choose each column's encoding. Times and sequence numbers grow slowly, and names repeat: 6 bytes per event."""
    return {
        "use_dictionary": [field.name for field in schema if pa.types.is_string(field.type)],
        "column_encoding": {field.name: "DELTA_BINARY_PACKED" for field in schema if pa.types.is_integer(field.type)},
    }


def _divided(batches: Iterable[pa.RecordBatch], parts: int) -> Iterator[tuple[int, pa.Table]]:
    """Yield row groups of one part each, with the number of the part, a limited number of rows at a time."""
    if parts == 1:
        yield from ((0, group) for group in _row_groups(batches, ROWS_PER_GROUP))
        return
    for rows in _row_groups(batches, ROWS_DIVIDED_AT_ONCE):
        of_row = part_of(rows["producer"].to_numpy(), rows["seq"].to_numpy(), parts)
        in_order = np.argsort(of_row, kind="stable")
        ends = np.searchsorted(of_row[in_order], np.arange(parts + 1))
        ordered = rows.take(in_order)
        for part, (begin, end) in enumerate(pairwise(ends.tolist())):
            if begin < end:
                yield part, ordered.slice(begin, end - begin)


def _row_groups(batches: Iterable[pa.RecordBatch], rows_per_group: int) -> Iterator[pa.Table]:
    """Join batches of half a second into groups worth reading."""
    waiting: list[pa.RecordBatch] = []
    rows = 0
    for batch in batches:
        waiting.append(batch)
        rows += batch.num_rows
        if rows >= rows_per_group:
            yield pa.Table.from_batches(waiting)
            waiting, rows = [], 0
    if waiting:
        yield pa.Table.from_batches(waiting)


def _problem(stream: Stream, alive: bool) -> str:
    """Return the problem of a stream that was read to its end; empty if there is none."""
    process, table = stream.path.stem, stream.path.parent.name
    where = f"streams/{table}/{stream.path.name}"
    if alive:
        kept = f"{stream.rows} rows so far are kept"
        return f"{where}: {process} is still writing it; {kept}: end {process}, then seal again"
    if stream.complete:
        return ""
    if stream.ended_at_byte == stream.size_bytes > 0:
        how = f"has no end mark: {process} was killed, or could not write all its rows (disk full?)"
    else:
        at = f"byte {stream.ended_at_byte} of {stream.size_bytes}"
        how = f"is torn in mid-batch at {at}: {process} was killed while writing, or its disk is full or damaged"
    return f"{where}: {how}; {stream.rows} rows before that are kept, later ones of {table} are missing"


def _verify(path: Path, stream: Stream) -> None:
    """Verify all rows on the disk itself: the stream that the file was made from is deleted next."""
    metadata = pq.read_metadata(path)
    if metadata.num_rows != stream.rows:
        raise OSError(f"{path} holds {metadata.num_rows} rows, its stream {stream.rows}")
    with path.open("rb") as file:
        if unsealed_groups(file, metadata, range(metadata.num_row_groups)):
            raise OSError(f"{path} does not hold the bytes that were written to it")
        os.fsync(file.fileno())


def parquet_files(directory: RunDirectory, table: str) -> list[Path]:
    """Return all Parquet files of a table, whether or not they are in the seal."""
    return sorted(directory.events(table).glob("*.parquet"))
