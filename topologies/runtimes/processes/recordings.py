"""Records Java Flight Recorder in brokers, and merges the chunks of each broker into one file.

A broker writes its recording in chunks below ``brokers/<broker>/jfr/chunks``, and flushes the last one once per second.
If the broker is asked to stop, the chunks become one file when it exits. If it is killed, the chunks stay, and at most
the events since the last flush are lost. A broker that was started several times has several of both.
"""

import os
import re
import shutil
import subprocess
from collections.abc import Iterable
from pathlib import Path

from records.environment import for_java
from topologies.runtimes.java import ASK_TIMEOUT_S, Java

FOLDER = "jfr"
MODULE = "jdk.jfr"
MERGED = "recording.jfr"
MOST_GIB = 1
OPTIONS = (
    f"-XX:StartFlightRecording=name=brokerbench,settings=profile,disk=true,maxsize={MOST_GIB}g,dumponexit=true,"
    f"filename=../{FOLDER}",
    f"-XX:FlightRecorderOptions=repository=../{FOLDER}/chunks,maxchunksize=4M",
    "-Xlog:jfr*=error",  # its messages would be in the middle of the broker's log
)
"""Options of a broker's JVM. Its paths are relative to the folder of its log, where the broker runs."""

RECORDER_OPTIONS = ("-XX:StartFlightRecording", "-XX:FlightRecorderOptions")

MAGIC = b"FLR\0"
SIZE_AT, BEGAN_AT, STATE_AT, HEADER_BYTES = slice(8, 16), slice(32, 40), 64, 68
BEING_UPDATED = 255


def why_no_recording(java: Java) -> str:
    """Return why this Java cannot record, with the next step; empty if it can or does not answer."""
    try:
        answer = subprocess.run(
            [str(java.executable), "--list-modules"],
            env=for_java(os.environ), capture_output=True, text=True, timeout=ASK_TIMEOUT_S, check=False,
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired):
        return ""
    if re.search(rf"^{re.escape(MODULE)}@", answer.stdout, re.MULTILINE):
        return ""
    return f"Java {java.version} of {java.source} has no module {MODULE}; set JAVA_HOME to a JDK, or leave it out"


def merge(folder: Path) -> Path | None:
    """Merge the recordings of one broker into one file, and remove its parts. Returns None if there are none.

    ``folder``: the broker's folder. A recording is a sequence of chunks, so the merged file is their concatenation in
    the order of their time. Bytes after the last flush of a chunk are left out. Raises OSError.
    """
    parts = [part for part in (folder / FOLDER).rglob("*.jfr") if part.name != MERGED]
    chunks = sorted((chunk for part in parts for chunk in _chunks(part)), key=lambda chunk: chunk[0])
    if not chunks:
        return None
    merged = folder / FOLDER / MERGED
    with merged.open("wb") as file:
        for _, part, begin, size in chunks:
            with part.open("rb") as source:
                source.seek(begin)
                file.write(source.read(size))
    for part in parts:
        part.unlink(missing_ok=True)
    shutil.rmtree(folder / FOLDER / "chunks", ignore_errors=True)
    return merged


def _chunks(path: Path) -> Iterable[tuple[int, Path, int, int]]:
    """Yield the readable chunks of a file: start in nanoseconds since the epoch, file, first byte, number of bytes.

    A chunk that was never flushed has only a header. A chunk whose header was just being written cannot be read.
    """
    at, file_bytes = 0, path.stat().st_size
    with path.open("rb") as file:
        while at + HEADER_BYTES <= file_bytes:
            file.seek(at)
            header = file.read(HEADER_BYTES)
            size = int.from_bytes(header[SIZE_AT], "big")
            if header[:4] != MAGIC or size < HEADER_BYTES or at + size > file_bytes:
                return
            if size > HEADER_BYTES and header[STATE_AT] != BEING_UPDATED:
                yield int.from_bytes(header[BEGAN_AT], "big"), path, at, size
            at += size
