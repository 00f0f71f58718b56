"""Reads what was recorded in a run, and checks that all of it is there.

`seal` turns streams into Parquet once the run is over, divided by message (`records.parts`); `inspect` says what a
sealed run holds. Losses stay visible: each stream that did not end properly is described in a sentence. The sentence is
kept in the Parquet file itself, so every later reader of the run sees it again.
"""

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from records.errors import RunUnreadable, RunUnwritable, explained
from records.parts import GROUPS_KEY, PARTED, PARTS_KEY, part_of, parts_for
from records.rundir import RunDirectory
from records.schemas import EVENT_TABLES
from records.streams import SUFFIX, Stream, being_written, check_schema, described

EMPTY = "no-events"  # name of the file that gives a table without events its schema
PROBLEM_KEY = b"brokerbench.problem"
ROWS_PER_GROUP = 262_144
ROWS_DIVIDED_AT_ONCE = 1_000_000
BYTES_PER_ROW = 110  # of a stream of sends or receipts, about


@dataclass(frozen=True)
class Sealing:
    """What a sealed run holds: rows by table, and a sentence for each stream that is not whole."""

    rows: dict[str, int]
    problems: tuple[str, ...]


NO_EVENTS = "the run has no events, so there is nothing to analyse"


def require_begun(directory: RunDirectory) -> None:
    """RunUnreadable for a run that ended before its first event, and for a run.json that cannot be read."""
    if directory.read_run().state == "starting":
        require_events(directory)


def require_events(directory: RunDirectory) -> None:
    """RunUnreadable for a run without a stream and without a sealed row. Changes nothing in its folder."""
    for table, schema in EVENT_TABLES.items():
        streams = directory.streams(table).glob(f"*{SUFFIX}")
        if any(streams) or any(_metadata(path, schema).num_rows for path in _files(directory, table)):
            return
    raise RunUnreadable(f"{directory.path}: {NO_EVENTS}: {_why_no_events(directory)}")


def seal(directory: RunDirectory) -> Sealing:
    """Turn every stream into Parquet and return what the run holds. Harmless on a run sealed already, or half.

    A stream is deleted only once its Parquet file is on disk with as many rows. A stream that a living process still
    writes is kept. RunUnreadable for a stream or file of another version or a damaged Parquet file, RunUnwritable when
    the Parquet cannot be written; the streams are then still there.
    """
    parts = parts_for(_rows_to_divide(directory))
    for table, schema in EVENT_TABLES.items():
        _seal_table(directory, table, schema, parts if table in PARTED else 1)
    return _contents(directory)


def _rows_to_divide(directory: RunDirectory) -> int:
    """About how many rows the streams have that are divided by message."""
    streams = (path for table in PARTED for path in directory.streams(table).glob(f"*{SUFFIX}"))
    return sum(path.stat().st_size for path in streams) // BYTES_PER_ROW


def inspect(directory: RunDirectory) -> Sealing:
    """What a sealed run holds. RunUnreadable when it is not sealed, damaged, of another version or without events."""
    for table in EVENT_TABLES:
        sealed = {path.stem for path in _files(directory, table)}
        if not sealed:
            raise RunUnreadable(f"{directory.events(table)}: no Parquet file: the run is not sealed, so seal it first")
        for stream in directory.streams(table).glob(f"*{SUFFIX}"):
            if stream.stem not in sealed:
                raise RunUnreadable(f"{stream}: not sealed yet, so seal the run first")
    contents = _contents(directory)
    if not any(contents.rows.values()):
        raise RunUnreadable(f"{directory.path}: {NO_EVENTS}: {_why_no_events(directory)}")
    return contents


def _why_no_events(directory: RunDirectory) -> str:
    """And the next step."""
    try:
        never_came_up = directory.read_run().state == "starting"
    except RunUnreadable:
        never_came_up = False
    if never_came_up:
        return "it ended while its brokers started; make the run again, and remove this folder"
    return "see its logs for why, and make it again"


def read_events(directory: RunDirectory, table: str, columns: Sequence[str] | None = None) -> pa.Table:
    """All rows of one table of a sealed run, or some columns of them. Of a table with parts see `read_part`."""
    files = (pq.read_table(path, columns=columns) for path in _files(directory, table))
    return pa.concat_tables([rows.replace_schema_metadata(None) for rows in files])


def parts_of(sealing: Sealing) -> int:
    """Into how many parts the analysis of a sealed run divides it: by its rows, however its files are divided."""
    return parts_for(sum(sealing.rows[table] for table in PARTED))


def read_part(folder: Path, table: str, part: int, parts: int) -> pa.Table:
    """The rows of a sealed table (``folder``: its events) that are in a part, without the files' metadata."""
    tables = [_of_part(path, part, parts) for path in sorted(folder.glob("*.parquet"))]
    return pa.concat_tables([EVENT_TABLES[table].empty_table(), *tables])


def _of_part(path: Path, part: int, parts: int) -> pa.Table:
    """Rows of one file. If it has fewer parts than asked for, the part that holds the rows is looked through."""
    with pq.ParquetFile(path) as file:
        metadata = file.metadata.metadata
        its_parts = int(metadata.get(PARTS_KEY, b"1"))
        of_group = [int(number) for number in metadata.get(GROUPS_KEY, b"").split()] or [0] * file.num_row_groups
        fewer = min(parts, its_parts)
        groups = [group for group, its in enumerate(of_group) if its % fewer == part % fewer]
        rows = file.read_row_groups(groups, use_threads=False).replace_schema_metadata(None)
    if its_parts >= parts:
        return rows
    of_row = part_of(rows["producer"].to_numpy(), rows["seq"].to_numpy(), parts)
    return rows.filter(pa.array(of_row == part))


def require_readable(directory: RunDirectory) -> None:
    """RunUnreadable for a sealed file with damaged rows: `inspect` reads only what is at the end of each file."""
    for table in EVENT_TABLES:
        for path in _files(directory, table):
            try:
                pq.read_table(path)
            except (pa.ArrowException, OSError) as error:
                raise _not_readable(path, error) from None


def _seal_table(directory: RunDirectory, table: str, schema: pa.Schema, parts: int) -> None:
    folder = directory.events(table)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for unfinished in folder.glob(".*.unfinished"):
            unfinished.unlink()
        for stream in sorted(directory.streams(table).glob(f"*{SUFFIX}")):
            _seal_stream(stream, folder / f"{stream.stem}.parquet", schema, parts)
        if not _files(directory, table):
            _write_parquet(folder / f"{EMPTY}.parquet", described(schema, table, EMPTY), None)
    except OSError as error:
        why, next_step = explained(error)
        raise RunUnwritable(f"{folder}: events cannot be sealed: {why}; the streams are kept: {next_step}") from None


def _seal_stream(path: Path, parquet: Path, schema: pa.Schema, parts: int) -> None:
    alive = being_written(path)
    _write_parquet(parquet, described(schema, path.parent.name, path.stem), Stream(path, schema), alive, parts)
    if not alive:
        path.unlink()


def _write_parquet(path: Path, schema: pa.Schema, stream: Stream | None, alive: bool = False, parts: int = 1) -> None:
    """Write the file beside its place, verify it, and move it there: the file at ``path`` is always complete."""
    unfinished = path.with_name(f".{path.name}.unfinished")
    try:
        with pq.ParquetWriter(unfinished, schema, compression="zstd", **_encodings(schema)) as writer:
            part_of_group = []
            for part, group in _divided(stream or (), parts):
                writer.write_table(group)
                part_of_group.append(part)
            problem = _problem(stream, alive) if stream else ""
            metadata = {PROBLEM_KEY: problem, PARTS_KEY: str(parts), GROUPS_KEY: " ".join(map(str, part_of_group))}
            writer.add_key_value_metadata({key.decode(): text for key, text in metadata.items()})
        if stream:
            _verify(unfinished, stream)
        unfinished.replace(path)
    finally:
        unfinished.unlink(missing_ok=True)


def _encodings(schema: pa.Schema) -> dict[str, object]:
    """Times and sequence numbers grow by little, names repeat: about 6 bytes an event."""
    return {
        "use_dictionary": [field.name for field in schema if pa.types.is_string(field.type)],
        "column_encoding": {field.name: "DELTA_BINARY_PACKED" for field in schema if pa.types.is_integer(field.type)},
    }


def _divided(batches: Iterable[pa.RecordBatch], parts: int) -> Iterator[tuple[int, pa.Table]]:
    """Row groups of one part each, with its number: some rows after the other, however many there are."""
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
    """Batches of half a second joined to groups worth reading."""
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
    """The problem of a stream that was read to its end; empty if there is none."""
    process, table = stream.path.stem, stream.path.parent.name
    where = f"streams/{table}/{stream.path.name}"
    if alive:
        return f"{where}: {process} still writes it; {stream.rows} rows so far are kept: end {process}, then seal again"
    if stream.complete:
        return ""
    if stream.ended_at_byte == stream.size_bytes > 0:
        how = f"has no end mark: {process} was killed, or could not write all its rows (disk full?)"
    else:
        at = f"byte {stream.ended_at_byte} of {stream.size_bytes}"
        how = f"is torn in mid-batch at {at}: {process} was killed while writing, or its disk is full or damaged"
    return f"{where}: {how}; {stream.rows} rows before that are kept, later ones of {table} are missing"


def _contents(directory: RunDirectory) -> Sealing:
    rows: dict[str, int] = {}
    problems: list[str] = []
    for table, schema in EVENT_TABLES.items():
        files = [_metadata(path, schema) for path in _files(directory, table)]
        rows[table] = sum(file.num_rows for file in files)
        problems += [problem for file in files if (problem := file.metadata.get(PROBLEM_KEY, b"").decode())]
    return Sealing(rows, tuple(problems))


def _metadata(path: Path, schema: pa.Schema) -> pq.FileMetaData:
    try:
        metadata = pq.read_metadata(path)
        file_schema = metadata.schema.to_arrow_schema()
    except (pa.ArrowException, OSError) as error:
        raise _not_readable(path, error) from None
    check_schema(file_schema, schema, path)
    return metadata


def _not_readable(path: Path, error: Exception) -> RunUnreadable:
    why = " ".join(str(error).split())
    without = "make the run again" if path.parent.name == "faults" else "delete it to go on without its rows"
    return RunUnreadable(
        f"{path}: not readable as Parquet ({why}): it was cut short or overwritten; bring it back from a copy, or "
        f"{without}"
    )


def _verify(path: Path, stream: Stream) -> None:
    """All rows, on the disk itself: the stream that the file was made from is deleted next."""
    written = pq.read_metadata(path).num_rows
    if written != stream.rows:
        raise OSError(f"{path} holds {written} rows, its stream {stream.rows}")
    with path.open("rb") as file:
        os.fsync(file.fileno())


def _files(directory: RunDirectory, table: str) -> list[Path]:
    return sorted(directory.events(table).glob("*.parquet"))
