"""Checks that a change of a finished run's event files makes the run invalid, and that the reason names the file.

The run has two workers and a master. Each test changes a copy of the run's folder once, and analyses it again.
"""

import json
import shutil
from collections.abc import Callable
from dataclasses import asdict, replace
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from analysis.run.topic import missing_rows
from records.errors import RunUnreadable
from records.figures.checks import Check
from records.figures.summary import Summary
from records.run import ProcessInfo, UserInfo
from records.store.reader import seal
from records.store.rundir import RunDirectory
from records.store.seal import read_seal, seal_run_again, sealed_file, write_seal
from records.store.writer import Recorder
from records.tables.schemas import EVENT_TABLES, UNSEALED_VERSION
from tests.analysis.runs import INFO, LOAD_NS, MS, S, due_of, receive, send
from tests.analysis.topics import results_of

RESTORE = "bring the folder back from a copy, or make the run again"
LEFT_OUT = f"so it is left out: {RESTORE}"
MESSAGES = 200


def make_run(
    parent: Path,
    run_id: str,
    *,
    late_ms: int = 5,
    sealed: bool = True,
    begun: int | None = None,
    received: int | None = None,
    stalls: int | None = None,
) -> RunDirectory:
    """A run: two workers send, the master receives, and one fault has no effect.

    ``begun``: the first worker's counts. ``received``: the master's counts. ``stalls``: rows that the first worker
    recorded.
    """
    workers = [ProcessInfo(f"worker-{n}", n, "here", 0, 0, begun=begun if n == 1 else None) for n in (1, 2)]
    if stalls is not None:
        workers[0] = replace(workers[0], rows={"sends": MESSAGES // 2, "stalls": stalls})
    master_info, *others = INFO.processes
    directory = RunDirectory.create(parent, run_id)
    processes = (replace(master_info, received=received), *others, *workers)
    directory.write_run(replace(INFO, run_id=run_id, processes=processes))
    master, *senders = recorders = [Recorder(directory, name) for name in ("master", "worker-1", "worker-2")]
    for seq in range(MESSAGES):
        send(senders[seq % 2], seq, due_of(seq))
        receive(master, seq, due_of(seq) + late_ms * MS)
    for sender, client in zip(senders, (1_000_001, 2_000_001), strict=True):
        sender.stall(client // 1_000_000, "memory", LOAD_NS + S, LOAD_NS + S + 20 * MS)
    master.fault("freeze", "b", LOAD_NS + 9 * S, LOAD_NS + 9 * S + MS, None)
    for recorder in recorders:
        recorder.close()
    if sealed:
        seal(directory)
    return directory


@cache
def made() -> tuple[RunDirectory, RunDirectory, Summary]:
    """Two runs with different latencies, and the summary of the first."""
    folder = TemporaryDirectory()
    FOLDERS.append(folder)
    run, other = make_run(Path(folder.name), "run-a"), make_run(Path(folder.name), "run-b", late_ms=7)
    return run, other, analysed(run)


FOLDERS: list["TemporaryDirectory[str]"] = []
"""They are deleted when this process ends."""


@pytest.fixture
def run(tmp_path: Path) -> RunDirectory:
    return copy_of(made()[0], tmp_path)


@pytest.fixture
def other() -> RunDirectory:
    return made()[1]


def copy_of(run: RunDirectory, parent: Path) -> RunDirectory:
    """A copy with another name, which is legal."""
    return RunDirectory(Path(shutil.copytree(run.path, parent / "copy")))


def analysed(run: RunDirectory, parts: int = 1) -> Summary:
    summary: Summary = results_of(run, parts).summary  # type: ignore[assignment]
    return summary


def reasons(run: RunDirectory, parts: int = 1) -> list[str]:
    """Return the reasons of an invalid run."""
    summary = analysed(run, parts)
    assert summary["verdict"] == "invalid"
    return summary["reasons"]


def test_a_copied_and_renamed_run_passes(run: RunDirectory) -> None:
    assert (analysed(run)["verdict"], analysed(run)["messages"]["received"]) == ("pass", MESSAGES)


def test_a_copied_event_file_counts_nothing_twice(run: RunDirectory) -> None:
    copy = run.events("sends") / "copy.parquet"
    shutil.copy(run.events("sends") / "worker-1.parquet", copy)
    assert analysed(run)["messages"]["sent"] == MESSAGES
    assert reasons(run) == [
        "events/sends/copy.parquet: not one of the files that the run was sealed with "
        "(it is of process worker-1 by its metadata, not of copy), so it is left out: remove it"
    ]


@pytest.mark.parametrize("process", ["extra", "master"])
def test_a_stream_added_after_sealing_is_named(tmp_path: Path, process: str) -> None:
    run = copy_of(made()[0], tmp_path)
    stray = RunDirectory.create(tmp_path / "stray", run.run_id)
    recorder = Recorder(stray, process)
    for seq in range(MESSAGES + 1):
        receive(recorder, seq, due_of(seq) + MS)
    recorder.close()
    stream = stray.streams("receipts") / f"{process}.arrows"
    run.streams("receipts").mkdir(parents=True, exist_ok=True)
    shutil.copy(stream, run.streams("receipts"))
    why = {
        "extra": "not one of the streams that the run was sealed with",
        "master": f"has {MESSAGES + 1} rows, and the run was sealed with {MESSAGES}",
    }[process]
    assert reasons(run) == [f"streams/receipts/{process}.arrows: {why}, so it is left out: remove it"]
    assert analysed(run)["messages"]["received"] == MESSAGES


def test_a_file_of_another_run_is_named(run: RunDirectory, other: RunDirectory) -> None:
    shutil.copy(other.events("sends") / "worker-1.parquet", run.events("sends") / "worker-1.parquet")
    first, *_ = reasons(run)
    assert first == f"events/sends/worker-1.parquet: is of run run-b by its metadata, not of run-a, {LEFT_OUT}"


def test_the_whole_events_folder_of_another_run_is_named(run: RunDirectory, other: RunDirectory) -> None:
    shutil.rmtree(run.events_path)
    shutil.copytree(other.events_path, run.events_path)
    assert reasons(run)[0] == (
        f"events/seal.json: seals the events of run run-b, and run.json is of run run-a: {RESTORE}"
    )


@pytest.mark.parametrize("table", EVENT_TABLES)
def test_a_removed_table_is_named(run: RunDirectory, table: str) -> None:
    gone = sorted(path.name for path in run.events(table).iterdir())
    shutil.rmtree(run.events(table))
    found = reasons(run)
    for name in gone:
        assert any(reason.startswith(f"events/{table}/{name}: missing, and the run was sealed") for reason in found)


def test_swapped_files_of_two_processes_are_named(run: RunDirectory) -> None:
    one, two = (run.events("sends") / f"worker-{n}.parquet" for n in (1, 2))
    one.rename(one.with_name(".one"))
    two.rename(one)
    one.with_name(".one").rename(two)
    assert reasons(run)[:2] == [
        f"events/sends/worker-1.parquet: is of process worker-2 by its metadata, not of worker-1, {LEFT_OUT}",
        f"events/sends/worker-2.parquet: is of process worker-1 by its metadata, not of worker-2, {LEFT_OUT}",
    ]


def test_a_renamed_file_is_named(run: RunDirectory) -> None:
    (run.events("stalls") / "worker-1.parquet").rename(run.events("stalls") / "worker-3.parquet")
    assert reasons(run) == [
        f"events/stalls/worker-1.parquet: missing, and the run was sealed with its 1 rows, {LEFT_OUT}",
        "events/stalls/worker-3.parquet: not one of the files that the run was sealed with "
        "(it is of process worker-1 by its metadata, not of worker-3), so it is left out: remove it",
    ]


def rewrite(path: Path, change: Callable[[pa.Table], pa.Table]) -> None:
    """Change the rows and keep the metadata, like a tool that edits Parquet files."""
    table = pq.read_table(path)
    pq.write_table(change(table).replace_schema_metadata(table.schema.metadata), path)


def test_edited_rows_are_named(run: RunDirectory) -> None:
    path = run.events("receipts") / "master.parquet"
    rewrite(path, lambda rows: rows.slice(1))
    assert reasons(run)[0] == (
        f"events/receipts/master.parquet: has {MESSAGES - 1} rows, and was sealed with {MESSAGES}, {LEFT_OUT}"
    )
    rewrite(path, lambda rows: pa.concat_tables([rows, rows.slice(0, 1)]))
    assert reasons(run)[0] == f"events/receipts/master.parquet: was changed after it was sealed, {LEFT_OUT}"


@pytest.mark.parametrize(("table", "process"), [("sends", "worker-1"), ("stalls", "worker-1"), ("faults", "master")])
@pytest.mark.parametrize("parts", [1, 4])
def test_changed_bytes_of_rows_are_named(run: RunDirectory, table: str, process: str, parts: int) -> None:
    """Covers a table whose parts are read separately, and tables that are read as a whole."""
    path = run.events(table) / f"{process}.parquet"
    content = bytearray(path.read_bytes())
    content[40] ^= 1
    path.write_bytes(content)
    assert reasons(run, parts)[0] == (
        f"events/{table}/{process}.parquet: its rows were changed after they were sealed (row groups: 1 of 1), so "
        f"these are left out: {RESTORE}"
    )


def test_a_damaged_column_name_is_named(run: RunDirectory) -> None:
    """PyArrow raises UnicodeDecodeError for it, even in a file without rows."""
    path = run.events("connections") / "no-events.parquet"
    content = path.read_bytes()
    path.write_bytes(content.replace(b"client", b"\xe7lient"))
    assert reasons(run)[0].startswith("events/connections/no-events.parquet: is not readable as Parquet ('utf-8' codec")


def test_a_removed_seal_is_named(run: RunDirectory) -> None:
    run.seal_path.unlink()
    assert reasons(run) == [f"events/seal.json: missing, so nothing shows that the events are complete: {RESTORE}"]


def test_an_edited_seal_is_named(run: RunDirectory) -> None:
    document = json.loads(run.seal_path.read_text())
    del document["files"]["stalls/worker-1.parquet"]
    run.seal_path.write_text(json.dumps(document))
    assert reasons(run) == [f"events/seal.json: was edited, as the digest in it does not match: {RESTORE}"]


@pytest.mark.parametrize("key", ["checks", "users", "phases", "problems", "state", "processes", "sha256"])
@pytest.mark.parametrize("sealed", [True, False])
def test_an_edited_run_json_is_named(tmp_path: Path, key: str, sealed: bool) -> None:
    """This also applies before the first analysis, for example after `--analyse-later`."""
    run = make_run(tmp_path, "run-a", sealed=sealed)
    edit_run(run, key)
    assert f"run.json: was edited, as the digest in it does not match: {RESTORE}" in reasons(run)


ADDED = {
    "checks": Check("nothing is lost", "messages.lost", at_most=0),
    "users": UserInfo("Another", "consumer", "consumers", "queue://orders", 1),
    "processes": ProcessInfo("another", 9, "here", 0, 0),
}


def edit_run(run: RunDirectory, key: str) -> None:
    document = json.loads(run.run_path.read_text())
    if key in ("state", "sha256"):
        document[key] = "running" if key == "state" else "0" * 64
    elif key == "phases":
        document[key]["load_ended_ns"] -= S
    elif key == "problems":
        document[key].append("a new problem")
    else:
        document[key].append(asdict(ADDED[key]))
    run.run_path.write_text(json.dumps(document))


def test_a_later_run_json_is_named_by_the_seal(run: RunDirectory) -> None:
    run.write_run(replace(run.read_run(), warnings=("written after the run",)))
    assert reasons(run) == [f"run.json: was changed after the events were sealed: {RESTORE}"]
    seal_run_again(run)
    assert analysed(run)["verdict"] == "pass"


def test_a_run_json_in_another_format_passes(run: RunDirectory) -> None:
    run.run_path.write_text(json.dumps(json.loads(run.run_path.read_text()), sort_keys=True))
    assert analysed(run)["verdict"] == "pass"


def test_a_file_without_row_group_digests_is_named(run: RunDirectory) -> None:
    """A run could be sealed again. Without row digests, changed rows would then be undetected."""
    path = run.events("receipts") / "master.parquet"
    rewrite(path, lambda rows: rows)
    listed = read_seal(run)
    assert listed is not None
    write_seal(run, replace(listed, files={**listed.files, "receipts/master.parquet": sealed_file(path)}))
    assert reasons(run)[0] == f"events/receipts/master.parquet: has no digest of each row group, {LEFT_OUT}"


def test_a_seal_without_a_table_is_named(run: RunDirectory) -> None:
    listed = read_seal(run)
    assert listed is not None
    files = {name: file for name, file in listed.files.items() if not name.startswith("stalls/")}
    write_seal(run, replace(listed, files=files))
    shutil.rmtree(run.events("stalls"))
    assert reasons(run) == [f"events/stalls: without a file, and every run is sealed with one: {RESTORE}"]


def test_more_rows_than_a_process_counted_are_named(tmp_path: Path) -> None:
    run = make_run(tmp_path, "run-a", begun=MESSAGES // 2 - 1, received=MESSAGES - 1)
    assert reasons(run) == [
        f"events/receipts: rows were added: master counted {MESSAGES - 1} deliveries, and {MESSAGES} are on record; "
        "bring its file back from a copy, or run again",
        f"events/sends: rows were added: worker-1 counted {MESSAGES // 2 - 1} sends, and {MESSAGES // 2} are on "
        "record; bring its file back from a copy, or run again",
    ]


def test_a_stream_removed_before_sealing_is_named(tmp_path: Path) -> None:
    run = make_run(tmp_path, "run-a", stalls=1, sealed=False)
    (run.streams("stalls") / "worker-1.arrows").unlink()
    assert reasons(run) == [
        "events/stalls: rows are missing: worker-1 recorded 1 rows, and 0 were sealed; bring the folder back from a "
        "copy, or run again"
    ]


@pytest.mark.parametrize(("stalls", "reason"), [(2, "rows are missing"), (0, "rows were added"), (1, "")])
def test_other_rows_than_were_recorded_are_named(tmp_path: Path, stalls: int, reason: str) -> None:
    run = make_run(tmp_path, "run-a", stalls=stalls)
    found = missing_rows(run, run.read_run().processes)
    assert [sentence.split(": ")[:2] for sentence in found] == ([["events/stalls", reason]] if reason else [])


def test_sends_on_record_twice_are_named(tmp_path: Path) -> None:
    """Two processes recorded the same attempts, so the seal matches."""
    run = RunDirectory.create(tmp_path, "run-a")
    run.write_run(replace(INFO, run_id="run-a"))
    for process in ("master", "worker-1"):
        recorder = Recorder(run, process)
        for seq in range(50 if process == "worker-1" else 100):
            send(recorder, seq, due_of(seq))
            receive(recorder, seq, due_of(seq) + 5 * MS)
        recorder.close()
    for parts in (1, 4):
        assert reasons(run, parts) == [
            f"events/sends/{process}.parquet: 50 rows have the (producer, seq, attempt) of another row, which "
            f"identifies one attempt to send: {RESTORE}"
            for process in ("master", "worker-1")
        ]


def test_attempts_and_leftovers_without_sends_are_named(tmp_path: Path) -> None:
    """Neither is a duplicate or a copy, and the run does not pass."""
    run = RunDirectory.create(tmp_path, "run-a")
    run.write_run(replace(INFO, run_id="run-a"))
    recorder = Recorder(run, "master")
    for seq in range(100):
        send(recorder, seq, due_of(seq))
        receive(recorder, seq, due_of(seq) + 5 * MS)
    for seq in range(3):
        receive(recorder, seq, due_of(seq) + 6 * MS, attempt=2)
    recorder.leftover("b", "orders", False, 1, 5_000, 1, None)
    recorder.close()
    summary = analysed(run)
    assert summary["reasons"] == [
        "3 of this run's deliveries have no recorded send, though other attempts of their messages do: rows of "
        "events/sends are missing",
        "1 of this run's messages left on queues have no recorded send: rows of events/sends are missing",
    ]
    messages = summary["messages"]
    assert (summary["verdict"], messages["unknown_attempts"], messages["duplicated"]) == ("invalid", 3, 0)
    assert (summary["leftovers"], summary["unsent_leftovers"]) == (1, 1)
    assert [row["outcome"] for row in summary["left_behind"]] == ["unsent"]
    odd = results_of(run).tables["anomalies"].to_pylist()
    assert {(row["anomaly"], row["seq"]) for row in odd} == {
        *(("unknown_attempts", seq) for seq in range(3)),
        ("unsent_leftovers", 5_000),
    }


def test_a_stream_of_another_run_is_rejected(tmp_path: Path) -> None:
    run, other = RunDirectory.create(tmp_path, "run-a"), RunDirectory.create(tmp_path, "run-b")
    for directory in (run, other):
        directory.write_run(replace(INFO, run_id=directory.path.name))
        recorder = Recorder(directory, f"of-{directory.path.name}")
        send(recorder, 1, due_of(1))
        recorder.close()
    strange = run.streams("sends") / "of-run-b.arrows"
    shutil.copy(other.streams("sends") / strange.name, strange)
    with pytest.raises(RunUnreadable) as rejected:
        seal(run)
    problem = "it was recorded by run 'run-b', and here belongs run 'run-a': remove it from the run's folder"
    assert str(rejected.value) == f"{strange}: {problem}"


def test_a_run_of_the_version_before_is_unknown(tmp_path: Path) -> None:
    """Its files neither name their run nor have a seal, so a copied file looks like an original."""
    run = RunDirectory.create(tmp_path, "run-a")
    run.write_run(replace(INFO, run_id="run-a", schema_version=UNSEALED_VERSION))
    for table, recorded in as_before(tmp_path).items():
        run.events(table).mkdir(parents=True)
        pq.write_table(recorded, run.events(table) / "master.parquet")
    for _ in range(2):
        summary = analysed(run)
        assert (summary["verdict"], summary["messages"]["received"]) == ("unknown", 100)
        assert summary["reasons"] == [
            "its events are of schema version 4, which has no seal: nothing shows that they are complete and all of "
            "this run"
        ]
    assert not run.seal_path.exists()


def as_before(parent: Path) -> dict[str, pa.Table]:
    """Convert the event tables to version 4."""
    run = RunDirectory.create(parent, "before")
    recorder = Recorder(run, "master")
    for seq in range(100):
        send(recorder, seq, due_of(seq))
        receive(recorder, seq, due_of(seq) + 5 * MS)
    recorder.close()
    seal(run)
    tables = {table: pa.concat_tables(map(pq.read_table, run.events(table).iterdir())) for table in EVENT_TABLES}
    return {
        table: rows.replace_schema_metadata(
            {"brokerbench.schema_version": "4", "brokerbench.table": table, "brokerbench.process": "master"}
        )
        for table, rows in tables.items()
    }


def all_files(run: RunDirectory) -> list[str]:
    return sorted(path.relative_to(run.path).as_posix() for path in run.events_path.rglob("*") if path.is_file())


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data())
def test_any_single_change_is_invalid_or_harmless(data: st.DataObject) -> None:
    """If harmless, the summary is identical. Otherwise, a reason names the file or the seal."""
    run_a, other, before = made()
    with TemporaryDirectory() as folder:
        run = copy_of(run_a, Path(folder))
        name = data.draw(st.sampled_from(all_files(run)), "file")
        change = data.draw(st.sampled_from([drop, copy, swap_runs, swap_files, truncate, repeat_rows, flip]), "change")
        change(run, other, run.path / name, data)
        after = analysed(run)
        assert after["verdict"] == "invalid" or after == before
        if after["verdict"] == "invalid":
            assert any(file in reason for file in (Path(name).name, "seal.json") for reason in after["reasons"])


def drop(run: RunDirectory, other: RunDirectory, file: Path, data: st.DataObject) -> None:
    file.unlink()


def copy(run: RunDirectory, other: RunDirectory, file: Path, data: st.DataObject) -> None:
    """It may also be moved to another table's folder."""
    table = data.draw(st.sampled_from(sorted(EVENT_TABLES)), "to table")
    shutil.copy(file, run.events(table) / f"copy-of-{file.name}")


def swap_runs(run: RunDirectory, other: RunDirectory, file: Path, data: st.DataObject) -> None:
    shutil.copy(other.path / file.relative_to(run.path), file)


def swap_files(run: RunDirectory, other: RunDirectory, file: Path, data: st.DataObject) -> None:
    second = run.path / data.draw(st.sampled_from(all_files(run)), "second file")
    first_bytes, second_bytes = file.read_bytes(), second.read_bytes()
    file.write_bytes(second_bytes)
    second.write_bytes(first_bytes)


def truncate(run: RunDirectory, other: RunDirectory, file: Path, data: st.DataObject) -> None:
    content = file.read_bytes()
    file.write_bytes(content[: data.draw(st.integers(0, len(content)), "bytes kept")])


def repeat_rows(run: RunDirectory, other: RunDirectory, file: Path, data: st.DataObject) -> None:
    if file.suffix == ".parquet":
        rewrite(file, lambda rows: pa.concat_tables([rows, rows]))


def flip(run: RunDirectory, other: RunDirectory, file: Path, data: st.DataObject) -> None:
    """Flip one bit of one byte."""
    content = bytearray(file.read_bytes())
    content[data.draw(st.integers(0, len(content) - 1), "byte")] ^= 1 << data.draw(st.integers(0, 7), "bit")
    file.write_bytes(content)
