"""Checks how the chunks of recordings become one file, and which choices with --jfr are rejected."""

import re
from pathlib import Path

import pytest

from records.errors import UserError
from topologies.catalogue import lookup
from topologies.runtimes.choice import BrokerSetup
from topologies.runtimes.java import Java
from topologies.runtimes.processes.recordings import BEING_UPDATED, FOLDER, HEADER_BYTES, MAGIC, merge, why_no_recording


def chunk(began_ns: int, body: bytes, *, lost: bytes = b"", state: int = 0) -> bytes:
    """Return a chunk. ``lost``: bytes after its last flush, which its header does not count."""
    size = HEADER_BYTES + len(body)
    header = MAGIC + bytes(4) + size.to_bytes(8, "big") + bytes(16) + began_ns.to_bytes(8, "big")
    return header.ljust(64, b"\0") + bytes([state, 0, 0, 0]) + body + lost


def test_chunks_of_all_processes_are_merged_by_time(tmp_path: Path) -> None:
    """The first process was killed, so it left chunks. The second exited, so it left a file with two chunks."""
    killed = tmp_path / FOLDER / "chunks" / "1"
    killed.mkdir(parents=True)
    (killed / "b.jfr").write_bytes(chunk(20, b"second", lost=b"not flushed"))
    (killed / "a.jfr").write_bytes(chunk(10, b"first"))
    (tmp_path / FOLDER / "exit.jfr").write_bytes(chunk(30, b"third") + chunk(40, b"fourth"))
    merged = merge(tmp_path)
    assert merged
    assert re.findall(rb"first|second|third|fourth|not flushed", merged.read_bytes()) == [
        b"first",
        b"second",
        b"third",
        b"fourth",
    ]
    assert [path.name for path in (tmp_path / FOLDER).iterdir()] == [merged.name]


def test_a_recording_without_readable_chunks_is_none(tmp_path: Path) -> None:
    """A chunk that was never flushed, one whose header was being written, another file, and no file at all."""
    assert merge(tmp_path) is None
    (tmp_path / FOLDER).mkdir()
    for name, content in {"a": chunk(1, b""), "b": chunk(2, b"x", state=BEING_UPDATED), "c": b"FLX" * 40}.items():
        (tmp_path / FOLDER / f"{name}.jfr").write_bytes(content)
    assert merge(tmp_path) is None


def test_a_java_without_the_recorder_is_rejected(tmp_path: Path) -> None:
    executable = tmp_path / "java"
    executable.write_text("#!/bin/sh\necho java.base@21\n", encoding="utf-8")
    executable.chmod(0o755)
    why = why_no_recording(Java(tmp_path, executable, "21", "PATH"))
    assert why == "Java 21 of PATH has no module jdk.jfr; set JAVA_HOME to a JDK, or leave it out"
    executable.write_text("#!/bin/sh\necho java.base@21\necho jdk.jfr@21\n", encoding="utf-8")
    assert why_no_recording(Java(tmp_path, executable, "21", "PATH")) == ""


@pytest.mark.parametrize("runtime", ["containers", "external", "memory"])
def test_other_runtimes_reject_recordings(runtime: str) -> None:
    with pytest.raises(UserError, match=rf"^--jfr --runtime {runtime}: .*"):
        BrokerSetup(runtime, jfr=True).check(lookup.build("single"))
