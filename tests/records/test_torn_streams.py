"""Checks that a truncated stream keeps every complete batch before the cut, and nothing else."""

from pathlib import Path

import pytest

from records.store.reader import read_events, seal
from records.store.rundir import RunDirectory
from records.store.streams import Stream
from records.store.writer import Recorder
from records.tables.schemas import EVENT_TABLES
from tests.records.rows import new_run, send

BATCHES, ROWS_A_BATCH = 3, 2


@pytest.fixture
def run(tmp_path: Path) -> RunDirectory:
    return new_run(tmp_path)


@pytest.fixture
def stream(run: RunDirectory) -> Path:
    """Return a complete stream of three batches of two sends each."""
    recorder = Recorder(run, "worker-1")
    for seq in range(BATCHES * ROWS_A_BATCH):
        send(recorder, seq)
        if seq % ROWS_A_BATCH == ROWS_A_BATCH - 1:
            recorder.flush()
    recorder.close()
    return run.streams("sends") / "worker-1.arrows"


def _seqs(stream: Stream) -> list[int]:
    return [seq for batch in stream for seq in batch.column("seq").to_pylist()]


def _batch_ends(path: Path) -> list[int]:
    """Return the byte offset at the end of each batch."""
    reading = Stream(path, EVENT_TABLES["sends"])
    return [reading.ended_at_byte for _ in reading]


def test_a_stream_cut_at_any_byte_keeps_exactly_its_whole_batches(stream: Path) -> None:
    whole, ends = stream.read_bytes(), _batch_ends(stream)
    assert len(ends) == BATCHES
    for size in range(len(whole)):
        stream.write_bytes(whole[:size])
        reading = Stream(stream, EVENT_TABLES["sends"])
        kept_rows = sum(end <= size for end in ends) * ROWS_A_BATCH
        assert _seqs(reading) == list(range(kept_rows)), f"cut at byte {size}"
        assert not reading.complete, f"cut at byte {size}"
        assert reading.rows == kept_rows


def test_a_whole_stream_is_complete(stream: Path) -> None:
    reading = Stream(stream, EVENT_TABLES["sends"])
    assert _seqs(reading) == list(range(BATCHES * ROWS_A_BATCH))
    assert reading.complete


def test_bytes_behind_the_end_mark_are_no_proper_end(stream: Path) -> None:
    stream.write_bytes(stream.read_bytes() + b"\0")
    reading = Stream(stream, EVENT_TABLES["sends"])
    assert len(_seqs(reading)) == BATCHES * ROWS_A_BATCH
    assert not reading.complete


def test_a_stream_without_its_end_mark_tells_a_killed_process(run: RunDirectory, stream: Path) -> None:
    stream.write_bytes(stream.read_bytes()[:-8])
    assert seal(run).problems == (
        "streams/sends/worker-1.arrows: has no end mark: worker-1 was killed, or could not write all its rows "
        "(disk full?); 6 rows before that are kept, later ones of sends are missing",
    )


def test_a_stream_torn_in_mid_batch_tells_where(run: RunDirectory, stream: Path) -> None:
    second_end, third_end = _batch_ends(stream)[1:]
    stream.write_bytes(stream.read_bytes()[: third_end - 1])
    assert seal(run).problems == (
        f"streams/sends/worker-1.arrows: is torn in mid-batch at byte {second_end} of {third_end - 1}: worker-1 was "
        "killed while writing, or its disk is full or damaged; 4 rows before that are kept, later ones of sends are "
        "missing",
    )
    assert read_events(run, "sends").column("seq").to_pylist() == [0, 1, 2, 3]


def test_an_empty_stream_is_told_too(run: RunDirectory, stream: Path) -> None:
    stream.write_bytes(b"")
    sealing = seal(run)
    assert sealing.rows["sends"] == 0
    assert "0 rows before that are kept" in sealing.problems[0]
