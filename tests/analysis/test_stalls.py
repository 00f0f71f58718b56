"""Checks which reads count as late: planted stalls and reads against plain Python, and figures of whole runs."""

import random
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest
from pyspark.sql import SparkSession

from analysis.events.stalls import Stalls, stall_rows, with_own_waits, with_read_late_ns
from analysis.events.stalls import stalls as of_rows
from analysis.latency.histogram import durations
from analysis.messages.deliveries import deliveries, messages
from records.run import ProcessInfo, RunInfo
from records.store.reader import read_events, seal
from records.store.rundir import RunDirectory
from records.store.writer import Recorder
from records.tables.schemas import CLIENTS_PER_PROCESS
from tests.analysis import runs
from tests.analysis.rows import MS, Row, frame, receipt, send, stall, table
from tests.analysis.runs import INFO, Plant, due_of, make, quietly

STALL_NS, UNTIL_NS = due_of(500), due_of(500) + 150 * MS
P99 = "latency_ms.{}.p99"


def planted(parent: Path, rows: list[Row], info: RunInfo = INFO) -> RunDirectory:
    """Create a sealed run with these stalls."""

    def record(recorder: Recorder) -> None:
        for row in rows:
            recorder.stall(**row)

    directory = make(parent, record, info)
    seal(directory)
    return directory


def stalls(directory: RunDirectory, info: RunInfo) -> Stalls:
    return of_rows(stall_rows(read_events(directory, "stalls"), info), info)


def late_by_plain_python(read_ns: int, sent_ns: int, client: int, rows: list[Row]) -> int:
    """The rule as documented, stall by stall."""
    late = [0]
    for row in rows:
        began_ns, ended_ns = row["began_ns"], row["ended_ns"]
        of_it = row["process"] == client // CLIENTS_PER_PROCESS and sent_ns < ended_ns
        if of_it and began_ns <= read_ns <= 2 * ended_ns - began_ns:
            late.append(read_ns - max(began_ns, sent_ns))
    return max(late)


def test_late_reads_are_those_of_plain_python(tmp_path: Path) -> None:
    """Stalls of two processes that overlap, follow each other closely, or last for many slots."""
    rng = random.Random(17)
    rows = [
        stall(began=began, ended=began + rng.choice([11, 40, 150, 1_300]), process=rng.choice([0, 1]))
        for began in (rng.uniform(0, 20_000) for _ in range(25))
    ]
    edges = [edge for row in rows for edge in (row["began_ns"], row["ended_ns"], 2 * row["ended_ns"] - row["began_ns"])]
    reads = [
        (rng.choice([7, CLIENTS_PER_PROCESS + 7]), read_ns, read_ns - int(rng.expovariate(1 / 80) * MS))
        for read_ns in (
            *(int(rng.uniform(0, 20_000) * MS) for _ in range(2_000)),
            *edges,
            *(edge + 1 for edge in edges),
        )
    ]
    expected = [(*read, late_by_plain_python(read[1], read[2], read[0], rows)) for read in reads]
    events = table(expected, "consumer int, read_ns bigint, sent_ns bigint, expected bigint")
    of_consumers = stalls(planted(tmp_path, rows), INFO).of_consumers
    reads_found = with_read_late_ns(events, of_consumers, "consumer", "read_ns", pl.col("sent_ns"))
    assert (reads_found["expected"] > 0).sum() > 100
    assert reads_found["read_late_ns"].to_list() == reads_found["expected"].to_list()
    assert reads_found.height == len(reads)


@pytest.mark.parametrize(
    ("protocol", "of_producers", "of_consumers"),
    [("memory", 1, 1), ("memory:openwire", 1, 0), ("openwire:memory", 0, 1), ("openwire", 0, 0)],
)
def test_only_clients_whose_protocol_stood_still_read_late(
    tmp_path: Path, protocol: str, of_producers: int, of_consumers: int
) -> None:
    planted_stalls = stalls(planted(tmp_path, [stall(began=10, ended=30)]), replace(INFO, protocol=protocol))
    counts = [
        0 if slots is None else slots["began_ns"].n_unique()
        for slots in (planted_stalls.of_producers, planted_stalls.of_consumers)
    ]
    assert counts == [of_producers, of_consumers]


def test_stalls_of_another_host_are_moved_to_the_masters_clock(tmp_path: Path) -> None:
    info = replace(INFO, processes=(*INFO.processes, ProcessInfo("worker", 1, "w", 0, 0, offset_ns=50 * MS)))
    directory = planted(tmp_path, [stall(began=60, ended=80, process=1)], info)
    slots = stalls(directory, info).of_consumers
    assert slots is not None
    assert slots.select("process", "began_ns", "ended_ns").unique().rows() == [(1, 10 * MS, 30 * MS)]


def test_a_late_read_is_own_time_up_to_the_duration(tmp_path: Path) -> None:
    """Messages sent before, in and after the stall. Both answers arrived, the second after the backlog was read."""
    at_rest = stalls(planted(tmp_path, [stall(began=2_000, ended=2_150)]), INFO)
    sends = [
        send(1, due=1_990, sent=1_995, settled=2_151),
        send(2, due=2_010, sent=2_100, settled=2_301),
        send(3, due=2_160, sent=2_160),
    ]
    arrived = [receipt(1, at=2_152), receipt(2, at=2_153), receipt(3, at=2_165)]
    sent = frame("sends", sends)
    of_messages = messages(sent)
    rows_by_measure = durations(sent, of_messages, deliveries(frame("receipts", arrived), of_messages, sent), at_rest)
    own_ms = {
        (measure, row["from_ns"] / MS): row["own_ns"] / MS
        for measure, rows in rows_by_measure
        for row in rows.to_dicts()
    }
    assert {key: own for key, own in own_ms.items() if own} == {
        ("due_to_received", 1_990): 5 + 152,
        ("sent_to_received", 1_995): 152,
        ("sent_to_settled", 1_995): 151,
        ("due_to_received", 2_010): 143,
        ("sent_to_received", 2_100): 53,
    }


def test_a_wait_that_ended_with_an_answer_that_was_read_late_is_own_lag(tmp_path: Path) -> None:
    """The process stalled from 2,000 to 2,150. It read the answers that ended these waits in that time, and later."""
    at_rest = stalls(planted(tmp_path, [stall(began=2_000, ended=2_150)]), INFO)
    sends = [
        send(1, due=1_900, ready=1_990, sent=1_991),
        send(2, due=1_990, ready=2_151, sent=2_152),
        send(3, due=2_100, ready=2_151, sent=2_153),
        send(4, due=2_120, ready=2_120, sent=2_154),
        send(5, due=2_140, ready=2_301, sent=2_302),
        send(6, due=2_160, ready=2_170, sent=2_171),
    ]
    rows = messages(with_own_waits(frame("sends", sends), at_rest)).to_dicts()
    assert {row["seq"]: row["own_ns"] / MS for row in rows} == {1: 1, 2: 152, 3: 53, 4: 34, 5: 1, 6: 1}


def read_late(recorder: Recorder) -> None:
    """Each message takes 5 ms, but the readers stalled for 150 ms: 15 of 1,000 were read at the end of the stall."""
    for seq in range(1_000):
        runs.send(recorder, seq, due_of(seq))
        arrived_ns = due_of(seq) + 5 * MS
        runs.receive(recorder, seq, UNTIL_NS + seq * 1_000 if STALL_NS <= arrived_ns < UNTIL_NS else arrived_ns)


def stalled(recorder: Recorder) -> None:
    read_late(recorder)
    recorder.stall(0, "memory", STALL_NS, UNTIL_NS)


@pytest.fixture
def analysed(tmp_path: Path, spark: SparkSession) -> Callable[[Plant], dict]:  # type: ignore[type-arg]
    del spark  # started before the analysis needs it
    return lambda plant: dict(quietly(make(tmp_path, plant).path))


def test_a_consumer_stall_of_150_ms_makes_affected_figures_doubtful(
    analysed: Callable[..., dict],  # type: ignore[type-arg]
) -> None:
    summary = analysed(stalled)
    measures = ("due_to_received", "sent_to_received")
    assert (summary["verdict"], summary["reasons"]) == ("pass", [])
    assert set(summary["timing"]["doubtful"]) == {
        f"latency_ms.{measure}.{figure}" for measure in measures for figure in ("p99", "max")
    }
    for measure in measures:
        assert summary["latency_ms"][measure]["p99"] > 50
        assert "the load generator itself was late" in summary["timing"]["doubtful"][P99.format(measure)]
    less_own = summary["timing"]["less_own_time_ms"]
    assert [less_own[name] for name in ("min", "p50", "p99", "max")] == pytest.approx([5.0] * 4, rel=0.008)


def test_the_same_reads_without_a_stall_are_the_brokers(analysed: Callable[..., dict]) -> None:  # type: ignore[type-arg]
    summary = analysed(read_late)
    assert summary["latency_ms"]["sent_to_received"]["p99"] > 50
    assert summary["timing"]["doubtful"] == {}


@pytest.mark.nightly  # a folder of an older version
def test_a_run_of_before_there_were_stalls_is_analysed(tmp_path: Path) -> None:
    directory = make(tmp_path, read_late)
    for folder in (directory.streams("stalls"), directory.events("stalls")):
        for path in folder.glob("*"):
            path.unlink()
        if folder.exists():
            folder.rmdir()
    assert quietly(directory.path)["timing"]["doubtful"] == {}
