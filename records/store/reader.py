"""Reads the recorded events of a run, and checks that they are complete.

`seal` turns streams into Parquet once the run is over (`records.store.sealed_files`), and seals the list of files
(`records.store.seal`); `inspect` reports the contents of a sealed run. Losses stay visible: each stream that did not
end properly is described in a sentence. The sentence is stored in the Parquet file itself, so every later reader of the
run sees it again. Rows that are not as they were sealed are never read.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from records.errors import RunUnreadable
from records.store.digests import RESTORE
from records.store.parts import GROUPS_KEY, PARTED, PARTS_KEY, part_of, parts_for
from records.store.rundir import RunDirectory
from records.store.seal import (
    NOT_PARQUET,
    ChangedGroup,
    FileCheck,
    NotAsSealed,
    Seal,
    SealedFile,
    changed_rows,
    check_files,
    read_seal,
    sealed_file,
    unsealed_groups,
    write_seal,
)
from records.store.sealed_files import (
    EMPTY,
    PROBLEM_KEY,
    Origin,
    parquet_files,
    remove_unfinished,
    seal_table,
)
from records.store.streams import SUFFIX, check_schema
from records.tables.schemas import EVENT_TABLES, UNSEALED_VERSION

OpenFile = Callable[[str], pa.NativeFile]
"""Opens an event file by its name below ``events``, such as ``sends/worker-1.parquet``."""
BYTES_PER_ROW = 110  # of a stream of sends or receipts, about


@dataclass(frozen=True)
class Sealing:
    """The contents of a sealed run: rows by table, and a sentence for each file or stream that is incomplete.

    ``unknowns``: sentences about missing knowledge of the events. ``files``: names of the files to read below
    ``events``, by table.
    """

    rows: dict[str, int]
    problems: tuple[str, ...]
    unknowns: tuple[str, ...] = ()
    files: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


NO_EVENTS = "the run has no events, so there is nothing to analyse"
WITHOUT_SEAL = (
    f"its events are of schema version {UNSEALED_VERSION}, which has no seal: nothing shows that they are complete and "
    "all of this run"
)


def require_begun(directory: RunDirectory) -> None:
    """Raise RunUnreadable if the run ended before its first event, or run.json cannot be read."""
    if directory.read_run().state == "starting":
        require_events(directory)


def require_events(directory: RunDirectory) -> None:
    """Raise RunUnreadable if the run has neither a stream nor an event file. Changes nothing in its folder."""
    for table in EVENT_TABLES:
        if any(directory.streams(table).glob(f"*{SUFFIX}")) or any(
            map(_may_have_rows, parquet_files(directory, table))
        ):
            return
    raise RunUnreadable(f"{directory.path}: {NO_EVENTS}: {_why_no_events(directory)}")


def _may_have_rows(path: Path) -> bool:
    try:
        return bool(pq.read_metadata(path).num_rows)
    except NOT_PARQUET:
        return True


def seal(directory: RunDirectory) -> Sealing:
    """Turn every stream into Parquet, seal the list of files, and return the contents of the run. May be repeated.

    A stream is deleted only once its Parquet file is on disk with the same number of rows, and in the seal. A stream
    that a living process still writes is kept. If there is none, the seal is final: no stream is added to it.
    RunUnreadable for a stream of another version or run, RunUnwritable if the Parquet cannot be written; the streams
    then stay.
    """
    origin = Origin.of(directory)
    listed = _listed_before(directory, origin)
    if listed and _is_final(listed):
        for table in EVENT_TABLES:
            remove_unfinished(directory.events(table))
        for stream, why_not in _streams_since(directory, origin, listed).items():
            if not why_not:
                stream.unlink()
        return _contents(directory)
    parts = parts_for(_rows_to_divide(directory))
    files: list[Path] = []
    growing: list[Path] = []
    ended: list[Path] = []
    for table in EVENT_TABLES:
        of_table = seal_table(directory, table, origin, parts if table in PARTED else 1, first=not listed)
        files += of_table.files
        growing += of_table.growing
        ended += of_table.ended
    if origin.has_seal and listed is not None and files:
        written = {
            path.relative_to(directory.events_path).as_posix(): replace(sealed_file(path), growing=path in growing)
            for path in files
        }
        write_seal(directory, Seal(origin.run_id, directory.run_sha256, {**listed, **written}))
    for stream in ended:
        stream.unlink()
    return _contents(directory)


def _listed_before(directory: RunDirectory, origin: Origin) -> dict[str, SealedFile] | None:
    """Return the files in the run's seal: none if the run was never sealed, None if its seal is gone or was edited.

    Streams are deleted only after the seal was written. So a file without a seal and a stream has lost its seal, or was
    put there. RunUnreadable if there is one while streams wait to be sealed: the run stays as it is.
    """
    if not origin.has_seal:
        return {}
    try:
        before = read_seal(directory)
    except NotAsSealed:
        return None
    if before:
        return before.files
    strange = [
        path
        for table in EVENT_TABLES
        for path in parquet_files(directory, table)
        if path.stem != EMPTY and not (directory.streams(table) / f"{path.stem}{SUFFIX}").exists()
    ]
    if strange and any(directory.path.glob(f"streams/*/*{SUFFIX}")):
        raise RunUnreadable(f"{strange[0]}: it was here before the run's events were sealed: remove it")
    return None if strange else {}


def _final_seal(directory: RunDirectory) -> dict[str, SealedFile] | None:
    """Return the files in a final seal; None without a final seal."""
    try:
        before = read_seal(directory) if directory.has_seal else None
    except NotAsSealed:
        return None
    return before.files if before and _is_final(before.files) else None


def _is_final(listed: Mapping[str, SealedFile]) -> bool:
    """Whether no process of the run was still writing when it was sealed, so no stream can have been added since."""
    return not any(file.growing for file in listed.values())


def _streams_since(directory: RunDirectory, origin: Origin, listed: Mapping[str, SealedFile]) -> dict[Path, str]:
    """Return the streams of a run with a final seal, each with why it is not in the seal; empty if all its rows are.

    A stream that is in the seal was left by a sealing that was interrupted before it deleted the stream. Raises
    RunUnreadable.
    """
    streams = (path for table in EVENT_TABLES for path in sorted(directory.streams(table).glob(f"*{SUFFIX}")))
    return {path: _why_not_in_seal(directory, origin, listed, path) for path in streams}


def _why_not_in_seal(directory: RunDirectory, origin: Origin, listed: Mapping[str, SealedFile], path: Path) -> str:
    table = path.parent.name
    name, where = f"{table}/{path.stem}.parquet", f"streams/{table}/{path.name}"
    if name not in listed:
        return f"{where}: not one of the streams that the run was sealed with, so it is left out: remove it"
    stream = origin.stream(path, EVENT_TABLES[table])
    for _batch in stream:
        pass
    if stream.rows != listed[name].rows:
        return (
            f"{where}: has {stream.rows:,} rows, and the run was sealed with {listed[name].rows:,}, so it is left out: "
            "remove it"
        )
    try:
        as_sealed = sealed_file(directory.events_path / name) == listed[name]
    except (*NOT_PARQUET, NotAsSealed):
        as_sealed = False
    return "" if as_sealed else f"{where}: kept, as events/{name} is not as it was sealed: {RESTORE}"


def _rows_to_divide(directory: RunDirectory) -> int:
    """Return the approximate number of rows in the streams that are divided by message."""
    streams = (path for table in PARTED for path in directory.streams(table).glob(f"*{SUFFIX}"))
    return sum(path.stat().st_size for path in streams) // BYTES_PER_ROW


def inspect(directory: RunDirectory) -> Sealing:
    """Return the contents of a sealed run, with the event files that are not as they were sealed.

    RunUnreadable if the run is not sealed or has no events; if it has no seal, also for a file that is damaged or of
    another version.
    """
    if not directory.seal_path.exists():
        _require_files(directory)
    for table in EVENT_TABLES if _final_seal(directory) is None else ():
        for stream in directory.streams(table).glob(f"*{SUFFIX}"):
            if not (directory.events(table) / f"{stream.stem}.parquet").exists():
                raise RunUnreadable(f"{stream}: not sealed yet, so seal the run first")
    contents = _contents(directory)
    if not contents.problems and not any(contents.rows.values()):
        raise RunUnreadable(f"{directory.path}: {NO_EVENTS}: {_why_no_events(directory)}")
    return contents


def _require_files(directory: RunDirectory) -> None:
    """Raise RunUnreadable if the run has not been sealed. A run with a seal may have lost any file."""
    without = [table for table in EVENT_TABLES if not parquet_files(directory, table)]
    if without and (not directory.has_seal or len(without) == len(EVENT_TABLES)):
        raise RunUnreadable(f"{directory.events(without[0])}: no Parquet file: the run is not sealed, so seal it first")


def _why_no_events(directory: RunDirectory) -> str:
    """Return why the run has no events, and the next step."""
    try:
        never_came_up = directory.read_run().state == "starting"
    except RunUnreadable:
        never_came_up = False
    if never_came_up:
        return "it ended while its brokers started; make the run again, and remove this folder"
    return "see its logs for why, and make it again"


def read_events(directory: RunDirectory, table: str, columns: Sequence[str] | None = None) -> pa.Table:
    """Return the unchanged rows of one table of a sealed run, all columns or some.

    For a table with parts see `read_part`.
    """
    read = read_files(partial(open_below, directory.events_path), event_files(directory)[table], table, columns)
    return read.rows


def event_files(directory: RunDirectory) -> Mapping[str, tuple[str, ...]]:
    """Return the event files of a sealed run to read, by table: their names below ``events``."""
    if directory.has_seal:
        return check_files(directory).readable
    return {table: tuple(f"{table}/{path.name}" for path in parquet_files(directory, table)) for table in EVENT_TABLES}


def parts_of(sealing: Sealing) -> int:
    """Return the number of parts for the analysis of a sealed run: by its rows, regardless of how its files are
    divided."""
    return parts_for(sum(sealing.rows[table] for table in PARTED))


@dataclass(frozen=True)
class ReadRows:
    """Rows without the files' metadata. ``left_out``: row groups that changed since sealing."""

    rows: pa.Table
    left_out: tuple[ChangedGroup, ...] = ()


def open_below(events: Path, name: str) -> pa.NativeFile:
    """Open an event file of a run folder, by its name below ``events``."""
    return pa.OSFile(str(events / name), "rb")


def read_part(open_file: OpenFile, files: Sequence[str], table: str, part: int, parts: int) -> ReadRows:
    """Return the rows of a sealed table that are in a part. ``files``: their names below ``events``."""
    return _joined(table, [_read_part_rows(open_file, name, part, parts) for name in files])


def read_files(open_file: OpenFile, files: Sequence[str], table: str, columns: Sequence[str] | None = None) -> ReadRows:
    """Return the rows of a sealed table, all columns or some. ``files``: names below ``events``."""
    return _joined(table, [_of_file(open_file, name, columns) for name in files], columns)


def _joined(table: str, files: Sequence[ReadRows], columns: Sequence[str] | None = None) -> ReadRows:
    empty = EVENT_TABLES[table].empty_table().select(columns or EVENT_TABLES[table].names)
    rows = pa.concat_tables([empty, *(read.rows for read in files)])
    return ReadRows(rows, tuple(changed for read in files for changed in read.left_out))


def _of_file(open_file: OpenFile, name: str, columns: Sequence[str] | None) -> ReadRows:
    with open_file(name) as opened, pq.ParquetFile(opened) as file:
        return _groups(name, opened, file, range(file.num_row_groups), columns)


def _groups(
    name: str, opened: pa.NativeFile, file: pq.ParquetFile, groups: Iterable[int], columns: Sequence[str] | None = None
) -> ReadRows:
    """Return the rows of some row groups of a file; groups that changed since sealing are left out."""
    asked = list(groups)
    changed = unsealed_groups(opened, file.metadata, asked)
    rows = file.read_row_groups([group for group in asked if group not in changed], columns, use_threads=False)
    left_out = tuple(ChangedGroup(name, group, file.num_row_groups) for group in changed)
    return ReadRows(rows.replace_schema_metadata(None), left_out)


def parts_of_groups(metadata: pq.FileMetaData, parts: int) -> list[range]:
    """Return the parts that need each row group of a file, of a run that is divided into ``parts``."""
    its_parts = int(metadata.metadata.get(PARTS_KEY, b"1"))
    of_group = [int(number) for number in metadata.metadata.get(GROUPS_KEY, b"").split()]
    fewer = min(parts, its_parts)
    return [range(number % fewer, parts, fewer) for number in of_group or [0] * metadata.num_row_groups]


def _read_part_rows(open_file: OpenFile, name: str, part: int, parts: int) -> ReadRows:
    """Return one file's rows in a part. If it is divided into fewer parts, its rows are filtered."""
    with open_file(name) as opened, pq.ParquetFile(opened) as file:
        groups = (group for group, needed_by in enumerate(parts_of_groups(file.metadata, parts)) if part in needed_by)
        read = _groups(name, opened, file, groups)
        if int(file.metadata.metadata.get(PARTS_KEY, b"1")) >= parts:
            return read
    of_row = part_of(read.rows["producer"].to_numpy(), read.rows["seq"].to_numpy(), parts)
    return ReadRows(read.rows.filter(pa.array(of_row == part)), read.left_out)


def require_readable(directory: RunDirectory) -> None:
    """Raise RunUnreadable for a sealed file with damaged rows: `inspect` reads only the end of each file."""
    for table in EVENT_TABLES:
        for path in parquet_files(directory, table):
            try:
                pq.read_table(path)
            except NOT_PARQUET as error:
                raise _not_readable(path, error) from None


def _contents(directory: RunDirectory) -> Sealing:
    """Check the footers of all files, and all rows of the tables that are not divided into parts."""
    has_seal = directory.has_seal
    checked = check_files(directory) if has_seal else FileCheck(event_files(directory), ())
    rows: dict[str, int] = {}
    problems = [*checked.problems]
    for table, names in checked.readable.items():
        files = [_rows_and_problem(directory.events_path / name, EVENT_TABLES[table], has_seal) for name in names]
        rows[table] = sum(rows_of_file for rows_of_file, _ in files)
        problems += [problem for _, problem in files if problem]
        if table not in PARTED and has_seal:
            problems += changed_rows(changed for name in names for changed in _changed_groups(directory, name))
    if (listed := _final_seal(directory)) is not None:
        streams = _streams_since(directory, Origin.of(directory), listed)
        problems += [why_not for why_not in streams.values() if why_not]
    return Sealing(rows, tuple(problems), () if has_seal else (WITHOUT_SEAL,), checked.readable)


def _changed_groups(directory: RunDirectory, name: str) -> list[ChangedGroup]:
    """Return the row groups of an event file that are not as they were sealed."""
    with open_below(directory.events_path, name) as opened:
        metadata = pq.read_metadata(opened)
        changed = unsealed_groups(opened, metadata, range(metadata.num_row_groups))
    return [ChangedGroup(name, group, metadata.num_row_groups) for group in changed]


def _rows_and_problem(path: Path, schema: pa.Schema, has_seal: bool) -> tuple[int, str]:
    """Return the number of rows, and the sentence on an incomplete stream."""
    try:
        metadata, file_schema = pq.read_metadata(path), pq.read_schema(path)  # metadata.schema would keep 20 MB alive
    except NOT_PARQUET as error:
        raise _not_readable(path, error) from None
    check_schema(file_schema, schema, path, None if has_seal else UNSEALED_VERSION)
    return metadata.num_rows, metadata.metadata.get(PROBLEM_KEY, b"").decode()


def _not_readable(path: Path, error: Exception) -> RunUnreadable:
    why = " ".join(str(error).split())
    without = "make the run again" if path.parent.name == "faults" else "delete it to go on without its rows"
    return RunUnreadable(
        f"{path}: not readable as Parquet ({why}): it was cut short or overwritten; bring it back from a copy, or "
        f"{without}"
    )
