"""Stops a broker for three seconds under a fixed rate: latencies from the due time must match the calculated ones.

A busy machine may take long to stop the broker, to wake it up and to send the queued messages. So the latencies are
compared with the recorded times of this freeze.
"""

from itertools import pairwise

import pytest

from tests.support.locust_run import RunOutcome, make_run

pytestmark = [pytest.mark.brokers, pytest.mark.spark]

RATE_PER_S, FREEZE_S, LOAD_S = 50, 3.0, 10.0
STOPPING_S = 0.1  # SIGSTOP takes a moment to reach every thread
A_SLOT_S = 1 / RATE_PER_S
BUCKET = 0.01  # tolerance of the summary's quantiles
BUSY_S = 10.0  # the delay that a busy machine may add when it stops or wakes the broker


@pytest.fixture(scope="module")
def frozen(tmp_path_factory: pytest.TempPathFactory) -> RunOutcome:
    runs = tmp_path_factory.mktemp("frozen") / "runs"
    return make_run("tests/planted/locustfiles/frozen.py", "-t", "10s", "--warm-up", "2", runs=runs)


def waits(outcome: RunOutcome) -> list[tuple[float, float]]:
    """Return (remaining freeze at the message's due time, its latency), in s, from the raw events."""
    (fault,) = outcome.events("faults")
    silent_ns = silent_from_ns(outcome)
    received = {(row["producer"], row["seq"]): row["received_ns"] for row in outcome.events("receipts")}
    return [
        ((fault["ended_ns"] - row["due_ns"]) / 1e9, (received[row["producer"], row["seq"]] - row["due_ns"]) / 1e9)
        for row in sorted(outcome.events("sends"), key=lambda row: int(row["due_ns"]))
        if silent_ns <= row["due_ns"] < fault["ended_ns"]
    ]


def silent_from_ns(outcome: RunOutcome) -> float:
    """Return the time when the broker had stopped, and all messages that it sent earlier were received."""
    (fault,) = outcome.events("faults")
    before = [row["received_ns"] for row in outcome.events("receipts") if row["received_ns"] < fault["ended_ns"]]
    return max(fault["began_ns"] + STOPPING_S * 1e9, *before)


def longest_wait_s(outcome: RunOutcome) -> float:
    """Return the longest latency of the run's messages, in s."""
    received = {(row["producer"], row["seq"]): row["received_ns"] for row in outcome.events("receipts")}
    return max(received[row["producer"], row["seq"]] - row["due_ns"] for row in outcome.events("sends")) / 1e9


def test_the_freeze_is_on_record_for_as_long_as_it_lasted(frozen: RunOutcome) -> None:
    (fault,) = frozen.events("faults")
    assert (fault["kind"], fault["target"], fault["error"]) == ("freeze", "broker-1", None)
    assert FREEZE_S <= (fault["ended_ns"] - fault["began_ns"]) / 1e9 < FREEZE_S + BUSY_S


def test_every_slot_of_the_freeze_was_sent_and_none_was_forgiven(frozen: RunOutcome) -> None:
    (fault,) = frozen.events("faults")
    silent_s = (fault["ended_ns"] - silent_from_ns(frozen)) / 1e9
    assert silent_s > FREEZE_S / 2
    assert len(waits(frozen)) == pytest.approx(RATE_PER_S * min(silent_s, LOAD_S), abs=1)
    due_ns = sorted(row["due_ns"] for row in frozen.events("sends"))
    assert {(late - early) / 1e9 for early, late in pairwise(due_ns)} == {A_SLOT_S}


def test_latencies_in_the_freeze_fall_from_its_length_to_nothing(frozen: RunOutcome) -> None:
    assert len(waits(frozen)) > 1
    for left_s, latency_s in waits(frozen):
        assert left_s < latency_s < left_s + BUSY_S
    through = [latency_s - left_s for left_s, latency_s in waits(frozen)]
    assert through == sorted(through), "the broker's queue goes out in its order, beginning when the broker wakes up"


def test_the_summary_shows_the_freeze_and_does_not_average_it_away(frozen: RunOutcome) -> None:
    latency_ms = frozen.summary["latency_ms"]["due_to_received"]
    longest_ms = max(latency_s for _, latency_s in waits(frozen)) * 1e3
    assert latency_ms["max"] >= (FREEZE_S - STOPPING_S) * 1e3
    assert longest_ms * (1 - BUCKET) <= latency_ms["max"] <= longest_wait_s(frozen) * 1e3 * (1 + BUCKET)
    # 30 % of the messages were due in the freeze: a tenth of all messages waited for more than two of the three seconds
    assert 2_000 - 2 * STOPPING_S * 1e3 <= latency_ms["p90"] <= latency_ms["max"]
    assert frozen.summary["messages"]["lost"] == 0
