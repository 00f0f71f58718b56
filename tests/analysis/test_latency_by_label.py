"""Checks latencies by consumer class and by destination: planted latencies are found, in any number of parts."""

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from analysis.events.run import TopicResults
from analysis.latency.timing import Clocks, doubtful_labels
from analysis.latency.topic import LatencyTopic
from analysis.run.checks import evaluate, value_at
from records.figures.checks import Check, label_of, labeled
from records.figures.latency import MOST_LABELS, labels_of
from records.run import UserInfo
from records.store import parts
from records.store.writer import Recorder
from tests.analysis.runs import INFO, MS, due_of, make, quietly
from tests.analysis.topics import results_of
from tests.support.event_rows import receipt_row, send_row

ORDERS, TELEMETRY = "queue://orders", "queue://telemetry"
USERS = (
    UserInfo("Shop", "producer", "producers", ORDERS, 1),
    UserInfo("Sensor", "producer", "producers", TELEMETRY, 1),
    UserInfo("OrderConsumer", "consumer", "consumers", ORDERS, 1),
    UserInfo("SlowConsumer", "consumer", "consumers", TELEMETRY, 1),
)
TWO = replace(INFO, users=USERS)
MESSAGES = 2_000
TOOK_MS = {ORDERS: 5, TELEMETRY: 80}
PRODUCER = {ORDERS: 1, TELEMETRY: 2}
CONSUMER = {ORDERS: 7, TELEMETRY: 8}
P99 = "latency_ms.due_to_received.p99"


def two_classes(recorder: Recorder, *, late_ns: int = 0, messages: int = MESSAGES) -> None:
    """Orders take 5 ms, telemetry 80 ms; ``late_ns``: how late the generator sends telemetry."""
    for destination, user_class in ((ORDERS, "OrderConsumer"), (TELEMETRY, "SlowConsumer")):
        consumer = CONSUMER[destination]
        recorder.member(consumer, consumer, "consumers", "consumer", user_class, 0)
        late = late_ns if destination == TELEMETRY else 0
        for seq in range(messages):
            due_ns = due_of(0) + seq * 4 * MS
            sent_ns, producer = due_ns + late, PRODUCER[destination]
            message = {"producer": producer, "destination": destination}
            recorder.send(send_row(seq, due_ns, sent_ns=sent_ns, settled_ns=sent_ns + 2 * MS, **message))
            at_ns = due_ns + TOOK_MS[destination] * MS
            name = destination.removeprefix("queue://")
            recorder.receipt(receipt_row(seq, at_ns, consumer=consumer, subscription=name, **message))


def results(folder: Path, number_of_parts: int = 1, **planted: int) -> TopicResults:
    directory = make(folder, lambda recorder: two_classes(recorder, **planted), TWO)
    return results_of(directory, number_of_parts, (LatencyTopic(),))


def test_each_class_and_destination_has_its_planted_latency(tmp_path: Path) -> None:
    by_label = results(tmp_path).summary["latency_by"]
    for kind, names in (("consumer_classes", ("OrderConsumer", "SlowConsumer")), ("destinations", (ORDERS, TELEMETRY))):
        fast, slow = (by_label[kind][name] for name in names)
        assert (fast["count"], fast["min"], fast["max"]) == (MESSAGES, 5, 5)
        assert (slow["count"], slow["min"], slow["max"]) == (MESSAGES, 80, 80)
        assert fast["p99"] == pytest.approx(5, rel=0.004)
        assert slow["p99"] == pytest.approx(80, rel=0.004)


@given(st.integers(1, 9))
@settings(max_examples=5, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_the_figures_are_the_same_for_any_number_of_parts(
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    monkeypatch.setattr(parts, "SEQS_PER_BLOCK", 16)
    folder = tmp_path_factory.mktemp("parts")
    whole = results(folder / "one").summary
    divided = results(folder / "several", number).summary
    assert divided["latency_by"] == whole["latency_by"]
    for group in divided["latency_by"].values():
        counts = [latency["count"] for latency in group.values()]
        assert sum(counts) == divided["latency_ms"]["due_to_received"]["count"] == 2 * MESSAGES


def test_one_class_has_the_latency_of_the_whole_run(tmp_path: Path) -> None:
    info = replace(INFO, users=(USERS[0], USERS[2]))
    summary = results_of(make(tmp_path, two_classes, info), 1, (LatencyTopic(),)).summary
    assert summary["latency_by"]["consumer_classes"] == {"OrderConsumer": summary["latency_ms"]["due_to_received"]}
    assert summary["latency_by"]["destinations"] == {ORDERS: summary["latency_ms"]["due_to_received"]}


def test_a_class_that_received_nothing_has_no_figures(tmp_path: Path) -> None:
    info = replace(TWO, users=(*USERS, UserInfo("Idle", "consumer", "consumers", ORDERS, 1)))
    by_label = results_of(make(tmp_path, two_classes, info), 1, (LatencyTopic(),)).summary["latency_by"]
    assert (by_label["consumer_classes"]["Idle"]["count"], by_label["consumer_classes"]["Idle"]["p99"]) == (0, None)


def test_a_percentile_of_too_few_messages_is_unknown_and_so_is_its_check(tmp_path: Path) -> None:
    summary = results(tmp_path, messages=900).summary | {"timing": {"doubtful": {}}}
    assert value_at(summary, labeled(P99, "OrderConsumer")) is None
    (result,) = evaluate([Check("c", labeled(P99, "OrderConsumer"), below=50)], summary)
    assert result["outcome"] == "unknown"


@pytest.mark.parametrize(
    ("label", "outcome"),
    [("OrderConsumer", "pass"), (ORDERS, "pass"), ("SlowConsumer", "fail"), (TELEMETRY, "fail"), ("Other", "unknown")],
)
def test_a_check_takes_the_figure_of_its_label(tmp_path: Path, label: str, outcome: str) -> None:
    summary = results(tmp_path).summary | {"timing": {"doubtful": {}}}
    (result,) = evaluate([Check("c", labeled(P99, label), below=50)], summary)
    assert result["outcome"] == outcome


def test_only_the_label_whose_sends_were_late_is_doubtful(tmp_path: Path) -> None:
    doubtful = doubtful_labels(results(tmp_path, late_ns=60 * MS).latency_of_labels, Clocks())
    assert {label_of(name)[1] for name in doubtful} == {"SlowConsumer", TELEMETRY}
    assert labeled(P99, "SlowConsumer") in doubtful


def test_a_backlog_makes_every_label_doubtful(tmp_path: Path) -> None:
    found = results(tmp_path).latency_of_labels
    doubtful = doubtful_labels(found, Clocks(), {"due_to_received": "a backlog"})
    assert {label_of(name)[1] for name in doubtful} == {"OrderConsumer", "SlowConsumer", ORDERS, TELEMETRY}


@pytest.mark.spark
@pytest.mark.usefixtures("spark")
def test_the_whole_analysis_has_them_too(tmp_path: Path) -> None:
    """By Spark's plan, with a check in run.json on the slow class."""
    checks = (
        Check("fast", labeled(P99, "OrderConsumer"), below=50),
        Check("slow", labeled(P99, "SlowConsumer"), below=50),
    )
    directory = make(tmp_path, two_classes, replace(TWO, checks=checks))
    summary = quietly(directory.path)
    assert summary["latency_by"]["consumer_classes"]["OrderConsumer"]["p99"] == pytest.approx(5, rel=0.004)
    assert [check["outcome"] for check in summary["checks"]] == ["pass", "fail"]
    assert summary["verdict"] == "fail"


def test_destinations_beyond_the_most_have_no_figures() -> None:
    many = UserInfo("Shop", "producer", "producers", "queue://q.{n}", 1, {"destinations": MOST_LABELS + 1})
    assert labels_of([many]) == ((), ())


def test_a_label_is_written_and_read_back() -> None:
    assert label_of(labeled(P99, ORDERS)) == (P99, ORDERS)
    assert label_of(P99) == (P99, "")
