"""Checks that unplanned outages are found, with planted silences and lost connections."""

from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from records.figures.faults import Unplanned
from records.store.rundir import RunDirectory
from records.store.writer import Recorder
from records.tables.connection_events import ConnectionEvent
from reports.faults import unplanned_sentences
from tests.analysis.runs import LOAD_NS, MS, QUEUE, S, due_of, healthy, make, quietly, receive
from tests.support.event_rows import send_row

pytestmark = pytest.mark.spark

Planted = Callable[..., RunDirectory]
FROM_NS, UNTIL_NS = LOAD_NS + 4 * S, LOAD_NS + 7_300 * MS
SILENCE: Unplanned = {"broker": "a", "what": "silent", "from_s": 3.992, "until_s": 7.3, "clients": 1}
"""The last message before the silence was due 10 ms earlier and was confirmed after 2 ms."""


@pytest.fixture
def planted(tmp_path: Path) -> Planted:
    return partial(make, tmp_path)


def unplanned_in(directory: RunDirectory) -> list[Unplanned]:
    return quietly(directory.path)["unplanned"]


def after_the_silence(at_ns: int) -> int:
    return UNTIL_NS if FROM_NS <= at_ns < UNTIL_NS else at_ns


def stopped(recorder: Recorder, *, confirms: bool = False) -> None:
    """Broker a is silent for 3.3 s, so nothing reaches broker b. ``confirms``: b is silent instead."""
    for seq in range(1_000):
        due_ns = due_of(seq)
        settled_ns = due_ns + 2 * MS if confirms else after_the_silence(due_ns) + 2 * MS * (due_ns < FROM_NS)
        recorder.send(send_row(seq, due_ns, settled_ns=settled_ns))
        receive(recorder, seq, max(after_the_silence(due_ns), settled_ns) + MS)


def test_a_healthy_run_had_none(spark: SparkSession, planted: Planted) -> None:
    assert unplanned_in(planted(healthy)) == []


def test_a_broker_that_stood_still_is_named_and_those_behind_it_are_not(spark: SparkSession, planted: Planted) -> None:
    (outage,) = unplanned_in(planted(stopped))
    assert outage == {**SILENCE, "from_s": pytest.approx(3.992), "clients": outage["clients"]}
    assert unplanned_sentences([outage]).startswith("Outside any fault, a was silent from 4.0 s to 7.3 s, while 1 ")


def test_a_broker_that_delivered_nothing_while_another_confirmed_is_named(
    spark: SparkSession, planted: Planted
) -> None:
    (outage,) = unplanned_in(planted(partial(stopped, confirms=True)))
    assert (outage["broker"], outage["clients"], outage["until_s"]) == ("b", 1, pytest.approx(7.301))


def test_within_a_fault_it_was_planned(spark: SparkSession, planted: Planted) -> None:
    def plant(recorder: Recorder) -> None:
        stopped(recorder)
        recorder.fault("freeze", "a", FROM_NS, UNTIL_NS, None)

    assert unplanned_in(planted(plant)) == []


def test_a_load_generator_that_stood_still_is_no_outage_of_a_broker(spark: SparkSession, planted: Planted) -> None:
    def plant(recorder: Recorder) -> None:
        stopped(recorder)
        recorder.stall(0, "memory", FROM_NS, UNTIL_NS)

    assert unplanned_in(planted(plant)) == []


def test_a_time_without_messages_is_no_outage(spark: SparkSession, planted: Planted) -> None:
    def plant(recorder: Recorder) -> None:
        for seq in [seq for seq in range(1_000) if not FROM_NS <= due_of(seq) < UNTIL_NS]:
            recorder.send(send_row(seq, due_of(seq), settled_ns=due_of(seq) + MS))
            receive(recorder, seq, due_of(seq) + 2 * MS)

    assert unplanned_in(planted(plant)) == []


def lose(recorder: Recorder, client: int, at_ns: int, back_ns: int | None) -> None:
    recorder.connection(client, "producers", "stomp", ConnectionEvent("a", "connected", LOAD_NS - S, ""))
    recorder.connection(client, "producers", "stomp", ConnectionEvent("a", "lost", at_ns, "closed by the broker"))
    if back_ns is not None:
        recorder.connection(client, "producers", "stomp", ConnectionEvent("b", "connected", back_ns, ""))


def test_users_that_share_a_lost_connection_count_one_by_one(spark: SparkSession, planted: Planted) -> None:
    def plant(recorder: Recorder) -> None:
        healthy(recorder)
        lose(recorder, 900, LOAD_NS + 2 * S, LOAD_NS + 3 * S)
        for user in (1, 7, 8):
            recorder.member(user, 900, "producers", "producer", "Orders", LOAD_NS - S)

    (outage,) = unplanned_in(planted(plant))
    assert (outage["what"], outage["clients"]) == ("lost connections", 3)


def test_connections_lost_without_a_fault_are_an_outage_until_the_last_is_back(
    spark: SparkSession, planted: Planted
) -> None:
    def plant(recorder: Recorder) -> None:
        healthy(recorder)
        for client, at_s, back_s in ((1, 2.0, 2.5), (2, 2.1, 4.0), (3, 8.5, None)):
            lose(recorder, client, LOAD_NS + round(at_s * S), None if back_s is None else LOAD_NS + round(back_s * S))

    outage_1, outage_2 = unplanned_in(planted(plant))
    assert outage_1 == {"broker": "a", "what": "lost connections", "from_s": 2.0, "until_s": 4.0, "clients": 2}
    assert outage_2 == {"broker": "a", "what": "lost connections", "from_s": 8.5, "until_s": None, "clients": 1}
    assert unplanned_sentences([outage_1, outage_2]) == (
        "Outside any fault, 2 clients lost the connection to a at 2.0 s; all were connected again at 4.0 s. "
        "Outside any fault, 1 client lost the connection to a at 8.5 s; not all were connected again."
    )


def frozen_to_the_end(recorder: Recorder, *, from_ns: int = FROM_NS) -> None:
    """Broker a stops answering and delivering."""
    for seq in range(1_000):
        due_ns = due_of(seq)
        answered = due_ns < from_ns
        settled_ns, outcome = (due_ns + 2 * MS, "acked") if answered else (None, "in_doubt")
        recorder.send(send_row(seq, due_ns, settled_ns=settled_ns, outcome=outcome))
        if answered:
            receive(recorder, seq, due_ns + 3 * MS)


def test_an_outage_to_the_end_of_the_load_is_named(spark: SparkSession, planted: Planted) -> None:
    summary = quietly(planted(frozen_to_the_end).path)
    (outage,) = summary["unplanned"]
    assert outage == {**SILENCE, "from_s": pytest.approx(3.992), "until_s": None}
    assert unplanned_sentences([outage]) == (
        "Outside any fault, a was silent from 4.0 s to the end of the load, while 1 client waited."
    )
    assert summary["offered_rate"]["held"] is False
    assert summary["offered_rate"]["backlog"] == 600


def test_an_outage_within_a_fault_to_the_end_was_planned(spark: SparkSession, planted: Planted) -> None:
    def plant(recorder: Recorder) -> None:
        frozen_to_the_end(recorder)
        recorder.fault("freeze", "a", FROM_NS, None, None)

    assert unplanned_in(planted(plant)) == []


def test_a_load_that_has_nothing_more_to_send_is_no_outage(spark: SparkSession, planted: Planted) -> None:
    def plant(recorder: Recorder) -> None:
        for seq in range(400):
            recorder.send(send_row(seq, due_of(seq), settled_ns=due_of(seq) + MS))
            receive(recorder, seq, due_of(seq) + 2 * MS)

    assert unplanned_in(planted(plant)) == []


def test_a_broker_frozen_with_its_consumers_is_named(spark: SparkSession, planted: Planted) -> None:
    """a confirms all messages, and they wait there: the consumer's broker b no longer takes any of them."""

    def plant(recorder: Recorder, *, found: bool) -> None:
        recorder.connection(7, "consumers", "stomp", ConnectionEvent("b", "connected", LOAD_NS - S, ""))
        recorder.subscription(7, "orders", QUEUE, "queue", "b", LOAD_NS - S, "")
        for seq in range(1_000):
            due_ns = due_of(seq)
            recorder.send(send_row(seq, due_ns, settled_ns=due_ns + 2 * MS))
            if due_ns < FROM_NS:
                receive(recorder, seq, due_ns + 3 * MS)
            elif found:
                recorder.leftover("a", "orders", False, 1, seq, 1, None, False)

    (outage,) = unplanned_in(planted(partial(plant, found=True)))
    assert outage == {**SILENCE, "broker": "b", "from_s": pytest.approx(3.993), "until_s": None}
