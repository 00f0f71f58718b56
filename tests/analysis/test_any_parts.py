"""Checks that no result depends on the number of parts of a run, with events that contain every kind of error."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from analysis.events.run import TopicResults
from analysis.faults.topic import FaultsTopic
from analysis.jobs import TOPICS
from analysis.latency.topic import LatencyTopic
from analysis.messages import order
from analysis.messages.part import Part, RunFacts
from analysis.messages.topic import MessagesTopic
from records.store import parts
from records.store.rundir import RunDirectory
from records.store.writer import Recorder
from records.tables.connection_events import ConnectionEvent
from records.tables.results import RESULT_TABLES
from records.tables.row_order import order as in_order
from records.tables.schemas import ReceiptRow, SendRow
from tests.analysis.rows import Row, connection
from tests.analysis.runs import LOAD_NS, MS, S, healthy, make
from tests.analysis.test_accounting import random_events
from tests.analysis.topics import results_of
from tests.support.event_rows import send_row

SEQS, PRODUCERS = 4, 1
"""A small block size, so that a few hundred messages are in many parts."""


@pytest.fixture(autouse=True)
def _small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parts, "SEQS_PER_BLOCK", SEQS)
    monkeypatch.setattr(order, "SEQS_PER_BLOCK", SEQS)
    monkeypatch.setattr(parts, "PRODUCERS_PER_BLOCK", PRODUCERS)


def everything_goes_wrong(seed: int, recorder: Recorder) -> None:
    """Record `random_events` in the load, with two faults, lost connections, a stall and a silence."""
    sends, receipts, subscriptions, leftovers = random_events(seed)
    began_ns = LOAD_NS + 300 * MS
    for row in sends:
        recorder.send(SendRow(**_moved(row)))
    for row in receipts:
        recorder.receipt(ReceiptRow(**_moved(row)))
    for row in subscriptions:
        recorder.subscription(*_moved(row).values())
    for row in leftovers:
        recorder.leftover(*row.values())
    recorder.fault("kill", "a", began_ns, began_ns + 200 * MS, None, began_ns, began_ns + MS, began_ns + 250 * MS)
    recorder.fault("freeze", "b", began_ns + 400 * MS, began_ns + 450 * MS, None)
    recorder.stall(0, "memory", began_ns + 100 * MS, began_ns + 160 * MS)
    changes = [
        *(connection("connected", at=-50, client=client, broker="a") for client in (0, 1, 7)),
        *(connection("lost", at=310 + client, client=client, broker="a") for client in (0, 1, 7)),
        *(connection("connected", at=400, client=client, broker="b") for client in (0, 7)),
        *(connection("ready", at=401, client=client, broker="b") for client in (0, 7)),
    ]
    for row in changes:
        at_ns = row["at_ns"] + LOAD_NS
        event = ConnectionEvent(row["broker"], row["event"], at_ns, "")
        recorder.connection(row["client"], row["group"], "memory", event)


def _moved(row: Row) -> dict[str, Any]:
    """Move a row into the load."""
    times = ("due_ns", "ready_ns", "sent_ns", "settled_ns", "received_ns", "began_ns")
    return {
        name: value + LOAD_NS if name in times and value is not None and value >= 0 else value
        for name, value in row.items()
    }


def tables(results: TopicResults) -> dict[str, pa.Table]:
    """The result tables as they are written."""
    whole = {name: results.tables[name].select(schema.names).cast(schema) for name, schema in RESULT_TABLES.items()}
    return {name: table.take(in_order(table)) for name, table in whole.items()}


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_no_result_depends_on_the_number_of_parts(tmp_path: Path, seed: int) -> None:
    directory = make(tmp_path, lambda recorder: everything_goes_wrong(seed, recorder))
    undivided = results_of(directory)
    counts = undivided.summary["messages"]
    happened = ("lost", "stranded", "duplicated", "recovered", "reordered", "corrupted", "unexpected", "foreign")
    assert all(counts[name] for name in happened)
    assert undivided.tables["outages"].num_rows
    assert sum(fault["reordered"] for fault in undivided.summary["recovery"]["faults"])
    for number in (2, 8, 32):
        divided = results_of(directory, number)
        assert divided.summary == undivided.summary, number
        for name, table in tables(undivided).items():
            assert tables(divided)[name].equals(table), (number, name)


def test_a_silence_is_found_and_timed_whatever_part_its_messages_are_in(tmp_path: Path) -> None:
    def stopped(recorder: Recorder) -> None:
        """Broker a gives no answers from 4 to 7 s."""
        for number in range(1_000):
            due_ns = LOAD_NS + number * 10 * MS
            settled_ns = due_ns + 2 * MS if not 4 * S <= due_ns - LOAD_NS < 7 * S else LOAD_NS + 7 * S
            recorder.send(send_row(number // 3, due_ns, producer=number % 3, settled_ns=settled_ns))

    directory = make(tmp_path, stopped)
    undivided, divided = results_of(directory).summary["unplanned"], results_of(directory, 16).summary["unplanned"]
    assert undivided == divided
    assert [(row["broker"], row["from_s"], row["until_s"], row["clients"]) for row in undivided] == [
        ("a", 3.992, 7.0, 3)
    ]


@pytest.mark.parametrize("topic", [MessagesTopic(), LatencyTopic()], ids=["messages", "latency"])
def test_a_topic_that_takes_nothing_of_others_runs_alone(tmp_path: Path, topic: Any) -> None:
    directory = make(tmp_path, healthy)
    alone, whole = results_of(directory, 2, [topic]), results_of(directory, 2)
    assert set(alone.summary) < set(whole.summary)
    assert alone.summary == {name: whole.summary[name] for name in alone.summary}
    assert set(alone.tables) < set(whole.tables)


def test_each_result_table_and_each_part_of_the_summary_is_of_one_topic(tmp_path: Path) -> None:
    directory = make(tmp_path, healthy)
    tables_so_far: set[str] = set()
    summary_so_far: set[str] = set()
    for number in range(1, len(TOPICS) + 1):
        results = results_of(directory, 1, TOPICS[:number])
        its = TOPICS[number - 1]
        assert (set(results.tables) - tables_so_far) or (set(results.summary) - summary_so_far), its
        tables_so_far, summary_so_far = set(results.tables), set(results.summary)
    assert tables_so_far == set(RESULT_TABLES)
    assert FaultsTopic in map(type, TOPICS)


def test_a_run_of_many_parts_has_no_part_with_all_messages(tmp_path: Path) -> None:
    """Otherwise the tests above would not divide anything."""
    directory = make(tmp_path, lambda recorder: everything_goes_wrong(1, recorder))
    heights: list[int] = []

    def count(facts: RunFacts) -> None:
        heights.extend(Part(facts, number).messages.height for number in range(facts.parts))

    results_of(directory, 8, [_Counting(count)])
    assert sum(heights) == 150
    assert 0 < max(heights) < 60


class _Counting:
    step = "counted"

    def __init__(self, count: Any) -> None:
        self.count = count

    def tables(self, run: Any) -> dict[str, Any]:
        self.count(RunFacts.from_run(run))
        return {}

    def conclude(self, run: Any, merged: Any, results: TopicResults) -> None: ...


def test_a_run_folder_is_read_whatever_it_is_called(tmp_path: Path) -> None:
    """Spark and other tools treat a path as a pattern, which may match other folders too."""
    for name, another in (("a[1]", "a1"), ("b{1,2}", "b1"), ("c*?", "cc1"), ("d\\[1] %41ü", "d1")):
        make(tmp_path / another, lambda recorder: healthy(recorder))
        directory: RunDirectory = make(tmp_path / name, lambda recorder: recorder.close())
        recorder = Recorder(directory, "other")
        healthy(recorder)
        recorder.close()
        (directory.events("sends")).mkdir(parents=True, exist_ok=True)
        (directory.events("sends") / "notes.txt").write_text("a file of somebody else")
        assert results_of(directory, 2).summary["messages"]["received"] == 1_000
