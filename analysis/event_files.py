"""Reads the event files of a run at a URI with Spark: each task receives the row groups of the parts that it computes.

Spark's `binaryFile` source reads whole files from any of its file systems. With several tasks, the row groups are cut
out of the files and sent to the tasks that need them, compressed to about 6 bytes per event. A task then opens a file
that contains only the received bytes. Tasks open files in a shared folder themselves, which takes less memory.
"""

import os
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from records.store.parts import PARTED
from records.store.reader import parts_of_groups
from records.store.seal import group_ranges, read_footer

PIECES = pa.schema(
    [("task", pa.int32()), ("file", pa.string()), ("begin", pa.int64()), ("content", pa.binary())],
)
"""Bytes of an event file from offset ``begin`` on, for one task. ``file`` is a path relative to ``events``."""
READ_BY_TASKS = (*PARTED, "connections", "members")
"""The event tables that tasks read. Each task receives the whole of connections and members."""
BYTES_PER_BATCH = 32 * 1024 * 1024
AS_NAMED = "__globPaths__"
"""Spark option. If false, Spark treats * and other glob characters in file names as plain characters."""
_NAME = "([^/]+/[^/]+)$"


def pieces_by_task(
    spark: SparkSession, folder: str | None, files: Mapping[str, Sequence[str]], parts: int, tasks: int
) -> DataFrame:
    """Return the bytes of the event files that tasks read: the columns of PIECES, one partition per task.

    ``folder``: the URI of the run's folder ``events``. If None, tasks open the files and receive only their task
    number. ``files``: file names relative to that folder, by table.
    """
    uris = [f"{folder}/{name}" for table in READ_BY_TASKS for name in files[table]] if folder else []
    if not uris:
        return spark.range(0, tasks, 1, tasks).select(F.col("id").cast("int").alias("task"))
    whole = spark.read.format("binaryFile").option(AS_NAMED, "false").load(uris)
    name = F.regexp_extract("path", _NAME, 1).alias("file")
    if tasks == 1:
        start = (F.lit(0).alias("task"), name, F.lit(0).cast("bigint").alias("begin"))
        return whole.select(*start, "content").coalesce(1)
    cut: Callable[..., DataFrame] = F.arrow_udtf(_cutter(parts, tasks), returnType=_DDL)  # type: ignore[assignment]
    return cut(whole.select(name, "content").asTable()).repartitionById(tasks, "task")


def parts_of_task(task: int, parts: int, tasks: int) -> list[int]:
    return [part for part in range(parts) if _task_of(part, parts, tasks) == task]


def _task_of(part: int, parts: int, tasks: int) -> int:
    return part * tasks // parts


_DDL = "task int, file string, begin bigint, content binary"


def table_function(
    rows_of: Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]], ddl: str
) -> Callable[..., DataFrame]:
    """Return a table function over the batches of a task. `DataFrame.mapInArrow` does the same, but requires pandas."""

    class RowsOfTask:
        def __init__(self) -> None:
            self.batches: list[pa.RecordBatch] = []

        def eval(self, batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
            self.batches.append(batch)
            yield from ()

        def terminate(self) -> Iterator[pa.RecordBatch]:
            yield from rows_of(self.batches)

    return F.arrow_udtf(RowsOfTask, returnType=ddl)  # type: ignore[return-value]


def _cutter(parts: int, tasks: int) -> type:
    """Return a table function that cuts whole files into row groups for each task. Every task also gets the footer."""

    class Cutter:
        def eval(self, batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
            for name, content in zip(batch["file"].to_pylist(), batch["content"], strict=True):
                waiting: list[_Piece] = []
                for piece in _pieces_of_file(name, content.as_buffer(), parts, tasks):
                    waiting.append(piece)
                    if sum(len(content) for *_, content in waiting) > BYTES_PER_BATCH:
                        yield _batch(waiting)
                        waiting = []
                if waiting:
                    yield _batch(waiting)

    return Cutter


_Piece = tuple[int, str, int, bytes]


def _pieces_of_file(name: str, content: pa.Buffer, parts: int, tasks: int) -> Iterator[_Piece]:
    with pa.BufferReader(content) as file:
        metadata, footer = pq.read_metadata(file), len(read_footer(file))
    ends_at = len(content) - footer
    for (begin, end), needed_by in zip(group_ranges(metadata, ends_at), parts_of_groups(metadata, parts), strict=True):
        for task in sorted({_task_of(part, parts, tasks) for part in needed_by}):
            yield task, name, begin, content.slice(begin, end - begin).to_pybytes()
    for task in range(tasks):
        yield task, name, ends_at, content.slice(ends_at).to_pybytes()


def _batch(pieces: Sequence[_Piece]) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays(
        [pa.array(column, field.type) for column, field in zip(zip(*pieces, strict=True), PIECES, strict=True)],
        schema=PIECES,
    )


class ReceivedFiles:
    """The event file contents that a task received. ``task``: the task number."""

    def __init__(self, batches: Iterable[pa.RecordBatch]) -> None:
        self.task = 0
        self._pieces: dict[str, dict[int, pa.Buffer]] = {}
        for batch in batches:
            self.task = batch["task"][0].as_py()
            if "file" in batch.schema.names:
                names, begins = batch["file"].to_pylist(), batch["begin"].to_pylist()
                for name, begin, content in zip(names, begins, batch["content"], strict=True):
                    self._pieces.setdefault(name, {})[begin] = content.as_buffer()

    def open(self, name: str) -> pa.NativeFile:
        pieces = self._pieces[name]
        if pieces.keys() == {0}:
            return pa.BufferReader(pieces[0])
        return pa.PythonFile(_Pieces(pieces), "r")


class _Pieces:
    """A partly received file, for PyArrow, which reads more bytes at the end of a file than the footer.

    Missing bytes read as zeros. They cannot pass for rows, because they do not match a row group's digest.
    """

    def __init__(self, pieces: Mapping[int, pa.Buffer]) -> None:
        self._begins = sorted(pieces)
        self._contents = [memoryview(pieces[begin]) for begin in self._begins]
        self._size = self._begins[-1] + len(self._contents[-1])
        self._at = 0
        self.closed = False

    def read(self, size: int = -1) -> bytes:
        end = self._size if size < 0 else min(self._at + size, self._size)
        found = bytearray(max(0, end - self._at))
        for place in range(max(0, bisect_right(self._begins, self._at) - 1), len(self._begins)):
            begin, content = self._begins[place], self._contents[place]
            if begin >= end:
                break
            known_from, known_to = max(begin, self._at), min(begin + len(content), end)
            if known_from < known_to:
                found[known_from - self._at : known_to - self._at] = content[known_from - begin : known_to - begin]
        self._at += len(found)
        return bytes(found)

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        self._at = offset + {os.SEEK_SET: 0, os.SEEK_CUR: self._at, os.SEEK_END: self._size}[whence]
        return self._at

    def tell(self) -> int:
        return self._at

    def size(self) -> int:
        return self._size

    def readable(self) -> bool:
        return True

    def writable(self) -> bool:
        return False

    def seekable(self) -> bool:
        return True

    def flush(self) -> None:
        pass

    def close(self) -> None:
        self.closed = True
