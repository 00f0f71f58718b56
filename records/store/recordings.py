"""Settings of Java Flight Recorder, and the merging of the chunks that it leaves into one file for each process.

A JVM writes its recording in chunks below ``jfr/chunks`` in its folder, and flushes the last one once per second. If
the recording is stopped, the chunks become one file. If the JVM is killed, the chunks stay, and at most the events
since the last flush are lost. A broker that was started several times has several of both.

Each process has a separate file: processes number the types of their events differently, and Java's reader would read
the chunks of the second process with the types of the first if both have written their types equally often.
"""

import re
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from operator import attrgetter
from pathlib import Path

NAME = "brokerbench"
FOLDER = "jfr"
CHUNKS = f"{FOLDER}/chunks"
MOST_GIB = 1
SETTINGS = (
    f"name={NAME}",
    "settings=profile",
    "method-profiling=max",  # a sample per millisecond instead of ten: few threads of a broker run at a time
    "disk=true",
    f"maxsize={MOST_GIB}g",
)
"""Parameters of a recording, for the option ``-XX:StartFlightRecording`` and the command ``JFR.start``."""
CHUNK_SIZE = "maxchunksize=4M"

MERGED = re.compile(r"recording(?:-([0-9]+))?\.jfr")
PROCESS = re.compile(r"pid-([0-9]+)-|_([0-9]+)/[^/]*$")
"""The process in the path of a part: in the name of the file that it wrote at its end, or of its folder of chunks."""

MAGIC = b"FLR\0"
SIZE_AT, BEGAN_AT, STATE_AT, HEADER_BYTES = slice(8, 16), slice(32, 40), 64, 68
FINISHED = 0


def merge(folder: Path) -> list[Path]:
    """Merge the recordings in a folder into one file for each JVM, and return the files.

    ``folder``: of a broker, or of the clients in a process. The files are in the order in which the JVMs started. The
    parts are removed. A recording is a sequence of chunks, so the merged file is their concatenation in the order of
    their time. Bytes after the last flush of a chunk are left out. A chunk that a process was copying when it was
    killed is in two files, and is taken once. Raises OSError.
    """
    merged = _merged(folder)
    parts = sorted(part for part in (folder / FOLDER).rglob("*.jfr") if part not in merged)
    chunks_by_process: dict[str, dict[int, _Chunk]] = {}
    for chunk in sorted((chunk for part in parts for chunk in _chunks(part)), key=attrgetter("size")):
        chunks_by_process.setdefault(_process(chunk.file), {})[chunk.began_ns] = chunk
    for number, chunks in enumerate(sorted(chunks_by_process.values(), key=min), start=len(merged) + 1):
        name = f"recording-{number}.jfr" if number > 1 else "recording.jfr"
        with (folder / FOLDER / name).open("wb") as file:
            for _, chunk in sorted(chunks.items()):
                file.write(chunk.read())
    for part in parts:
        part.unlink(missing_ok=True)
    shutil.rmtree(folder / CHUNKS, ignore_errors=True)
    return _merged(folder)


def _merged(folder: Path) -> list[Path]:
    matches = ((MERGED.fullmatch(path.name), path) for path in (folder / FOLDER).glob("*.jfr"))
    return [path for _, path in sorted((int(match[1] or 1), path) for match, path in matches if match)]


def _process(part: Path) -> str:
    """Return the id of the process that wrote a part, or '' if its path does not have it."""
    found = PROCESS.search(f"{part.parent.name}/{part.name}")
    return (found[1] or found[2]) if found else ""


@dataclass(frozen=True)
class _Chunk:
    """A readable chunk. ``began_ns``: since the epoch; ``first``: its first byte in the file; ``size``: in bytes."""

    began_ns: int
    file: Path
    first: int
    size: int

    def read(self) -> bytes:
        """Return its bytes, marked as finished: the reader of Java 21 rejects a chunk that seems to be in use."""
        with self.file.open("rb") as file:
            file.seek(self.first)
            content = bytearray(file.read(self.size))
        content[STATE_AT] = FINISHED
        return bytes(content)


def _chunks(path: Path) -> Iterator[_Chunk]:
    """Yield the readable chunks of a file. A chunk that was never flushed has only a header, and is left out.

    The recorder marks a header before it writes it in a single step. So a header with this mark is still that of the
    last flush, if the process was killed in between.
    """
    at, file_bytes = 0, path.stat().st_size
    with path.open("rb") as file:
        while at + HEADER_BYTES <= file_bytes:
            file.seek(at)
            header = file.read(HEADER_BYTES)
            size = int.from_bytes(header[SIZE_AT], "big")
            if header[:4] != MAGIC or size < HEADER_BYTES or at + size > file_bytes:
                return
            if size > HEADER_BYTES:
                yield _Chunk(int.from_bytes(header[BEGAN_AT], "big"), path, at, size)
            at += size
