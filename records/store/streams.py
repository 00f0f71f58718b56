"""Writes and reads stream files, which stay readable after a crash up to the last whole message.

An Arrow IPC stream is a schema message, one message per batch, and an end-of-stream marker. Each message contains its
length, so all messages before a torn one stay readable. A Parquet file without its footer is lost completely.
`StreamFile` writes each batch with one system call and removes a torn one; `Stream` reads up to the first incomplete
message. If the marker is missing, the process ended before it closed the stream.

Processes that do not share the run's folder send each stream message as soon as they have it. `Gathering` writes the
same file that these processes would have written. A process that disappears leaves its stream without the end marker,
just as a killed process does.
"""

import contextlib
import fcntl
import os
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Protocol

import pyarrow as pa

from records.errors import RunUnreadable, explained
from records.store.rundir import RunDirectory
from records.tables.schemas import EVENT_TABLES, SCHEMA_VERSION

SUFFIX = ".arrows"
END_OF_STREAM = b"\xff\xff\xff\xff\x00\x00\x00\x00"
VERSION_KEY, RUN_KEY = b"brokerbench.schema_version", b"brokerbench.run"
TABLE_KEY, PROCESS_KEY = b"brokerbench.table", b"brokerbench.process"


def described(schema: pa.Schema, table: str, process: str, run_id: str, version: int | None = None) -> pa.Schema:
    """Return the schema with metadata: its run, its table, its writer and its version (None: ours)."""
    metadata = {VERSION_KEY: str(version or SCHEMA_VERSION), RUN_KEY: run_id, TABLE_KEY: table, PROCESS_KEY: process}
    return schema.with_metadata({key: text.encode() for key, text in metadata.items()})


def check_schema(schema: pa.Schema, expected: pa.Schema, path: Path, version: int | None = None) -> None:
    """Raise RunUnreadable if a file's schema is not of ``version`` (None: current), or is not the table's schema."""
    needed = version or SCHEMA_VERSION
    found = (schema.metadata or {}).get(VERSION_KEY, b"none").decode(errors="replace")
    if found != str(needed):
        raise RunUnreadable(
            f"{path}: its events are of schema version {found}, this brokerbench reads version {needed} of this run: "
            "use the brokerbench that recorded the run"
        )
    if not schema.equals(expected, check_metadata=False):
        columns = ", ".join(expected.names)
        raise RunUnreadable(f"{path}: its columns do not match this table ({columns}): was the file replaced?")


class BatchSink(Protocol):
    """The destination of the batches of one table of one process. Every method may raise OSError."""

    name: str  # for messages

    def append(self, batch: pa.RecordBatch) -> None: ...
    def close(self, *, complete: bool) -> None:
        """Write the end-of-stream marker if all rows are in, and release the sink. May be repeated."""


class StreamSender:
    """The writing end in a process that does not share the run's folder: ``send`` passes on its messages.

    The sent messages, in that order, are byte for byte the stream file.
    """

    def __init__(self, table: str, schema: pa.Schema, send: Callable[[bytes], None]) -> None:
        self.name = f"the stream of {table}"
        self._schema = schema
        self._send = send
        self._begun = self._closed = False

    def append(self, batch: pa.RecordBatch) -> None:
        start = b"" if self._begun else self._schema.serialize().to_pybytes()
        self._send(start + batch.serialize().to_pybytes())
        self._begun = True

    def close(self, *, complete: bool) -> None:
        if complete and self._begun and not self._closed:
            self._send(END_OF_STREAM)
        self._closed = True


class StreamFile:
    """The writing end. Opened at the first batch.

    The file is locked while open, so readers know that it is still being written.

    Every method may raise OSError; the file then still ends with its last whole batch.
    """

    def __init__(self, path: Path, schema: pa.Schema) -> None:
        self.path = path
        self.name = str(path)
        self._schema = schema
        self._file: int | None = None
        self._end = 0

    def append(self, batch: pa.RecordBatch) -> None:
        body = batch.serialize()
        self.append_message(body if self._end else self._schema.serialize().to_pybytes() + body.to_pybytes())

    def append_message(self, message: pa.Buffer | bytes) -> None:
        """Append messages from a `StreamSender`: one or more whole messages of this stream."""
        if self._file is None:
            self._file = self._open()
        self._write(message)

    def close(self, *, complete: bool) -> None:
        """Write the end-of-stream marker if all rows are in, and close the file. May be repeated."""
        if self._file is None:
            return
        try:
            if complete:
                self._write(END_OF_STREAM)
        finally:
            os.close(self._file)
            self._file = None

    def _open(self) -> int:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        file = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND, 0o644)
        with contextlib.suppress(OSError):  # a file system without locks only loses the guard against early sealing
            fcntl.flock(file, fcntl.LOCK_EX)
        return file

    def _write(self, message: pa.Buffer | bytes) -> None:
        """Write with one system call. If the disk accepts only a part, write the rest, or nothing at all."""
        assert self._file is not None
        unwritten = memoryview(message)
        try:
            while unwritten:
                unwritten = unwritten[os.write(self._file, unwritten) :]
        except OSError:
            with contextlib.suppress(OSError):
                os.ftruncate(self._file, self._end)
            raise
        self._end += len(memoryview(message))


class Stream:
    """The reading end: iterate once over its whole batches, then read how it ended.

    ``rows``: number of rows read. ``complete``: the end-of-stream marker was there. ``ended_at_byte``: where the last
    whole message ends; bytes from there to ``size_bytes`` are torn. ``origin``: the expected metadata, such as the run.
    RunUnreadable if the schema or the metadata differ.
    """

    def __init__(
        self, path: Path, expected: pa.Schema, version: int | None = None, origin: Mapping[bytes, str] | None = None
    ) -> None:
        self.path = path
        self.size_bytes = path.stat().st_size
        self.rows = 0
        self.complete = False
        self.ended_at_byte = 0
        self._expected, self._version, self._origin = expected, version, origin or {}

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        with pa.OSFile(str(self.path)) as file:
            schema = self._read_schema(file)
            while schema is not None and (batch := self._read_batch(file, schema)) is not None:
                self.rows += batch.num_rows
                self.ended_at_byte = file.tell()
                yield batch

    def _read_schema(self, file: pa.NativeFile) -> pa.Schema | None:
        try:
            schema = pa.ipc.read_schema(file)
        except (pa.ArrowException, EOFError, OSError) as error:
            _raise_if_unreadable(error)
            return None
        check_schema(schema, self._expected, self.path, self._version)
        for key, value in self._origin.items():
            found = (schema.metadata or {}).get(key, b"unknown").decode(errors="replace")
            if found != value:
                what = key.decode().rpartition(".")[2]
                problem = f"{self.path}: it was recorded by {what} {found!r}, and here belongs {what} {value!r}"
                raise RunUnreadable(f"{problem}: remove it from the run's folder")
        self.ended_at_byte = file.tell()
        return schema

    def _read_batch(self, file: pa.NativeFile, schema: pa.Schema) -> pa.RecordBatch | None:
        """Return the next whole batch; None at the end.

        At the end `complete` shows whether the marker was found or bytes are missing.
        """
        try:
            batch = pa.ipc.read_record_batch(pa.ipc.read_message(file), schema)
            batch.validate(full=True)
            return batch
        except EOFError:
            file.seek(self.ended_at_byte)
            self.complete = file.read() == END_OF_STREAM
        except (pa.ArrowException, OSError) as error:
            _raise_if_unreadable(error)
        return None


def _raise_if_unreadable(error: Exception) -> None:
    """Raise errors of the system, such as an unreadable disk. Arrow's own errors mean a torn message, which costs no
    other rows."""
    if isinstance(error, OSError) and error.errno:
        raise error


def being_written(path: Path) -> bool:
    """Whether a living process still has this stream open (its end releases the lock in any case)."""
    with path.open("rb") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
    return False


class Gathering:
    """The streams of other processes, in the process that owns the run's folder."""

    def __init__(self, directory: RunDirectory) -> None:
        self._directory = directory
        self._streams: dict[tuple[str, str], StreamFile] = {}
        self.failure: str | None = None  # the first failed write; later rows are dropped

    def take(self, process: str, table: str, messages: bytes) -> None:
        """Append the messages of a process for one table, in the order sent. Never raises: see `failure`."""
        if self.failure:
            return
        stream = self._streams.setdefault((process, table), self._stream(process, table))
        try:
            stream.append_message(messages)
        except OSError as error:
            why, next_step = explained(error)
            self.failure = f"{stream.name} cannot be written: {why}; {next_step}"

    def close(self) -> None:
        """Close the files. The end marker from its sender shows whether a stream is complete."""
        for stream in self._streams.values():
            stream.close(complete=False)

    def _stream(self, process: str, table: str) -> StreamFile:
        schema = described(EVENT_TABLES[table], table, process, self._directory.run_id)
        return StreamFile(self._directory.streams(table) / f"{process}{SUFFIX}", schema)
