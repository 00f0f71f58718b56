"""Checks how the chunks of recordings become one file for each process."""

from pathlib import Path

import pytest

from records.store.recordings import CHUNKS, FOLDER, HEADER_BYTES, MAGIC, merge

FLUSHED, BEING_UPDATED = 7, 255
"""States of a chunk that is not finished: the number of its flushes, or the mark of a header being written."""


def chunk(began_ns: int, body: bytes, *, lost: bytes = b"", state: int = 0) -> bytes:
    """Return a chunk. ``lost``: bytes after its last flush, which its header does not count."""
    size = HEADER_BYTES + len(body)
    header = MAGIC + bytes(4) + size.to_bytes(8, "big") + bytes(16) + began_ns.to_bytes(8, "big")
    return header.ljust(64, b"\0") + bytes([state, 0, 0, 0]) + body + lost


def part(folder: Path, path: str, content: bytes) -> None:
    """Write a part of a recording. ``path``: relative to the folder of recordings."""
    file = folder / FOLDER / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(content)


def test_each_process_has_one_file_in_order_of_time(tmp_path: Path) -> None:
    """The first process was killed, so it left chunks. The second exited, so it left a file with two chunks."""
    part(tmp_path, "chunks/2026_11_28_20_51_31_900/b.jfr", chunk(20, b"second", lost=b"not flushed"))
    part(tmp_path, "chunks/2026_11_28_20_51_31_900/a.jfr", chunk(10, b"first"))
    part(tmp_path, "hotspot-pid-12-id-1-2026_11_28_20_52_00.jfr", chunk(30, b"third") + chunk(40, b"fourth"))
    merged = merge(tmp_path)
    assert [file.name for file in merged] == ["recording.jfr", "recording-2.jfr"]
    assert merged[0].read_bytes() == chunk(10, b"first") + chunk(20, b"second")
    assert merged[1].read_bytes() == chunk(30, b"third") + chunk(40, b"fourth")
    assert sorted((tmp_path / FOLDER).iterdir()) == sorted(merged)
    assert merge(tmp_path) == merged


def test_many_processes_are_in_order_of_their_numbers(tmp_path: Path) -> None:
    for number in range(1, 13):
        part(tmp_path, f"hotspot-pid-{100 - number}-id-1.jfr", chunk(number, b"x"))
    assert [file.name for file in merge(tmp_path)][-3:] == ["recording-10.jfr", "recording-11.jfr", "recording-12.jfr"]


def test_a_chunk_copied_before_a_kill_counts_once(tmp_path: Path) -> None:
    """The process was killed while it copied its chunks to the file of its exit: the second copy is cut off."""
    first, second = chunk(10, b"first"), chunk(20, b"second")
    part(tmp_path, "chunks/2026_11_28_20_51_31_12/1.jfr", first)
    part(tmp_path, "chunks/2026_11_28_20_51_31_12/2.jfr", second)
    part(tmp_path, "hotspot-pid-12-id-1.jfr", first + second[:-3])
    (merged,) = merge(tmp_path)
    assert merged.read_bytes() == first + second
    assert not (tmp_path / CHUNKS).exists()


@pytest.mark.parametrize("state", [FLUSHED, BEING_UPDATED])
def test_a_killed_process_leaves_finished_chunks(tmp_path: Path, state: int) -> None:
    """The header counts what was flushed before. Java 21 reads a chunk only if its state says that it is finished."""
    part(tmp_path, "a.jfr", chunk(10, b"flushed", lost=b"being flushed", state=state))
    (merged,) = merge(tmp_path)
    assert merged.read_bytes() == chunk(10, b"flushed")


def test_without_readable_chunks_there_is_no_recording(tmp_path: Path) -> None:
    """A chunk that was never flushed, marked or not, another file, and no file at all."""
    assert merge(tmp_path) == []
    for name, content in {"a": chunk(1, b""), "b": chunk(2, b"", state=BEING_UPDATED), "c": b"FLX" * 40}.items():
        part(tmp_path, f"{name}.jfr", content)
    assert merge(tmp_path) == []
