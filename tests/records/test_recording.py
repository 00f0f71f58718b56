"""Checks that a sealed run has exactly the recorded rows."""

import sys
import tempfile
import threading
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from records.errors import RunUnwritable
from records.store.packing import PackedRows, Strings
from records.store.reader import read_events, seal
from records.store.streams import Stream
from records.store.writer import Recorder
from records.tables.schemas import EVENT_TABLES, SCHEMA_VERSION
from tests.records.rows import Row, any_event, new_run, record, send
from tests.support.event_rows import receipt_row, send_row
from tests.support.waiting import until

FLUSH = ("flush", ())


@settings(deadline=None, max_examples=30)
@given(st.lists(any_event | st.just(FLUSH), max_size=30))
def test_any_rows_come_back_as_they_were_recorded(events: list[tuple[str, Row]]) -> None:
    expected: dict[str, list[Row]] = defaultdict(list)
    with tempfile.TemporaryDirectory() as parent:
        run = new_run(Path(parent))
        recorder = Recorder(run, "worker-1")
        for table, row in events:
            if table == "flush":
                recorder.flush()
            else:
                record(recorder, table, row)
                expected[table].append(row)
        recorder.close()
        sealing = seal(run)
        assert recorder.problem is None
        assert sealing.problems == ()
        assert sealing.rows == recorder.counts == {table: len(expected[table]) for table in EVENT_TABLES}
        for table, schema in EVENT_TABLES.items():
            rows = read_events(run, table)
            assert rows.schema == schema
            assert [tuple(row.values()) for row in rows.to_pylist()] == expected[table]


@pytest.fixture
def threads_that_switch_often() -> Iterator[None]:
    usual_s = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(usual_s)


@pytest.mark.usefixtures("threads_that_switch_often")
def test_threads_that_record_together_lose_no_row(tmp_path: Path) -> None:
    run = new_run(tmp_path)
    recorder = Recorder(run, "worker-1", flush_every_s=0.001)
    recorder.start()

    def record_many(producer: int) -> None:
        for seq in range(5_000):
            recorder.send(send_row(seq, 0, producer=producer, destination=f"queue://{seq % 50}"))
            recorder.sample("b", seq, "queue", str(producer), "depth", seq)

    threads = [threading.Thread(target=record_many, args=(producer,)) for producer in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    recorder.close()
    seal(run)
    sends = read_events(run, "sends").to_pylist()
    assert sorted((row["producer"], row["seq"]) for row in sends) == [(p, s) for p in range(4) for s in range(5_000)]
    assert all(row["destination"] == f"queue://{row['seq'] % 50}" for row in sends)
    assert read_events(run, "samples").num_rows == 20_000


def test_a_row_that_comes_while_rows_are_taken_stays_for_the_next_time(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = PackedRows(pa.schema([pa.field("seq", pa.int64(), nullable=False)]), Strings())
    rows.add((1,))
    convert = np.frombuffer

    def convert_late(*arguments: Any) -> Any:
        rows.add((2,))
        return convert(*arguments)

    monkeypatch.setattr(np, "frombuffer", convert_late)
    assert rows.take()[0].to_pydict() == {"seq": [1]}
    monkeypatch.undo()
    assert rows.take()[0].to_pydict() == {"seq": [2]}


def test_the_background_flush_writes_without_being_asked(tmp_path: Path) -> None:
    run = new_run(tmp_path)
    recorder = Recorder(run, "worker-1", flush_every_s=0.01)
    recorder.start()
    send(recorder, 0)
    until(lambda: recorder.counts["sends"])
    assert sum(batch.num_rows for batch in Stream(run.streams("sends") / "worker-1.arrows", EVENT_TABLES["sends"])) == 1
    recorder.close()


def test_a_stream_is_an_arrow_stream_for_any_reader(tmp_path: Path) -> None:
    run = new_run(tmp_path)
    recorder = Recorder(run, "worker-1")
    for seq in range(3):
        send(recorder, seq)
        recorder.flush()
    recorder.close()
    with pa.ipc.open_stream(run.streams("sends") / "worker-1.arrows") as stream:
        table = stream.read_all()
    assert table.column("seq").to_pylist() == [0, 1, 2]
    assert table.schema.metadata[b"brokerbench.process"] == b"worker-1"
    assert table.schema.metadata[b"brokerbench.schema_version"] == str(SCHEMA_VERSION).encode()
    assert table.schema.metadata[b"brokerbench.run"] == b"run"


def test_a_table_without_rows_has_no_stream(tmp_path: Path) -> None:
    run = new_run(tmp_path)
    recorder = Recorder(run, "worker-1")
    send(recorder, 0)
    recorder.close()
    assert [path.name for path in (run.path / "streams").iterdir()] == ["sends"]


@pytest.mark.parametrize(
    ("table", "row"),
    [
        ("sends", send_row(0, 0, producer=2**31)),
        ("sends", send_row(0, 0, destination=None)),
        ("sends", send_row(0, 0, destination=["q"])),
        ("sends", send_row(0, 0, due_ns=0.5)),
        ("receipts", receipt_row(0, 0, broker="\ud800")),
        ("samples", ("b", 0, "queue", "q", "depth", 1.5)),
        ("samples", ("b", 0, "queue", "q", "depth", None)),
        ("samples", ("b", 0, "queue", "\ud800", "depth", 1)),
        ("faults", ("kill", "b", 2**63, None, None)),
    ],
)
def test_a_row_that_is_none_costs_itself_only_and_is_told(tmp_path: Path, table: str, row: Row) -> None:
    run = new_run(tmp_path)
    recorder = Recorder(run, "worker-1")
    good: dict[str, Row] = {
        "sends": send_row(1, 0),
        "receipts": receipt_row(1, 0),
        "samples": ("b", 0, "queue", "q", "depth", 1),
        "faults": ("kill", "b", 0, None, None),
    }
    record(recorder, table, good[table])
    record(recorder, table, row)
    record(recorder, table, good[table])
    recorder.close()
    assert recorder.counts[table] == 2
    assert recorder.dropped[table] == 1
    assert recorder.problem is not None
    assert recorder.problem.startswith(f"worker-1 was given an invalid row of {table}: ")
    assert recorder.problem.endswith("(1 rows dropped, the rows before them are kept)")
    sealing = seal(run)
    assert sealing.rows[table] == 2
    assert len(sealing.problems) == 1


def test_a_row_that_comes_after_the_close_is_told(tmp_path: Path) -> None:
    recorder = Recorder(new_run(tmp_path), "worker-1")
    send(recorder, 0)
    recorder.close()
    assert recorder.problem is None
    send(recorder, 1)
    recorder.close()
    assert recorder.problem is not None
    assert recorder.problem.startswith("rows reached the recorder of worker-1 after it was closed (1 rows dropped")
    assert recorder.counts["sends"] == 1


def test_two_processes_of_one_name_do_not_mix_their_rows(tmp_path: Path) -> None:
    run = new_run(tmp_path)
    earlier, later = Recorder(run, "worker-1"), Recorder(run, "worker-1")
    for recorder in (earlier, later):
        send(recorder, 0)
        recorder.flush()
    assert earlier.problem is None
    assert later.problem is not None
    assert "File exists; choose another name" in later.problem
    earlier.close()
    assert seal(run).rows["sends"] == 1


@pytest.mark.parametrize("name", ["", "../worker", "a/b", ".hidden", "worker 1"])
def test_a_process_name_that_cannot_name_a_file_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(ValueError, match="process name"):
        Recorder(new_run(tmp_path), name)


def test_a_sealed_process_cannot_record_again_over_its_rows(tmp_path: Path) -> None:
    run = new_run(tmp_path)
    recorder = Recorder(run, "worker-1")
    send(recorder, 0)
    recorder.close()
    seal(run)
    with pytest.raises(RunUnwritable, match="already sealed: record to a new run"):
        Recorder(run, "worker-1")
