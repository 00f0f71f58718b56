"""Checks the analysis of whole run folders: planted results are found exactly, and bad input gives one clear error."""

import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from analysis.jobs import analyse, main
from analysis.latency.timing import FIGURES
from records.errors import RunUnreadable, RunUnwritable
from records.figures.checks import Check
from records.figures.summary import Summary
from records.files import exclusive_lock
from records.run import Phases
from records.run_json import convert_to_type
from records.store.digests import changed_after_analysis
from records.store.reader import seal
from records.store.rundir import RunDirectory
from records.store.writer import Recorder
from records.tables.connection_events import ConnectionEvent
from records.tables.results import RESULT_TABLES
from records.tables.schemas import UNKNOWN
from records.verdicts import EXIT_STATUS
from tests.analysis.runs import INFO, LOAD_NS, MS, S, due_of, healthy, make, quietly, receive, send
from tests.support.event_rows import foreign_row

pytestmark = pytest.mark.spark

DECLARED = [
    pytest.param(True, id="in a fault"),
    pytest.param(False, id="without one", marks=pytest.mark.nightly),
]
TOO_FEW_BEYOND: dict[str, Any] = dict.fromkeys(("p99_9", "p99_99"))  # of 1,000 messages


def about(value_ms: float) -> dict[str, Any]:
    """Return each timing figure of 1,000 messages with the same duration, to the width of a bucket."""
    return dict.fromkeys(FIGURES, pytest.approx(value_ms, rel=0.008)) | TOO_FEW_BEYOND


@pytest.fixture
def planted(tmp_path: Path) -> Callable[..., RunDirectory]:
    return partial(make, tmp_path)


@pytest.fixture(scope="module")
def everything_analysed(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> tuple[RunDirectory, Summary]:
    """A run with every kind of error, a check that forbids loss, and the run's summary. Tests must not change it."""
    info = replace(INFO, checks=(Check("no loss", "messages.lost", at_most=0),))
    directory = make(tmp_path_factory.mktemp("everything"), everything, info)
    return directory, quietly(directory.path)


def everything(recorder: Recorder) -> None:
    """Of 1,000 messages 0 is lost, 1 stranded, 2 dead, 3 resent and doubled, 4 doubled, 5 recovered, 6 corrupted, 8
    refused."""
    for seq in range(1_000):
        send(recorder, seq, due_of(seq), outcome={3: "in_doubt", 5: "in_doubt", 8: "failed"}.get(seq, "acked"))
    send(recorder, 3, due_of(3), attempt=2, late_ns=3 * MS)
    for seq in (*range(3, 8), *range(9, 1_000)):
        receive(recorder, seq, due_of(seq) + 5 * MS, integrity="corrupted" if seq == 6 else "intact")
    receive(recorder, 3, due_of(3) + 7 * MS, attempt=2)
    receive(recorder, 4, due_of(4) + 7 * MS)
    receive(recorder, 7, due_of(7) + 7 * MS, again=True)
    receive(recorder, 4_000, due_of(2_000))
    recorder.receipt(foreign_row(due_of(8)))
    recorder.leftover("a", "orders", False, 1, 1, 1, None)
    recorder.leftover("a", "ActiveMQ.DLQ", True, 1, 2, 1, None)


def test_planted_fates_come_back_as_they_were_planted(everything_analysed: tuple[RunDirectory, Summary]) -> None:
    directory, summary = everything_analysed
    assert summary["messages"] == {
        "sent": 1_000,
        "acked": 998,
        "failed": 1,
        "in_doubt": 1,
        "unconfirmed": 0,
        "withheld": 0,
        "expected": 1_000,
        "received": 997,
        "lost": 1,
        "stranded": 1,
        "dead_lettered": 1,
        "expired": 0,
        "unselected": 0,
        "duplicated": 2,
        "duplicated_by_resend": 1,
        "redelivered": 1,
        "repeated": 1,
        "recovered": 1,
        "reordered": 0,
        "corrupted": 1,
        "unexpected": 1,
        "unknown_attempts": 0,
        "foreign": 1,
        "unaccounted": 0,
        "missed_away": 0,
        "missing_unconfirmed": 0,
        "refused_yet_received": 0,
        "expired_yet_received": 0,
        "unselected_yet_received": 0,
        "left_unconfirmed": 0,
        "failed_not_received": 1,
        "in_doubt_not_received": 0,
        "unowed_yet_received": 1,
    }
    assert summary["refused"] == {"a": 1}
    assert summary["leftovers"] == 2
    assert [tuple(row.values()) for row in summary["left_behind"]] == [
        ("ActiveMQ.DLQ", "a", "dead_lettered", 1),
        ("orders", "a", "stranded", 1),
    ]
    assert summary["verdict"] == "invalid"
    assert summary["reasons"] == [
        "1 of this run's deliveries have no recorded send: rows of events/sends are missing",
        "1 of the deliveries had a corrupted body: the rows 'corrupted' in the report's table of "
        "examples, and in results/anomalies, show which broker they came from",
        "check 'no loss' failed: messages.lost is 1, it must be <= 0",
        "other clients sent messages to the run's destinations, so the load was not the scenario's own: 1 received "
        "from queue://orders at b; stop those clients, or use destinations and brokers that no other client uses",
    ]
    assert odd_ones(directory) == {
        ("lost", 0, "acked after 1 attempt(s)"),
        ("stranded", 1, "acked after 1 attempt(s), left on orders at a"),
        ("dead_lettered", 2, "acked after 1 attempt(s), left on ActiveMQ.DLQ at a"),
        ("duplicated", 3, "copy 2, by a resend (attempt 2 after 1), 2.000 ms after the first, to consumer 7 from b"),
        ("duplicated", 4, "copy 2, by the broker (attempt 1 after 1), 2.000 ms after the first, to consumer 7 from b"),
        ("recovered", 5, "in_doubt after 1 attempt(s)"),
        ("failed", 8, "failed after 1 attempt(s)"),
        ("corrupted", 6, "its body is not as it was sent; attempt 1, received by consumer 7 from b"),
        ("foreign", UNKNOWN, "not sent by this run; received by consumer 7 from b"),
        ("unexpected", 4_000, "its send is not recorded; attempt 1, received by consumer 7 from b"),
    }


def odd_ones(directory: RunDirectory) -> set[tuple[str, int, str]]:
    rows = pq.read_table(directory.results("anomalies")).to_pylist()
    return {(row["anomaly"], row["seq"], row["detail"]) for row in rows}


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


@pytest.mark.nightly  # records/test_digests.py covers the files
def test_analysing_again_gives_the_same_and_finds_results_unchanged(
    everything_analysed: tuple[RunDirectory, Summary],
) -> None:
    directory, summary = everything_analysed
    assert directory.is_analysed
    assert changed_after_analysis(directory) == []
    assert convert_to_type(Summary, json.loads(directory.summary_path.read_text())) == summary
    directory.summary_path.write_text("{}")
    rates = directory.results("rates") / "all.parquet"
    (directory.results("rates") / "more.parquet").write_bytes(rates.read_bytes())
    assert changed_after_analysis(directory) == ["results/rates/more.parquet", "summary.json"]
    assert quietly(directory.path) == summary
    assert changed_after_analysis(directory) == []


def test_a_run_that_another_process_analyses_is_left_alone(everything_analysed: tuple[RunDirectory, Summary]) -> None:
    directory, _ = everything_analysed
    with (
        exclusive_lock(directory.path, "analysing"),
        pytest.raises(RunUnwritable, match=r": another process is analysing it now: wait until it ends$"),
    ):
        quietly(directory.path)
    assert directory.is_analysed


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


@pytest.mark.parametrize("declared", DECLARED)
def test_a_generator_that_is_late_for_3_s_makes_figures_doubtful(
    spark: SparkSession, planted: Callable[..., RunDirectory], declared: bool
) -> None:
    summary = quietly(planted(off_for_3_s(declared=declared, held_back=False)).path)
    assert (summary["verdict"], summary["reasons"]) == ("pass", [])
    doubtful = summary["timing"]["doubtful"]
    assert set(doubtful) == {f"latency_ms.due_to_received.{figure}" for figure in ("p90", "p99", "max")}
    assert all("the load generator itself was late" in reason for reason in doubtful.values())
    assert summary["timing"]["less_own_time_ms"] == about(5.0)
    assert summary["lag_ms"]["max"] == 3_000


@pytest.mark.nightly  # the timing is the same as for the late generator
@pytest.mark.parametrize("declared", DECLARED)
def test_a_producer_blocked_for_3_s_is_not_late(
    spark: SparkSession, planted: Callable[..., RunDirectory], declared: bool
) -> None:
    """Its figures are sound."""
    summary = quietly(planted(off_for_3_s(declared=declared, held_back=True)).path)
    assert (summary["verdict"], summary["timing"]["doubtful"], summary["timing"]["note"]) == ("pass", {}, "")
    latency = summary["latency_ms"]["due_to_received"]
    assert (latency["p50"], latency["max"]) == (5, 3_005)
    assert latency["p90"] == pytest.approx(2_005, rel=0.008)  # 300 of 1,000 messages wait; 100 of them over 2 s
    assert summary["lag_ms"] == {"p50": 0, "p99": 0, "p99_9": None, "max": 0, "blocked_slots": 0}


def off_for_3_s(*, declared: bool, held_back: bool) -> Callable[[Recorder], None]:
    """Nothing was sent from 4 s to 7 s, because the brokers blocked the producer or the generator was late."""
    began_ns, ended_ns = LOAD_NS + 4 * S, LOAD_NS + 7 * S

    def record(recorder: Recorder) -> None:
        if declared:
            recorder.fault("kill", "a", began_ns, ended_ns, None)
        for seq in range(1_000):
            due_ns = due_of(seq)
            sent_ns = ended_ns if began_ns <= due_ns < ended_ns else due_ns
            send(
                recorder,
                seq,
                due_ns,
                ready_ns=sent_ns if held_back else due_ns,
                late_ns=0 if held_back else sent_ns - due_ns,
            )
            receive(recorder, seq, sent_ns + 5 * MS)

    return record


@pytest.mark.nightly  # test_stalls.py and test_verdict.py cover the rule
def test_a_generator_stall_of_150_ms_makes_affected_figures_doubtful(
    spark: SparkSession, planted: Callable[..., RunDirectory]
) -> None:
    """15 of 1,000 messages were due in the stall: they affect p99 and the maximum, but not p50 and p90."""
    stall_ns, until_ns = due_of(500), due_of(500) + 150 * MS

    def stalled(recorder: Recorder) -> None:
        for seq in range(1_000):
            late_ns = until_ns - due_of(seq) if stall_ns <= due_of(seq) < until_ns else 0
            send(recorder, seq, due_of(seq), late_ns=late_ns)
            receive(recorder, seq, due_of(seq) + late_ns + 5 * MS)

    figures = ("p99", "max")
    demands = tuple(Check(name, f"latency_ms.due_to_received.{name}", at_most=50) for name in ("p90", "p99"))
    summary = quietly(planted(stalled, replace(INFO, checks=demands)).path)
    assert set(summary["timing"]["doubtful"]) == {f"latency_ms.due_to_received.{figure}" for figure in figures}
    assert summary["timing"]["less_own_time_ms"] == about(5.0)
    assert summary["timing"]["note"].startswith(
        "Do not rely on these latencies: due → received p99 and max (the load generator itself was late"
    )
    assert [check["outcome"] for check in summary["checks"]] == ["pass", "unknown"]
    assert summary["verdict"] == "unknown"
    assert "the load generator itself was late" in summary["reasons"][0]


def test_a_shifted_clock_gives_negative_latencies_and_doubtful_figures(
    spark: SparkSession, planted: Callable[..., RunDirectory]
) -> None:
    """Negative latencies are counted. Figures between processes are doubtful."""

    def shifted(recorder: Recorder) -> None:
        for seq in range(10):
            send(recorder, seq, due_of(seq))
            receive(recorder, seq, due_of(seq) - (3 * MS if seq < 4 else 0))

    summary = quietly(planted(shifted).path)
    latency = summary["latency_ms"]["sent_to_received"]
    assert (latency["negative"], latency["min"]) == (4, -3.0)
    assert (summary["verdict"], summary["reasons"]) == ("pass", [])
    assert {name.split(".")[1] for name in summary["timing"]["doubtful"]} == {"due_to_received", "sent_to_received"}
    assert {name.split(".")[1] for name in summary["timing"]["sound"]} == {"sent_to_settled"}
    assert "the clocks disagree: 4 durations are negative" in summary["timing"]["note"]


def test_a_torn_stream_keeps_its_rows_and_invalidates_the_run(
    spark: SparkSession, planted: Callable[..., RunDirectory]
) -> None:
    """A second analysis has the same result."""
    directory = planted(healthy)
    (stream,) = directory.streams("receipts").iterdir()
    stream.write_bytes(stream.read_bytes()[:-8])  # without its end mark, like the stream of a killed process
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


def test_a_planted_kill_is_summarized_and_unmet_premises_invalidate_the_run(
    spark: SparkSession, planted: Callable[..., RunDirectory]
) -> None:
    """Broker a is killed at 4 s: its only producer is disconnected for half a second, with one send in flight."""
    killed_ns, back_ns = due_of(400), due_of(450)

    def killed(recorder: Recorder) -> None:
        recorder.fault("kill", "a", killed_ns, due_of(600), None, killed_ns, killed_ns + MS, due_of(700))
        recorder.connection(1, "producers", "memory", ConnectionEvent("a", "connected", LOAD_NS - S, ""))
        recorder.connection(7, "consumers", "memory", ConnectionEvent("b", "connected", LOAD_NS - S, ""))
        recorder.connection(1, "producers", "memory", ConnectionEvent("a", "lost", killed_ns + 5 * MS, "gone"))
        recorder.connection(1, "producers", "memory", ConnectionEvent("b", "attempt", killed_ns + 6 * MS, ""))
        recorder.connection(1, "producers", "memory", ConnectionEvent("b", "connected", back_ns - MS, ""))
        recorder.connection(1, "producers", "memory", ConnectionEvent("b", "ready", back_ns, ""))
        recorder.member(1, 1, "producers", "producer", "Orders", LOAD_NS - S)
        recorder.member(7, 7, "consumers", "consumer", "Takers", LOAD_NS - S)
        count_clients(recorder)
        mirror_events(recorder)
        send(recorder, 400, killed_ns, outcome="in_doubt")
        for seq in range(1_000):
            cut_off = 400 <= seq < 450
            late_ns = back_ns - due_of(seq) if cut_off else 0
            send(recorder, seq, due_of(seq), attempt=2 if seq == 400 else 1, late_ns=late_ns)
            receive(recorder, seq, due_of(seq) + late_ns + 5 * MS, attempt=2 if seq == 400 else 1)

    premises = (
        Check("a send in flight", "recovery.in_flight", at_least=1),
        Check("all", "recovery.cut_off", at_least=2),
    )
    directory = planted(killed, replace(INFO, premises=premises))
    summary = quietly(directory.path)
    (fault,) = summary["recovery"]["faults"]
    assert (fault["began_s"], fault["effective_s"], fault["restored_s"]) == (4.0, 4.001, 7.0)
    assert (fault["clients"], fault["cut_off"], fault["in_flight"], fault["never_back"]) == (2, 1, 1, 0)
    assert fault["outage_ms"] == fault["producers_outage_ms"] == {"p50": 502.0, "max": 502.0}
    assert fault["reconnect_ms"] == {"p50": 494.0, "max": 494.0}
    assert fault["ready_ms"] == {"p50": 495.0, "max": 495.0}
    assert (fault["lost"], fault["duplicated"]) == (0, 0)
    assert summary["reasons"] == [
        "the run did not test its question, as it needs all: recovery.cut_off is 1, it must be >= 2"
    ]
    assert summary["verdict"] == "invalid"
    assert [row["client"] for row in pq.read_table(directory.results("outages")).to_pylist()] == [1]
    check_moves(directory, summary)
    # Without seconds 6 and 7 of a, when the harness checks whether it accepts logins again.
    assert summary["connection_counts"] == {"compared": 10, "differed": 1, "brokers": ["a"]}
    at_kill = {"fault": "F1", "broker": "a", "link": "a-to-b", "sampled_s": 3.5, "lag_messages": 150, "lag_s": 2.0}
    assert summary["mirror"] == {"lag_messages": {"max": 150}, "lag_s": {"max": 2.0}, "at_kill": [at_kill]}


def mirror_events(recorder: Recorder) -> None:
    """Broker a queues 100 messages per second for its mirror until it is killed. 150 of 400 wait at the end."""
    for at_s, waiting in enumerate((0, 0, 120, 150)):
        for metric, value in (("mirror_events", 100 * (at_s + 1)), ("mirror_backlog", waiting)):
            recorder.sample("a", LOAD_NS + at_s * S + S // 2, "bridge", "a-to-b|b", metric, value)


def count_clients(recorder: Recorder) -> None:
    """Brokers' counts in each second of the load: a counts its producer until 5 s, though it is at b from 4 s on."""
    for at_s in range(10):
        at_ns = LOAD_NS + at_s * S + S // 2
        for broker, clients in (("a", int(at_s <= 5)), ("b", 1 + (at_s > 4))):
            recorder.sample(broker, at_ns, "broker", "", "connections", 3)
            if clients:
                recorder.sample(broker, at_ns, "connector", "stomp", "connections", clients)


def check_moves(directory: RunDirectory, summary: Summary) -> None:
    """The producer moved from a to b half a second after the kill. Each group is then at one broker."""
    moved = summary["rebalance"]
    assert (moved["clients"], moved["moves"], moved["moved"], moved["off_at_end"]) == (2, 1, 1, 0)
    applied, mended = moved["faults"]
    assert moved["off_ms"] == applied["off_ms"] == {"p50": 494.0, "max": 494.0}
    assert (applied["first_move_s"], applied["state"], applied["settled_s"]) == (0.499, "did not settle", None)
    assert (mended["effect"], mended["at_s"], mended["moves"]) == ("mended", 7.0, 0)
    stays = pq.read_table(directory.results("stays")).to_pylist()
    assert [(row["client"], row["broker"], row["to_ns"] / S, row["cause"]) for row in stays] == [
        (1, "a", 4.005, "lost"),
        (1, "b", 10.0, "load_end"),
        (7, "b", 10.0, "load_end"),
    ]
    rows = pq.read_table(directory.results("distribution")).to_pylist()
    at_end = {(row["group"], row["broker"]): row["clients"] for row in rows if row["second"] == 9}
    assert at_end[("producers", "a")] == at_end[("producers", "")] == at_end[("consumers", "")] == 0
    assert at_end[("producers", "b")] == at_end[("consumers", "b")] == 1
    (consumer,) = pq.read_table(directory.results("consumers")).to_pylist()
    assert (consumer["consumer"], consumer["broker"], consumer["messages"]) == (7, "b", 1_000)
    assert (summary["consumers"]["subscriptions"], summary["consumers"]["idle"]) == ([], 0)


@pytest.mark.nightly  # test_stalls.py and test_verdict.py cover the rule
def test_receipts_without_any_send_make_the_run_invalid(
    spark: SparkSession, planted: Callable[..., RunDirectory]
) -> None:
    summary = quietly(planted(lambda recorder: receive(recorder, 1, LOAD_NS)).path)
    assert summary["verdict"] == "invalid"
    assert summary["reasons"][0].startswith("no send is recorded, though 1 messages were received")


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


def test_a_run_whose_events_were_removed_is_refused_and_its_folder_is_left_as_it_is(
    planted: Callable[..., RunDirectory], capsys: pytest.CaptureFixture[str]
) -> None:
    directory = planted(healthy)
    for folder in ("events", "streams"):
        shutil.rmtree(directory.path / folder, ignore_errors=True)
    assert main([str(directory.path)]) == 2
    assert "has no events" in capsys.readouterr().err
    assert not (directory.path / "events").exists()


def test_a_folder_that_is_no_run_is_named(tmp_path: Path) -> None:
    with pytest.raises(RunUnreadable, match="not a run folder"):
        analyse(tmp_path)


def test_a_damaged_event_file_is_one_clear_error_that_names_it(
    planted: Callable[..., RunDirectory], capsys: pytest.CaptureFixture[str]
) -> None:
    directory = planted(healthy)
    directory.events("sends").mkdir(parents=True)
    (directory.events("sends") / "gone.parquet").write_bytes(b"PAR1 and nothing more")
    assert main([str(directory.path)]) == 2
    assert f"{directory.events('sends')}/gone.parquet: it was here before the run's events" in capsys.readouterr().err


def test_damaged_rows_make_the_run_invalid_and_name_the_file(
    spark: SparkSession, planted: Callable[..., RunDirectory], capsys: pytest.CaptureFixture[str]
) -> None:
    directory = planted(healthy)
    seal(directory)
    (file,) = directory.events("sends").glob("*.parquet")
    content = bytearray(file.read_bytes())
    content[4:500] = bytes(496)
    file.write_bytes(content)
    assert main([str(directory.path)]) == 3
    assert capsys.readouterr().out.partition("verdict: ")[2].splitlines()[:2] == [
        "invalid",
        "  - events/sends/master.parquet: its rows were changed after they were sealed (row groups: 1 of 1), so these "
        "are left out: bring the folder back from a copy, or make the run again",
    ]
