"""A broker is stopped for three seconds under a fixed rate: latencies from the due time must be as arithmetic says."""

import statistics

import pytest

from tests.support.locust_run import Outcome, make_run

pytestmark = [pytest.mark.brokers, pytest.mark.spark]

RATE_PER_S, FREEZE_S = 50, 3.0
STOPPING_S = 0.1  # SIGSTOP takes a moment to reach every thread
SLACK_S = 0.35  # of one message: catching up with what had queued
MOST_TO_WAKE_UP_S = 1.5  # of all together, on a machine that is busy


@pytest.fixture(scope="module")
def frozen(tmp_path_factory: pytest.TempPathFactory) -> Outcome:
    runs = tmp_path_factory.mktemp("frozen") / "runs"
    return make_run("tests/planted/locustfiles/frozen.py", "-t", "10s", "--warm-up", "2", runs=runs)


def waits(outcome: Outcome) -> list[tuple[float, float]]:
    """(how long the freeze had still to last when the message was due, its latency), in s; from the raw events."""
    (fault,) = outcome.events("faults")
    received = {(row["producer"], row["seq"]): row["received_ns"] for row in outcome.events("receipts")}
    return [
        ((fault["ended_ns"] - row["due_ns"]) / 1e9, (received[row["producer"], row["seq"]] - row["due_ns"]) / 1e9)
        for row in sorted(outcome.events("sends"), key=lambda row: int(row["due_ns"]))
        if fault["began_ns"] + STOPPING_S * 1e9 <= row["due_ns"] < fault["ended_ns"]
    ]


def wake_up_s(outcome: Outcome) -> float:
    """What all of them waited beyond the freeze: the broker wakes up, and sends out what had queued."""
    return statistics.median(latency_s - left_s for left_s, latency_s in waits(outcome))


def test_the_freeze_is_on_record_for_as_long_as_it_lasted(frozen: Outcome) -> None:
    (fault,) = frozen.events("faults")
    assert (fault["kind"], fault["target"], fault["error"]) == ("freeze", "broker-1", None)
    assert FREEZE_S <= (fault["ended_ns"] - fault["began_ns"]) / 1e9 < FREEZE_S + SLACK_S


def test_every_slot_of_the_freeze_was_sent_and_none_was_forgiven(frozen: Outcome) -> None:
    assert len(waits(frozen)) == pytest.approx(RATE_PER_S * (FREEZE_S - STOPPING_S), abs=RATE_PER_S * SLACK_S)


def test_latencies_in_the_freeze_fall_from_its_length_to_nothing(frozen: Outcome) -> None:
    assert 0 < wake_up_s(frozen) < MOST_TO_WAKE_UP_S
    for left_s, latency_s in waits(frozen):
        assert latency_s == pytest.approx(left_s + wake_up_s(frozen), abs=SLACK_S), left_s


def test_the_summary_shows_the_freeze_and_does_not_average_it_away(frozen: Outcome) -> None:
    latency_ms = frozen.summary["latency_ms"]["due_to_received"]
    late_ms, slack_ms = wake_up_s(frozen) * 1e3, SLACK_S * 1e3
    assert latency_ms["max"] == pytest.approx(FREEZE_S * 1e3 + late_ms, abs=slack_ms)
    # 30 % of the messages were due in the freeze: a tenth of all waited for more than two of its three seconds
    assert latency_ms["p90"] == pytest.approx(2_000 + late_ms, abs=slack_ms)
    assert frozen.summary["messages"]["lost"] == 0
