"""Checks that sealing a run loses no row, however often and whenever it is tried."""

from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from records.errors import RunUnreadable, RunUnwritable
from records.store import sealed_files, streams
from records.store.reader import inspect, read_events, require_readable, seal
from records.store.rundir import RunDirectory
from records.store.writer import Recorder
from records.tables.schemas import EVENT_TABLES, SCHEMA_VERSION
from tests.records.rows import new_run, send


@pytest.fixture
def run(tmp_path: Path) -> RunDirectory:
    return new_run(tmp_path)


def _record(run: RunDirectory, process: str, rows: int) -> Path:
    recorder = Recorder(run, process)
    for seq in range(rows):
        send(recorder, seq)
    recorder.close()
    return run.streams("sends") / f"{process}.arrows"


def test_the_rows_of_every_process_are_in_files_of_their_own(run: RunDirectory) -> None:
    _record(run, "master", 2)
    _record(run, "worker-1", 3)
    assert seal(run).rows["sends"] == 5
    assert sorted(path.name for path in run.events("sends").iterdir()) == ["master.parquet", "worker-1.parquet"]
    assert not list(run.streams("sends").iterdir())


def test_a_table_without_events_has_a_file_with_its_schema(run: RunDirectory) -> None:
    seal(run)
    for table, schema in EVENT_TABLES.items():
        (file,) = run.events(table).iterdir()
        assert pq.read_schema(file).equals(schema)
        assert pq.read_metadata(file).num_rows == 0


def test_sealing_again_changes_nothing(run: RunDirectory) -> None:
    stream = _record(run, "worker-1", 3)
    stream.write_bytes(stream.read_bytes()[:-8])
    first_sealing = seal(run)
    assert len(first_sealing.problems) == 1
    assert seal(run) == first_sealing == inspect(run), "what was lost is told every time"


def test_a_sealing_that_was_cut_off_is_finished_by_the_next(run: RunDirectory) -> None:
    stream = _record(run, "worker-1", 3)
    as_recorded = stream.read_bytes()
    seal(run)
    stream.write_bytes(as_recorded)  # interrupted before the stream was deleted
    (run.events("receipts") / ".worker-1.parquet.unfinished").write_bytes(
        b"PAR1"
    )  # interrupted while a file was written
    assert seal(run).rows["sends"] == 3
    assert read_events(run, "sends").column("seq").to_pylist() == [0, 1, 2]
    assert not stream.exists()
    assert [path.name for path in run.events("receipts").iterdir()] == ["no-events.parquet"]


@pytest.mark.parametrize("process", ["extra", "worker-1"])
def test_a_stream_put_into_a_sealed_run_is_named(run: RunDirectory, process: str) -> None:
    _record(run, "worker-1", 3)
    seal(run)
    as_sealed = run.seal_path.read_bytes()
    if process == "worker-1":
        (run.events("sends") / "worker-1.parquet").unlink()
    stream = _record(run, process, 4)
    for _again in range(2):
        sealing = seal(run)
        assert sealing == inspect(run)
        assert sealing.rows["sends"] == (3 if process == "extra" else 0)
        assert any(problem.startswith(f"streams/sends/{process}.arrows: ") for problem in sealing.problems)
        assert (stream.exists(), run.seal_path.read_bytes()) == (True, as_sealed)


def test_a_stream_put_beside_a_table_without_events_is_named(run: RunDirectory) -> None:
    _record(run, "worker-1", 3)
    seal(run)
    recorder = Recorder(run, "main")
    recorder.fault("freeze", "b", 1, 2, None)
    recorder.close()
    sealing = seal(run)
    assert sealing.rows["faults"] == 0
    assert sealing.problems == (
        "streams/faults/main.arrows: not one of the streams that the run was sealed with, so it is left out: remove it",
    )


def test_a_leftover_stream_is_kept_beside_a_damaged_file(run: RunDirectory) -> None:
    stream = _record(run, "worker-1", 3)
    as_recorded = stream.read_bytes()
    seal(run)
    stream.write_bytes(as_recorded)
    (run.events("sends") / "worker-1.parquet").write_bytes(b"PAR1")
    assert any(problem.startswith("streams/sends/worker-1.arrows: kept, as ") for problem in seal(run).problems)
    assert stream.exists()


def test_a_table_begun_after_an_early_sealing_is_sealed(run: RunDirectory) -> None:
    recorder = Recorder(run, "worker-1")
    send(recorder, 0)
    recorder.flush()
    assert seal(run).problems
    recorder.fault("freeze", "b", 1, 2, None)
    recorder.close()
    sealing = seal(run)
    assert (sealing.rows["sends"], sealing.rows["faults"], sealing.problems) == (1, 1, ())


def test_a_stream_is_kept_when_its_parquet_has_fewer_rows(run: RunDirectory, monkeypatch: pytest.MonkeyPatch) -> None:
    stream = _record(run, "worker-1", 3)
    monkeypatch.setattr(sealed_files, "_row_groups", lambda batches, _rows: [group.slice(1) for group in _all(batches)])
    with pytest.raises(RunUnwritable, match="holds 2 rows, its stream 3"):
        seal(run)
    assert stream.exists()
    assert not list(run.events("sends").iterdir())


def _all(batches: object) -> list[pa.Table]:
    return [pa.Table.from_batches(list(batches))]  # type: ignore[call-overload]


def test_a_stream_that_is_still_written_is_sealed_so_far_and_kept(run: RunDirectory) -> None:
    recorder = Recorder(run, "worker-1")
    send(recorder, 0)
    recorder.flush()
    sealing = seal(run)
    assert sealing.rows["sends"] == 1
    assert sealing.problems == (
        "streams/sends/worker-1.arrows: worker-1 is still writing it; 1 rows so far are kept: "
        "end worker-1, then seal again",
    )
    send(recorder, 1)
    recorder.close()
    assert seal(run) == replace(inspect(run), rows={**sealing.rows, "sends": 2}, problems=(), unknowns=())


def test_many_small_batches_become_few_row_groups(run: RunDirectory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sealed_files, "ROWS_PER_GROUP", 4)
    recorder = Recorder(run, "worker-1")
    for seq in range(10):
        send(recorder, seq)
        recorder.flush()
    recorder.close()
    seal(run)
    metadata = pq.read_metadata(run.events("sends") / "worker-1.parquet")
    assert [metadata.row_group(group).num_rows for group in range(metadata.num_row_groups)] == [4, 4, 2]
    assert read_events(run, "sends").column("seq").to_pylist() == list(range(10))


def test_times_are_delta_coded_and_names_are_a_dictionary(run: RunDirectory) -> None:
    _record(run, "worker-1", 3)
    seal(run)
    columns = pq.read_metadata(run.events("sends") / "worker-1.parquet").row_group(0).to_dict()["columns"]
    by_name = {column["path_in_schema"]: column for column in columns}
    assert {column["compression"] for column in columns} == {"ZSTD"}
    assert "DELTA_BINARY_PACKED" in by_name["due_ns"]["encodings"]
    assert "DELTA_BINARY_PACKED" in by_name["seq"]["encodings"]
    assert "RLE_DICTIONARY" in by_name["broker"]["encodings"]


def test_a_parquet_file_cut_short_is_named(run: RunDirectory) -> None:
    _record(run, "worker-1", 3)
    seal(run)
    file = run.events("sends") / "worker-1.parquet"
    whole = file.read_bytes()
    for size in (0, 1, 10, len(whole) // 2, len(whole) - 1):
        file.write_bytes(whole[:size])
        assert inspect(run).problems == (
            "events/sends/worker-1.parquet: is not readable as Parquet: it was cut short or overwritten, so it is left "
            "out: bring the folder back from a copy, or make the run again",
        )


def test_a_parquet_file_with_damaged_rows_is_named_in_one_line(run: RunDirectory) -> None:
    _record(run, "master", 1_000)
    seal(run)
    require_readable(run)
    path = run.events("sends") / "master.parquet"
    content = bytearray(path.read_bytes())
    content[4:100] = bytes(96)
    path.write_bytes(content)
    inspect(run)
    with pytest.raises(RunUnreadable, match=r"sends/master\.parquet: not readable as Parquet \(") as refused:
        require_readable(run)
    assert "\n" not in str(refused.value)


def test_a_run_without_any_event_is_refused(run: RunDirectory) -> None:
    seal(run)
    with pytest.raises(RunUnreadable, match="the run has no events, so there is nothing to analyse"):
        inspect(run)


def test_a_run_that_is_not_sealed_is_refused(run: RunDirectory) -> None:
    _record(run, "worker-1", 3)
    with pytest.raises(RunUnreadable, match="the run is not sealed, so seal it first"):
        inspect(run)


def test_a_run_whose_sealing_was_cut_off_half_way_is_refused(run: RunDirectory) -> None:
    _record(run, "master", 3)
    stream = _record(run, "worker-1", 3)
    as_recorded = stream.read_bytes()
    seal(run)
    (run.events("sends") / "worker-1.parquet").unlink()
    run.seal_path.unlink()  # it is written when all files are there
    stream.write_bytes(as_recorded)
    with pytest.raises(RunUnreadable, match=r"sends/worker-1\.arrows: not sealed yet, so seal the run first"):
        inspect(run)


def test_a_disk_that_cannot_be_read_does_not_pass_for_a_torn_stream(
    run: RunDirectory, monkeypatch: pytest.MonkeyPatch
) -> None:
    stream = _record(run, "worker-1", 3)

    def fail(_: object) -> None:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(pa.ipc, "read_message", fail)
    with pytest.raises(RunUnwritable, match="Input/output error"):
        seal(run)
    assert stream.exists()


def test_a_stream_of_another_version_is_refused_and_kept(run: RunDirectory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streams, "SCHEMA_VERSION", 99)
    stream = _record(run, "worker-1", 3)
    monkeypatch.undo()
    with pytest.raises(
        RunUnreadable,
        match=rf"worker-1\.arrows: its events are of schema version 99, .* reads version {SCHEMA_VERSION}",
    ):
        seal(run)
    assert stream.exists()


def test_a_sealed_run_of_another_version_is_refused(run: RunDirectory, monkeypatch: pytest.MonkeyPatch) -> None:
    _record(run, "worker-1", 3)
    seal(run)
    monkeypatch.setattr(streams, "SCHEMA_VERSION", 99)
    with pytest.raises(
        RunUnreadable, match=rf"\.parquet: its events are of schema version {SCHEMA_VERSION}, .* reads version 99"
    ):
        inspect(run)


def test_a_stream_with_other_columns_is_refused(run: RunDirectory) -> None:
    stream = _record(run, "worker-1", 3)
    astray = run.streams("receipts") / stream.name
    astray.parent.mkdir()
    stream.rename(astray)
    with pytest.raises(RunUnreadable, match="its columns do not match this table"):
        seal(run)
    assert astray.exists()


def test_a_file_that_is_no_parquet_of_ours_is_left_out(run: RunDirectory) -> None:
    _record(run, "worker-1", 3)
    seal(run)
    pq.write_table(pa.table({"seq": [1]}), run.events("sends") / "mine.parquet")
    assert inspect(run).problems == (
        "events/sends/mine.parquet: not one of the files that the run was sealed with (it is of schema version unknown "
        f"by its metadata, not of {SCHEMA_VERSION}), so it is left out: remove it",
    )
