"""Checks that errors planted in the events of a run get the right verdict, figures and first sentence of the report."""

import re
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from analysis.latency.figures import Spread
from analysis.run.topic import missing_rows
from harness.checks import no_message_withheld
from records.figures.checks import Check
from records.figures.summary import Summary
from records.run import ProcessInfo, UserInfo
from records.store.reader import seal
from records.store.rundir import RunDirectory
from records.store.writer import Recorder
from records.tables.connection_events import ConnectionEvent
from records.tables.schemas import UNKNOWN
from reports.run.headline import answer, headline
from tests.analysis.rows import TOPIC
from tests.analysis.runs import INFO, LOAD_NS, MS, QUEUE, S, due_of, healthy, make, quietly, receive, send
from tests.support.event_rows import foreign_row, receipt_row, send_row

pytestmark = pytest.mark.spark
AT_NIGHT = pytest.mark.nightly  # CI runs the tests of a slow broker and a slow generator

Planted = Callable[..., RunDirectory]


@pytest.fixture
def planted(tmp_path: Path) -> Planted:
    return partial(make, tmp_path)


def counts(summary: Summary) -> dict[str, int]:
    """Return the nonzero message counts."""
    return {name: count for name, count in summary["messages"].items() if isinstance(count, int) and count}


def test_a_thousand_messages_confirmed_and_none_received_are_lost_and_the_run_fails(
    spark: SparkSession, planted: Planted
) -> None:
    def swallowed(recorder: Recorder) -> None:
        for seq in range(1_000):
            send(recorder, seq, due_of(seq))

    summary = quietly(planted(swallowed).path)
    assert summary["verdict"] == "fail"
    assert summary["reasons"] == [
        "no message was received, though brokers confirmed 1,000: of 1,000 expected receptions, 1,000 lost"
    ]
    assert counts(summary) == {"sent": 1_000, "acked": 1_000, "expected": 1_000, "lost": 1_000}
    assert answer(summary) == "Of 1,000 messages sent, 0 were received; 1,000 lost. No latency was measured."


def in_two_processes(planted: Planted, *, tallied: bool = True) -> RunDirectory:
    """A healthy run. One worker sent the even messages and another the odd ones. The counts of each are recorded."""

    def plant(recorder: Recorder) -> None:
        for seq in range(1_000):
            receive(recorder, seq, due_of(seq) + 5 * MS)

    workers = [ProcessInfo(f"worker-{n}", n, "here", 0, 0, begun=500, settled=500, received=0) for n in (1, 2)]
    master = replace(INFO.processes[0], begun=0, settled=0, received=1_000)
    directory = planted(plant, replace(INFO, processes=(master, *workers) if tallied else INFO.processes))
    for worker in workers:
        recorder = Recorder(directory, worker.name)
        for seq in range(worker.index % 2, 1_000, 2):
            send(recorder, seq, due_of(seq))
        recorder.close()
    return directory


def test_a_lost_file_makes_the_run_invalid_and_names_the_worker(spark: SparkSession, planted: Planted) -> None:
    directory = in_two_processes(planted)
    seal(directory)
    (directory.events("sends") / "worker-2.parquet").unlink()
    summary = quietly(directory.path)
    assert summary["verdict"] == "invalid"
    assert summary["reasons"] == [
        "events/sends/worker-2.parquet: missing, and the run was sealed with its 500 rows, so it is left out: "
        "bring the folder back from a copy, or make the run again",
        "events/sends: rows are missing: worker-2 counted 500 settled sends, and 0 are on record; "
        "bring its file back from a copy, or run again",
        "500 of this run's deliveries have no recorded send: rows of events/sends are missing",
    ]
    gone = {"unexpected": 500, "unowed_yet_received": 500}
    assert counts(summary) == {"sent": 500, "acked": 500, "expected": 500, "received": 1_000, **gone}
    assert answer(summary).startswith("All 500 messages sent were received. Also: 500 received without a known send.")


@pytest.mark.nightly  # test_accounting.py and test_brokers_and_rates.py cover the figure
def test_deliveries_without_their_sends_make_a_run_invalid_that_told_no_counts(
    spark: SparkSession, planted: Planted
) -> None:
    directory = in_two_processes(planted, tallied=False)
    (directory.streams("sends") / "worker-2.arrows").unlink()
    summary = quietly(directory.path)
    assert summary["verdict"] == "invalid"
    assert summary["reasons"] == [
        "500 of this run's deliveries have no recorded send: rows of events/sends are missing"
    ]


def test_rows_are_missing_if_a_process_counted_more_than_it_recorded(planted: Planted) -> None:
    directory = in_two_processes(planted)
    seal(directory)
    info = directory.read_run()
    assert missing_rows(directory, info.processes) == ()
    master, worker_1, worker_2 = info.processes
    few = (replace(master, received=1_001), replace(worker_1, settled=501), replace(worker_2, settled=None))
    assert [problem.split(";")[0] for problem in missing_rows(directory, few)] == [
        "events/receipts: rows are missing: master counted 1,001 deliveries, and 1,000 are on record",
        "events/sends: rows are missing: worker-1 counted 501 settled sends, and 500 are on record",
    ]


def test_refused_messages_that_arrive_all_the_same_have_a_count_of_their_own(
    spark: SparkSession, planted: Planted
) -> None:
    def refused(recorder: Recorder) -> None:
        for seq in range(1_000):
            send(recorder, seq, due_of(seq), outcome="failed" if seq < 50 else "acked")
            receive(recorder, seq, due_of(seq) + 5 * MS)

    directory = planted(refused, replace(INFO, checks=(Check("lies", "messages.refused_yet_received", at_most=0),)))
    summary = quietly(directory.path)
    assert summary["verdict"] == "fail"
    assert summary["reasons"] == ["check 'lies' failed: messages.refused_yet_received is 50, it must be <= 0"]
    assert counts(summary) == {
        "sent": 1_000,
        "acked": 950,
        "failed": 50,
        "expected": 1_000,
        "received": 1_000,
        "refused_yet_received": 50,
    }
    assert answer(summary).startswith("All 1,000 messages sent were received. Also: 50 received though refused by a.")
    examples = pq.read_table(directory.results("anomalies")).to_pylist()
    assert {(row["anomaly"], row["detail"]) for row in examples} == {
        ("refused_yet_received", "failed after 1 attempt(s)")
    }


@pytest.mark.nightly  # test_accounting.py and test_brokers_and_rates.py cover the figure
def test_a_percentile_of_too_few_messages_is_no_figure_and_a_check_on_it_is_unknown(
    spark: SparkSession, planted: Planted
) -> None:
    def few(recorder: Recorder) -> None:
        for seq in range(100):
            send(recorder, seq, due_of(seq))
            receive(recorder, seq, due_of(seq) + 5 * MS)

    tail = "latency_ms.due_to_received.p99_99"
    summary = quietly(planted(few, replace(INFO, checks=(Check("tail", tail, at_most=10),))).path)
    assert summary["verdict"] == "unknown"
    assert summary["reasons"] == [
        f"check 'tail' could not be evaluated: the run has no figure {tail} (a p99.99 takes 100,000 messages)"
    ]
    latency = summary["latency_ms"]["due_to_received"]
    assert (latency["p50"], latency["p90"], latency["max"]) == (5, 5, 5)
    assert latency["p99"] is latency["p99_9"] is latency["p99_99"] is None
    assert answer(summary) == (
        "All 100 messages sent were received, each exactly once. Half arrived within 5.00 ms of the time they were due."
    )


@pytest.mark.parametrize(
    ("count", "names"),
    [
        (19, []),
        (20, ["p50"]),
        (99, ["p50"]),
        (100, ["p50", "p90"]),
        (999, ["p50", "p90"]),
        (1_000, ["p50", "p90", "p99"]),
    ],
)
def test_a_percentile_takes_ten_messages_beyond_it(count: int, names: list[str]) -> None:
    rows = {"bucket": [1], "count": [count], "min_ns": [MS], "max_ns": [MS]}
    assert [
        name for name, value in Spread.as_measured(pa.table(rows)).quantiles_ms.items() if value is not None
    ] == names


@pytest.mark.nightly  # test_accounting.py and test_brokers_and_rates.py cover the figure
def test_repeats_that_a_broker_flags_are_told_in_the_first_sentence(spark: SparkSession, planted: Planted) -> None:
    def repeated(recorder: Recorder) -> None:
        healthy(recorder)
        for seq in range(20):
            receive(recorder, seq, due_of(seq) + 9 * MS, again=True)

    summary = quietly(planted(repeated).path)
    assert summary["verdict"] == "pass"
    assert counts(summary) == {
        "sent": 1_000,
        "acked": 1_000,
        "expected": 1_000,
        "received": 1_000,
        "redelivered": 20,
        "repeated": 20,
    }
    assert answer(summary).startswith(
        "All 1,000 messages sent were received, each at least once: 20 more deliveries were marked as redelivered."
    )


def test_latencies_of_a_run_that_lost_messages_are_told_as_those_of_the_rest(
    spark: SparkSession, planted: Planted
) -> None:
    def lossy(recorder: Recorder) -> None:
        for seq in range(1_000):
            send(recorder, seq, due_of(seq))
            if seq % 5 >= 3:
                receive(recorder, seq, due_of(seq) + 5 * MS)

    summary = quietly(planted(lossy, replace(INFO, checks=(Check("no loss", "messages.lost", at_most=0),))).path)
    assert summary["verdict"] == "fail"
    assert counts(summary) == {"sent": 1_000, "acked": 1_000, "expected": 1_000, "received": 400, "lost": 600}
    assert answer(summary) == (
        "Of 1,000 messages sent, 400 were received; 600 lost. "
        "Of the messages that arrived, half came within 5.00 ms of the time they were due."
    )


def test_a_subscriber_of_a_topic_that_got_nothing_is_told_in_the_first_sentence(
    spark: SparkSession, planted: Planted
) -> None:
    """The sends were unconfirmed, so the messages are not lost, but the check still fails."""

    def halved(recorder: Recorder) -> None:
        for consumer in (7, 8):
            recorder.subscription(consumer, f"prices#{consumer}", TOPIC, "topic", "b", LOAD_NS - S)
        for seq in range(1_000):
            at_ns = due_of(seq)
            recorder.send(send_row(seq, at_ns, destination=TOPIC, settled_ns=None, outcome="unconfirmed"))
            recorder.receipt(receipt_row(seq, at_ns + 5 * MS, subscription="prices#7", destination=TOPIC))

    summary = quietly(planted(halved).path)
    assert counts(summary) == {
        "sent": 1_000,
        "unconfirmed": 1_000,
        "expected": 2_000,
        "received": 1_000,
        "missing_unconfirmed": 1_000,
    }
    assert answer(summary).startswith(
        "Of 2,000 receptions of 1,000 messages sent, 1,000 took place; 1,000 unconfirmed and missing. Of the messages"
    )


UNSEARCHED = "what is left on broker-2 is not known: it did not answer"


@pytest.mark.parametrize(
    ("queue", "outcome"),
    [("consumers-1.Somebody-1", "unaccounted"), ("NC_left_right.orders", "unaccounted")],
    ids=["of no user that took part", "of a link"],
)
def test_any_message_may_be_in_an_unread_subscription_that_no_consumer_of_the_run_has(
    spark: SparkSession, planted: Planted, queue: str, outcome: str
) -> None:
    why = f"broker-1: durable subscription {queue} of topic holds 1 messages, and gave 0"

    def one_missing(recorder: Recorder) -> None:
        for seq in range(3):
            send(recorder, seq, due_of(seq))
            if seq:
                receive(recorder, seq, due_of(seq) + 5 * MS)

    summary = quietly(planted(one_missing, replace(INFO, unknowns=(why,), unread={queue: why})).path)
    assert counts(summary) == {"sent": 3, "acked": 3, "expected": 3, "received": 2, outcome: 1}
    assert summary["reasons"] == [
        f"1 messages are unaccounted for, as they may be in places that could not be searched: {why}"
    ]


def test_messages_are_unaccounted_for_if_a_broker_could_not_be_browsed(spark: SparkSession, planted: Planted) -> None:
    def some_missing(recorder: Recorder) -> None:
        for seq in range(1_000):
            send(recorder, seq, due_of(seq))
            if seq >= 10:
                receive(recorder, seq, due_of(seq) + 5 * MS)

    checks = (Check("no loss", "messages.lost", at_most=0),)
    info = replace(INFO, checks=checks, unknowns=(UNSEARCHED,), unsearched=(UNSEARCHED,))
    summary = quietly(planted(some_missing, info).path)
    assert summary["verdict"] == "unknown"
    assert summary["reasons"] == [
        f"10 messages are unaccounted for, as they may be in places that could not be searched: {UNSEARCHED}",
        "check 'no loss' could not be evaluated: messages.lost is 0 as far as is known, but messages may be in places "
        "that could not be searched",
    ]
    assert counts(summary) == {"sent": 1_000, "acked": 1_000, "expected": 1_000, "received": 990, "unaccounted": 10}
    assert answer(summary).startswith("Of 1,000 messages sent, 990 were received; 10 unaccounted for.")
    (of_losses,) = (check for check in summary["checks"] if check["metric"] == "messages.lost")
    assert (of_losses["value"], of_losses["outcome"]) == (0, "unknown"), "the ten may be lost"


def test_a_non_durable_subscriber_is_owed_nothing_while_away(spark: SparkSession, planted: Planted) -> None:
    """Subscriber 7 is away for a second. The durable subscriber 8 misses the same messages, but is owed them."""
    gone_ns, back_ns = due_of(500), due_of(600)

    def away(recorder: Recorder) -> None:
        for consumer, kind in ((7, "topic"), (8, "durable_topic")):
            recorder.subscription(consumer, f"prices#{consumer}", TOPIC, kind, "b", LOAD_NS - S)
            recorder.connection(consumer, "consumers", "stomp", ConnectionEvent("b", "connected", LOAD_NS - S, ""))
            recorder.connection(consumer, "consumers", "stomp", ConnectionEvent("b", "lost", gone_ns, "planted"))
            recorder.connection(consumer, "consumers", "stomp", ConnectionEvent("b", "connected", back_ns, ""))
        for seq in range(1_000):
            at_ns = due_of(seq)
            recorder.send(send_row(seq, at_ns, destination=TOPIC, settled_ns=at_ns + MS))
            if not gone_ns <= at_ns < back_ns:
                for consumer in (7, 8):
                    subscriber = {"consumer": consumer, "subscription": f"prices#{consumer}"}
                    recorder.receipt(receipt_row(seq, at_ns, destination=TOPIC, **subscriber))

    summary = quietly(planted(away, replace(INFO, checks=(Check("lost", "messages.lost", at_most=100),))).path)
    assert summary["verdict"] == "pass"
    assert counts(summary) == {
        "sent": 1_000,
        "acked": 1_000,
        "expected": 2_000,
        "received": 1_800,
        "lost": 100,
        "missed_away": 100,
    }
    assert answer(summary).startswith(
        "Of 2,000 receptions of 1,000 messages sent, 1,800 took place; "
        "100 lost and 100 missed by subscribers that were away."
    )


def test_nobody_owes_a_subscriber_what_was_sent_after_its_stay(spark: SparkSession, planted: Planted) -> None:
    """It closes its connection at 5 s, as its class defines, and does not come back."""
    left_ns = due_of(500)

    def leaving(recorder: Recorder) -> None:
        recorder.member(7, 7, "consumers", "consumer", "Leaver", LOAD_NS - S)
        recorder.subscription(7, "prices#7", TOPIC, "topic", "b", LOAD_NS - S)
        recorder.connection(7, "consumers", "stomp", ConnectionEvent("b", "connected", LOAD_NS - S, ""))
        recorder.connection(7, "consumers", "stomp", ConnectionEvent("b", "closed", left_ns, ""))
        for seq in range(1_000):
            at_ns = due_of(seq)
            recorder.send(send_row(seq, at_ns, destination=TOPIC, settled_ns=at_ns + MS))
            if at_ns < left_ns:
                recorder.receipt(receipt_row(seq, at_ns, subscription="prices#7", destination=TOPIC))

    stays_s = (left_ns - LOAD_NS) / S
    leaver = UserInfo("Leaver", "consumer", "consumers", TOPIC, 1, {"stays": f"0 … {stays_s:g} s"})
    no_loss = (Check("lost", "messages.lost", at_most=0),)
    summary = quietly(planted(leaving, replace(INFO, checks=no_loss, users=(*INFO.users, leaver))).path)
    assert summary["verdict"] == "pass", summary["reasons"]
    assert counts(summary) == {"sent": 1_000, "acked": 1_000, "expected": 1_000, "received": 500, "missed_away": 500}


@pytest.mark.nightly  # test_accounting.py and test_brokers_and_rates.py cover the figure
def test_messages_of_others_on_a_dead_letter_queue_are_foreign_and_no_verdict(
    spark: SparkSession, planted: Planted
) -> None:
    def beside_others(recorder: Recorder) -> None:
        healthy(recorder)
        for _ in range(3):
            recorder.leftover("a", "ActiveMQ.DLQ", True, UNKNOWN, UNKNOWN, UNKNOWN, None)

    summary = quietly(planted(beside_others, replace(INFO, checks=(Check("stranded", "leftovers", at_most=0),))).path)
    assert (summary["verdict"], summary["reasons"]) == ("pass", [])
    assert (summary["leftovers"], summary["foreign_leftovers"]) == (0, 3)
    assert answer(summary).startswith("All 1,000 messages sent were received, each exactly once.")


def test_foreign_messages_are_counted_by_place_and_the_run_does_not_pass(spark: SparkSession, planted: Planted) -> None:
    def among_others(recorder: Recorder) -> None:
        healthy(recorder)
        for _ in range(3):
            recorder.receipt(foreign_row(5_000 * MS, consumer=2))
        recorder.leftover("a", "orders", False, UNKNOWN, UNKNOWN, UNKNOWN, None)
        recorder.leftover("a", "somebody.elses", False, UNKNOWN, UNKNOWN, UNKNOWN, None)

    checks = (Check("corrupted", "messages.corrupted", at_most=0),)
    users = (UserInfo("Taker", "consumer", "consumers", QUEUE, 1),)
    directory = planted(among_others, replace(INFO, checks=checks, users=users))
    summary = quietly(directory.path)
    assert (summary["verdict"], len(summary["reasons"])) == ("unknown", 1)
    assert (
        "3 received from queue://orders at b; 1 (or unreadable ones) left on queue://orders at a;"
        in (summary["reasons"][0])
    )
    assert (summary["messages"]["foreign"], summary["messages"]["corrupted"]) == (3, 0)
    anomalies = pq.read_table(directory.results("anomalies")).to_pylist()
    assert [row["anomaly"] for row in anomalies] == ["foreign"] * 3


def test_clock_errors_above_the_latency_make_figures_doubtful(spark: SparkSession, planted: Planted) -> None:
    """Only figures between processes are doubtful."""
    workers = [ProcessInfo(f"worker-{n}", n, f"host-{n}", 0, 0, error_bound_ns=500 * MS) for n in (1, 2)]
    checks = (Check("quick", "latency_ms.due_to_received.p99", at_most=20),)
    info = replace(INFO, checks=checks, processes=(*INFO.processes, *workers))
    summary = quietly(planted(healthy, info).path)
    assert summary["verdict"] == "unknown"
    assert summary["latency_ms"]["due_to_received"]["p99"] == 5
    assert summary["clocks"]["error_bound_ms"] == 1_000
    assert {name.split(".")[1] for name in summary["timing"]["doubtful"]} == {"due_to_received", "sent_to_received"}
    assert {name.split(".")[1] for name in summary["timing"]["sound"]} == {"sent_to_settled"}
    assert "the clocks of the processes may differ by 1,000 ms" in summary["reasons"][0]


@pytest.mark.nightly  # test_accounting.py and test_brokers_and_rates.py cover the figure
def test_two_busy_brokers_take_20_ms_per_message_at_100_per_second(spark: SparkSession, planted: Planted) -> None:
    """They are sampled once per second, and never exactly at the start or end of the load."""

    def busy(recorder: Recorder) -> None:
        healthy(recorder)
        for broker, phase_ns in (("a", 300 * MS), ("b", 700 * MS)):
            for at_s in range(-1, 12):
                used_ns = at_s * S + phase_ns + 5 * S
                at_ns = LOAD_NS + at_s * S + phase_ns
                recorder.sample(broker, at_ns, "process", "", "cpu_ns", used_ns)
                recorder.sample(broker, at_ns, "process", "", "core_wait_ns", used_ns // 4)
        for worker, share in (("worker-1", 0.25), ("worker-2", 0.5)):
            for at_s in range(12):
                recorder.sample("", LOAD_NS + at_s * S, "process", worker, "cpu_ns", round(at_s * share * S))

    throughput = quietly(planted(busy).path)["throughput"]
    assert throughput["cpu_ms_per_message_brokers"] == pytest.approx(20, rel=1e-6)
    assert throughput["cpu_ms_per_message_generator"] == pytest.approx(7.5, rel=1e-6)
    assert throughput["core_wait_ms_per_message_brokers"] == pytest.approx(5, rel=1e-6)
    assert throughput["core_wait_ms_per_message_generator"] is None


def test_a_check_can_limit_messages_withheld_by_brokers(spark: SparkSession, planted: Planted) -> None:
    info = replace(INFO, withheld=40, checks=(no_message_withheld(),))
    summary = quietly(planted(healthy, info).path)
    assert summary["verdict"] == "fail"
    assert summary["reasons"] == ["check 'no message withheld' failed: messages.withheld is 40, it must be <= 0"]
    assert (summary["messages"]["sent"], summary["messages"]["withheld"]) == (1_000, 40)
    assert answer(summary).startswith(
        "All 1,000 messages sent were received. Also: 40 more never sent, as the brokers kept producers waiting."
    )


QUICK = Check("quick", "latency_ms.due_to_received.p50", at_most=100)
NOT_HELD = "The offered rate was not held: 50 of 100 messages per second were received; latency is the age of a backlog"


def top(directory: RunDirectory, summary: Summary) -> str:
    """Return the start of the report: the answer, and the list after it."""
    first_lines = headline(directory.read_run(), summary)
    return " ".join((first_lines.answer, *first_lines.further))


def test_a_broker_at_half_the_rate_is_reported_first(spark: SparkSession, planted: Planted) -> None:
    """Its latency is not doubtful, and a check on it fails."""

    def half(recorder: Recorder) -> None:
        for seq in range(1_000):
            send(recorder, seq, due_of(seq))
            receive(recorder, seq, LOAD_NS + seq * 20 * MS + 5 * MS)
        for at_s in range(10):
            recorder.sample("b", LOAD_NS + at_s * S, "queue", "orders", "depth", 50 * at_s)

    directory = planted(half, replace(INFO, checks=(QUICK,)))
    summary = quietly(directory.path)
    rate = summary["offered_rate"]
    assert (rate["held"], rate["limited_by"], summary["verdict"]) == (False, "consumers", "fail")
    assert summary["reasons"][0].startswith("check 'quick' failed: latency_ms.due_to_received.p50 is ")
    assert QUICK.metric in summary["timing"]["sound"]
    assert top(directory, summary).startswith(NOT_HELD)


def test_an_overloaded_generator_is_reported_first(spark: SparkSession, planted: Planted) -> None:
    """A check on its latency is unknown."""

    def late(recorder: Recorder) -> None:
        for seq in range(1_000):
            sent_ns = LOAD_NS + seq * 20 * MS
            send(recorder, seq, due_of(seq), late_ns=sent_ns - due_of(seq))
            receive(recorder, seq, sent_ns + 5 * MS)

    directory = planted(late, replace(INFO, checks=(QUICK,)))
    summary = quietly(directory.path)
    why = "the offered rate was not held, and the load generator was the limit"
    assert (summary["offered_rate"]["limited_by"], summary["verdict"]) == ("generator", "unknown")
    (reason,) = summary["reasons"]
    assert reason == f"check 'quick' could not be evaluated: {QUICK.metric} is doubtful, as {why}"
    assert "latency_ms.sent_to_received.p50" in summary["timing"]["sound"], "what was sent came at once"
    assert top(directory, summary).startswith(NOT_HELD)


@AT_NIGHT
def test_a_machine_used_up_by_others_makes_outages_doubtful(spark: SparkSession, planted: Planted) -> None:
    """The broker is killed at 20 s of 30. The backlog had grown since the start."""
    killed_ns = LOAD_NS + 20 * S

    def starved(recorder: Recorder) -> None:
        for seq in range(3_000):
            send(recorder, seq, due_of(seq))
            receive(recorder, seq, LOAD_NS + seq * 20 * MS + 5 * MS)
        for event, at_ns in (("connected", LOAD_NS - S), ("lost", killed_ns), ("connected", killed_ns + S)):
            recorder.connection(7, "consumers", "memory", ConnectionEvent("b", event, at_ns, ""))
        recorder.subscription(7, "orders", QUEUE, "queue", "b", LOAD_NS - S, "")
        recorder.member(7, 7, "consumers", "consumer", "Orders", LOAD_NS - S)
        recorder.fault("kill", "b", killed_ns, killed_ns + S, None, killed_ns, killed_ns, killed_ns + S)
        for at_s in range(-1, 31):
            for broker, kind, metric, cores in (
                ("", "machine", "cpu_busy_ns", 2.0),
                ("b", "process", "cpu_ns", 0.4),
                ("b", "process", "core_wait_ns", 1.5),
            ):
                recorder.sample(broker, LOAD_NS + at_s * S, kind, "", metric, round((at_s + 2) * cores * S))

    drained_ns = LOAD_NS + 61 * S
    phases = replace(
        INFO.phases, load_ended_ns=LOAD_NS + 30 * S, drain_ended_ns=drained_ns, browse_ended_ns=drained_ns + S
    )
    longest = Check("longest", "recovery.outage_ms.max", at_most=100_000)
    info = replace(INFO, phases=phases, machine={"cores": 2}, checks=(longest,))
    directory = planted(starved, info)
    summary = quietly(directory.path)
    assert summary["offered_rate"]["limited_by"] == "host"
    assert (summary["verdict"], longest.metric in summary["timing"]["doubtful"]) == ("unknown", True)
    assert summary["recovery"]["backlog_highest"], "there is one, which no fault made"
    answer_at_top = top(directory, summary)
    assert answer_at_top.startswith(NOT_HELD)
    assert re.search(r"b was killed at 20 s: 1 .*cut off, the slowest for [\d.]+ m?s \(doubtful\)", answer_at_top), (
        answer_at_top
    )
    assert "messages waited" not in answer_at_top


@AT_NIGHT
def test_the_same_backlog_is_no_doubt_where_a_scenario_is_limited_on_purpose(
    spark: SparkSession, planted: Planted
) -> None:
    def half(recorder: Recorder) -> None:
        for seq in range(1_000):
            send(recorder, seq, due_of(seq))
            receive(recorder, seq, LOAD_NS + seq * 20 * MS + 5 * MS)

    directory = planted(half, replace(INFO, limited_on_purpose="the scenario measures a link with a rate limit"))
    summary = quietly(directory.path)
    assert (summary["offered_rate"]["held"], summary["offered_rate"]["note"]) == (None, "")
    assert summary["timing"]["doubtful"] == {}
    assert "not held" not in top(directory, summary)
