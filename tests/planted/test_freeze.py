"""A broker is stopped for three seconds under a fixed rate: latencies from the due time must be as arithmetic says."""

import pytest

from tests.support.locust_run import Outcome, make_run

pytestmark = [pytest.mark.brokers, pytest.mark.spark]

RATE_PER_S, FREEZE_S = 50, 3.0
SLACK_S = 0.35  # waking up, and catching up with what had queued


@pytest.fixture(scope="module")
def frozen(tmp_path_factory: pytest.TempPathFactory) -> Outcome:
    runs = tmp_path_factory.mktemp("frozen") / "runs"
    return make_run("tests/planted/locustfiles/frozen.py", "-t", "10s", runs=runs)


def latencies_in_the_freeze_s(outcome: Outcome) -> list[float]:
    """Of the messages that were due while the broker stood still, by due time; from the raw events."""
    (fault,) = outcome.events("faults")
    received = {(row["producer"], row["seq"]): row["received_ns"] for row in outcome.events("receipts")}
    due = sorted(
        (row["due_ns"], received[row["producer"], row["seq"]])
        for row in outcome.events("sends")
        if fault["began_ns"] <= row["due_ns"] < fault["ended_ns"]
    )
    return [(received_ns - due_ns) / 1e9 for due_ns, received_ns in due]


def test_the_freeze_is_on_record_for_as_long_as_it_lasted(frozen: Outcome) -> None:
    (fault,) = frozen.events("faults")
    assert (fault["kind"], fault["target"], fault["error"]) == ("freeze", "broker-1", None)
    assert FREEZE_S <= (fault["ended_ns"] - fault["began_ns"]) / 1e9 < FREEZE_S + SLACK_S


def test_every_slot_of_the_freeze_was_sent_and_none_was_forgiven(frozen: Outcome) -> None:
    assert len(latencies_in_the_freeze_s(frozen)) == pytest.approx(RATE_PER_S * FREEZE_S, abs=RATE_PER_S * SLACK_S)


def test_latencies_in_the_freeze_fall_from_its_length_to_nothing(frozen: Outcome) -> None:
    latencies_s = latencies_in_the_freeze_s(frozen)
    for index, latency_s in enumerate(latencies_s):
        expected_s = FREEZE_S - index / RATE_PER_S
        assert latency_s == pytest.approx(expected_s, abs=SLACK_S), index


def test_the_summary_shows_the_freeze_and_does_not_average_it_away(frozen: Outcome) -> None:
    latency_ms = frozen.summary["latency_ms"]["due_to_received"]
    assert latency_ms["max"] == pytest.approx(FREEZE_S * 1e3, abs=SLACK_S * 1e3)
    # 30 % of the messages were due in the freeze: a tenth of all waited for more than two of its three seconds
    assert latency_ms["p90"] == pytest.approx(2_000, abs=SLACK_S * 1e3)
    assert frozen.summary["messages"]["lost"] == 0
