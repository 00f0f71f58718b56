"""Checks that events of remote processes arrive byte for byte as if they had been written locally."""

from pathlib import Path

import pytest

from records.run import RunInfo
from records.store.reader import read_events, seal
from records.store.rundir import RunDirectory
from records.store.streams import Gathering
from records.store.writer import Recorder
from tests.support.event_rows import send_row


@pytest.fixture
def directory(tmp_path: Path) -> RunDirectory:
    run_directory = RunDirectory.create(tmp_path, "run")
    run_directory.write_run(RunInfo("run", "s", "t", "processes", "stomp"))
    return run_directory


def record(recorder: Recorder) -> None:
    for seq in range(5):
        recorder.send(send_row(seq, seq))
        recorder.flush()
    recorder.fault("freeze", "b", 1, None, "no")


def test_what_is_gathered_is_the_file_that_would_have_been_written(directory: RunDirectory, tmp_path: Path) -> None:
    here = RunDirectory.create(tmp_path / "here", "run")
    local = Recorder(here, "worker-1")
    gathering = Gathering(directory)
    remote = Recorder(lambda table, messages: gathering.take("worker-1", table, messages), "worker-1", run_id="run")
    for recorder in (local, remote):
        record(recorder)
        recorder.close()
    gathering.close()
    for table in ("sends", "faults"):
        name = f"streams/{table}/worker-1.arrows"
        assert (directory.path / name).read_bytes() == (here.path / name).read_bytes()


def test_gathered_events_are_sealed_like_any_other(directory: RunDirectory) -> None:
    gathering = Gathering(directory)
    remote = Recorder(lambda table, messages: gathering.take("worker-1", table, messages), "worker-1", run_id="run")
    record(remote)
    remote.close()
    gathering.close()
    assert seal(directory).problems == ()
    assert [row["seq"] for row in read_events(directory, "sends").to_pylist()] == [0, 1, 2, 3, 4]


def test_a_process_that_went_away_leaves_what_it_had_sent_and_no_end_mark(directory: RunDirectory) -> None:
    gathering = Gathering(directory)
    record(Recorder(lambda table, messages: gathering.take("worker-1", table, messages), "worker-1", run_id="run"))
    gathering.close()
    sealing = seal(directory)
    assert sealing.rows["sends"] == 5
    assert any("worker-1" in problem for problem in sealing.problems)


def test_a_channel_that_breaks_is_a_failure_of_the_recorder_and_never_an_exception() -> None:
    def broken(table: str, messages: bytes) -> None:
        raise ConnectionError("the master is gone")

    recorder = Recorder(broken, "worker-1")
    record(recorder)
    recorder.close()
    assert recorder.failure is not None
    assert "the stream of sends cannot be written" in recorder.failure


def test_a_disk_that_is_full_here_is_told_once_and_costs_no_exception(directory: RunDirectory) -> None:
    directory.streams("sends").parent.mkdir()
    directory.streams("sends").write_text("in the way")
    gathering = Gathering(directory)
    gathering.take("worker-1", "sends", b"bytes")
    gathering.take("worker-1", "sends", b"bytes")
    assert gathering.failure is not None
    assert "worker-1.arrows" in gathering.failure
