"""Does a whole run folder with a planted truth come out as what was planted, and bad input as one clear error?"""

import json
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from analysis.jobs import analyse, main
from records.checks import Check
from records.errors import RunUnreadable
from records.results import RESULT_TABLES
from records.run import Phases, ProcessInfo, RunInfo
from records.rundir import RunDirectory
from records.schemas import UNKNOWN
from records.summary import EXIT_STATUS, Summary
from records.writer import Recorder

pytestmark = pytest.mark.spark

MS, S = 1_000_000, 1_000_000_000
LOAD_NS = 100 * S
QUEUE = "queue://orders"
INFO = RunInfo(
    run_id="planted",
    scenario="steady",
    topology="mesh",
    runtime="memory",
    protocol="memory",
    state="ended",
    phases=Phases(LOAD_NS - S, LOAD_NS, LOAD_NS + 10 * S, LOAD_NS + 11 * S, LOAD_NS + 12 * S),
    processes=(ProcessInfo("master", 0, "here", monotonic_ns=LOAD_NS, wall_ns=1_767_225_600 * S),),
    durations_s={"up": 4.5},
)
Plant = Callable[[Recorder], None]


def make(parent: Path, plant: Plant, info: RunInfo = INFO) -> RunDirectory:
    """A run folder of what ``plant`` records."""
    directory = RunDirectory.create(parent, "planted")
    directory.write_run(info)
    recorder = Recorder(directory, "master")
    plant(recorder)
    recorder.close()
    return directory


@pytest.fixture
def planted(tmp_path: Path) -> Callable[..., RunDirectory]:
    return partial(make, tmp_path)


@pytest.fixture(scope="module")
def everything_analysed(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> tuple[RunDirectory, Summary]:
    """A run in which everything happens, demanded to be without loss, and its summary. To be left as it is."""
    info = replace(INFO, checks=(Check("no loss", "messages.lost", at_most=0),))
    directory = make(tmp_path_factory.mktemp("everything"), everything, info)
    return directory, quietly(directory.path)


def send(to: Recorder, seq: int, due_ns: int, *, outcome: str = "acked", attempt: int = 1, late_ns: int = 0) -> None:
    settled_ns = due_ns + late_ns + 2 * MS if outcome == "acked" else None
    to.send(1, seq, attempt, QUEUE, "a", due_ns, due_ns + late_ns, settled_ns, outcome, 64, False)


def receive(
    to: Recorder, seq: int, at_ns: int, *, attempt: int = 1, integrity: str = "intact", again: bool = False
) -> None:
    to.receipt(7, "orders", 1, seq, attempt, QUEUE, "b", at_ns, again, integrity, 1)


def quietly(run: Path) -> Summary:
    return analyse(run, progress=lambda _: None)


def due_of(seq: int) -> int:
    """Every 10 ms from the beginning of the load on."""
    return LOAD_NS + seq * 10 * MS


def healthy(recorder: Recorder) -> None:
    """1,000 messages in 10 s; each takes 5 ms."""
    for seq in range(1_000):
        send(recorder, seq, due_of(seq))
        receive(recorder, seq, due_of(seq) + 5 * MS)


def everything(recorder: Recorder) -> None:
    """Of 1,000 messages 0 is lost, 1 stranded, 2 dead, 3 resent and doubled, 4 doubled, 5 recovered, 6 corrupted."""
    for seq in range(1_000):
        send(recorder, seq, due_of(seq), outcome="in_doubt" if seq in (3, 5) else "acked")
    send(recorder, 3, due_of(3), attempt=2, late_ns=3 * MS)
    for seq in range(3, 1_000):
        receive(recorder, seq, due_of(seq) + 5 * MS, integrity="corrupted" if seq == 6 else "intact")
    receive(recorder, 3, due_of(3) + 7 * MS, attempt=2)
    receive(recorder, 4, due_of(4) + 7 * MS)
    receive(recorder, 7, due_of(7) + 7 * MS, again=True)
    receive(recorder, 4_000, due_of(2_000))
    recorder.receipt(7, "orders", UNKNOWN, UNKNOWN, UNKNOWN, QUEUE, "b", due_of(8), False, "foreign", None)
    recorder.leftover("a", "orders", False, 1, 1, 1, None)
    recorder.leftover("a", "ActiveMQ.DLQ", True, 1, 2, 1, None)


def test_planted_fates_come_back_as_they_were_planted(everything_analysed: tuple[RunDirectory, Summary]) -> None:
    directory, summary = everything_analysed
    assert summary["messages"] == {
        "sent": 1_000,
        "acked": 999,
        "failed": 0,
        "in_doubt": 1,
        "unconfirmed": 0,
        "received": 998,
        "lost": 1,
        "stranded": 1,
        "dead_lettered": 1,
        "duplicated": 2,
        "duplicated_by_resend": 1,
        "redelivered": 1,
        "recovered": 1,
        "reordered": 0,
        "corrupted": 1,
        "unexpected": 1,
        "foreign": 1,
        "missing_unconfirmed": 0,
    }
    assert summary["leftovers"] == 2
    assert summary["verdict"] == "fail"
    assert summary["reasons"] == ["check 'no loss' failed: messages.lost is 1, it must be <= 0"]
    assert odd_ones(directory) == {
        ("lost", 0, "acked after 1 attempt(s)"),
        ("stranded", 1, "acked after 1 attempt(s), left on orders at a"),
        ("dead_lettered", 2, "acked after 1 attempt(s), left on ActiveMQ.DLQ at a"),
        ("duplicated", 3, "copy 2, by a resend (attempt 2 after 1), 2.000 ms after the first, to consumer 7 from b"),
        ("duplicated", 4, "copy 2, by the broker (attempt 1 after 1), 2.000 ms after the first, to consumer 7 from b"),
        ("recovered", 5, "in_doubt after 1 attempt(s)"),
        ("corrupted", 6, "its body is not as it was sent; attempt 1, received by consumer 7 from b"),
        ("unexpected", 4_000, "no send of it is on record; attempt 1, received by consumer 7 from b"),
    }


def odd_ones(directory: RunDirectory) -> set[tuple[str, int, str]]:
    rows = pq.read_table(directory.results("oddities")).to_pylist()
    return {(row["fate"], row["seq"], row["detail"]) for row in rows}


def test_a_healthy_run_passes_with_the_figures_that_arithmetic_gives(
    spark: SparkSession, planted: Callable[..., RunDirectory]
) -> None:
    directory = planted(healthy)
    summary = quietly(directory.path)
    assert (summary["verdict"], summary["reasons"]) == ("pass", [])
    assert summary["throughput"]["received_per_s"] == 100
    latency = summary["latency_ms"]["due_to_received"]
    assert (latency["count"], latency["min"], latency["p50"], latency["max"]) == (1_000, 5.0, 5.0, 5.0)
    assert summary["latency_ms"]["sent_to_settled"]["p99"] == 2.0
    assert summary["wall"] == "2026-01-01T00:00:00.000+00:00"
    assert summary["phases"] == {"up": 4.5, "warm_up": 1.0, "load": 10.0, "drain": 1.0, "browse": 1.0}
    assert json.loads(directory.summary_path.read_text()) == summary


def test_every_result_table_is_written_with_its_schema(everything_analysed: tuple[RunDirectory, Summary]) -> None:
    directory, _ = everything_analysed
    for name, schema in RESULT_TABLES.items():
        assert pq.read_table(directory.results(name)).schema.equals(schema), name


def test_analysing_again_gives_the_same(everything_analysed: tuple[RunDirectory, Summary]) -> None:
    directory, summary = everything_analysed
    assert quietly(directory.path) == summary


def test_a_freeze_of_3_s_shows_as_latencies_uniform_up_to_3_s(
    spark: SparkSession, planted: Callable[..., RunDirectory]
) -> None:
    began_ns, ended_ns = LOAD_NS + 4 * S, LOAD_NS + 7 * S

    def frozen(recorder: Recorder) -> None:
        recorder.fault("pause", "b", began_ns, ended_ns, None)
        for seq in range(1_000):
            send(recorder, seq, due_of(seq))
            is_frozen = began_ns <= due_of(seq) < ended_ns
            receive(recorder, seq, ended_ns if is_frozen else due_of(seq))

    directory = planted(frozen)
    latency = quietly(directory.path)["latency_ms"]["due_to_received"]
    assert (latency["p50"], latency["max"]) == (0, 3_000)
    assert latency["p90"] == pytest.approx(2_000, rel=0.008)  # 300 of 1,000 messages wait; 100 of them over 2 s
    assert latency["p99"] == pytest.approx(2_900, rel=0.008)
    in_fault = {row["second"] for row in pq.read_table(directory.results("latency")).to_pylist() if row["in_fault"]}
    assert in_fault == set(range(4, 10))  # 5 s of grace go beyond the end of the load


def test_a_generator_late_in_a_fault_is_excused_and_late_outside_makes_the_run_invalid(
    spark: SparkSession, planted: Callable[..., RunDirectory], tmp_path: Path
) -> None:
    def late(recorder: Recorder) -> None:
        for seq in range(1_000):
            send(recorder, seq, due_of(seq), late_ns=40 * MS if 300 <= seq < 400 else 0)
            receive(recorder, seq, due_of(seq) + 45 * MS)

    def late_in_a_fault(recorder: Recorder) -> None:
        recorder.fault("kill", "a", due_of(300), due_of(400), None)
        late(recorder)

    summary = quietly(planted(late).path)
    assert summary["verdict"] == "invalid"
    assert summary["reasons"][0].startswith("the load generator was late: p99 of its lag is 40")
    (tmp_path / "planted").rename(tmp_path / "late")
    assert quietly(planted(late_in_a_fault).path)["verdict"] == "pass"


def test_a_shifted_clock_gives_counted_negative_latencies_and_an_invalid_run(
    spark: SparkSession, planted: Callable[..., RunDirectory]
) -> None:
    def shifted(recorder: Recorder) -> None:
        for seq in range(10):
            send(recorder, seq, due_of(seq))
            receive(recorder, seq, due_of(seq) - (3 * MS if seq < 4 else 0))

    summary = quietly(planted(shifted).path)
    latency = summary["latency_ms"]["sent_to_received"]
    assert (latency["negative"], latency["min"]) == (4, -3.0)
    assert summary["verdict"] == "invalid"
    assert "4 durations sent_to_received are negative" in summary["reasons"][0]


def test_a_torn_stream_keeps_its_rows_and_makes_the_run_invalid_however_often_it_is_analysed(
    spark: SparkSession, planted: Callable[..., RunDirectory]
) -> None:
    directory = planted(healthy)
    (stream,) = directory.streams("receipts").iterdir()
    stream.write_bytes(stream.read_bytes()[:-8])  # without its end mark, as a killed process leaves it
    for summary in (quietly(directory.path), quietly(directory.path)):
        assert summary["verdict"] == "invalid"
        assert "master was killed" in summary["reasons"][0]
        assert summary["messages"]["received"] == 1_000


def test_a_fault_that_could_not_be_applied_makes_the_run_invalid(
    spark: SparkSession, planted: Callable[..., RunDirectory]
) -> None:
    def unapplied(recorder: Recorder) -> None:
        healthy(recorder)
        recorder.fault("kill", "b", LOAD_NS, None, "no such process")

    summary = quietly(planted(unapplied).path)
    assert summary["reasons"] == ["fault kill of b could not be applied: no such process"]


def test_receipts_without_any_send_make_the_run_invalid(
    spark: SparkSession, planted: Callable[..., RunDirectory]
) -> None:
    summary = quietly(planted(lambda recorder: receive(recorder, 1, LOAD_NS)).path)
    assert summary["verdict"] == "invalid"
    assert summary["reasons"][0].startswith("no send is on record, though 1 messages were received")


def test_a_run_killed_before_its_load_is_analysed_from_its_first_event_on(
    spark: SparkSession, planted: Callable[..., RunDirectory]
) -> None:
    summary = quietly(planted(healthy, replace(INFO, state="starting", phases=Phases())).path)
    assert summary["verdict"] == "invalid"
    assert summary["latency_ms"]["due_to_received"]["count"] == 1_000
    assert summary["throughput"]["sent_per_s"] is None


def test_main_exits_with_the_status_of_the_verdict(
    spark: SparkSession, planted: Callable[..., RunDirectory], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([str(planted(healthy).path)]) == EXIT_STATUS["pass"] == 0
    assert "verdict: pass" in capsys.readouterr().out


def test_a_run_without_events_is_one_clear_error_and_status_2(
    planted: Callable[..., RunDirectory], capsys: pytest.CaptureFixture[str]
) -> None:
    directory = planted(lambda _: None)
    assert main([str(directory.path)]) == 2
    error = capsys.readouterr().err
    assert error.startswith("error: ")
    assert "has no events" in error
    assert not directory.summary_path.exists()


def test_a_folder_that_is_no_run_is_named(tmp_path: Path) -> None:
    with pytest.raises(RunUnreadable, match="no run folder"):
        analyse(tmp_path)


def test_a_damaged_event_file_is_one_clear_error_that_names_it(
    planted: Callable[..., RunDirectory], capsys: pytest.CaptureFixture[str]
) -> None:
    directory = planted(healthy)
    directory.events("sends").mkdir(parents=True)
    (directory.events("sends") / "gone.parquet").write_bytes(b"PAR1 and nothing more")
    assert main([str(directory.path)]) == 2
    assert "gone.parquet: not readable as Parquet" in capsys.readouterr().err
