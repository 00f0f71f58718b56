"""Checks several destinations of a class in whole runs: each gets its configured share of messages."""

from collections import Counter
from pathlib import Path

import pytest

from tests.support.locust_run import RunOutcome, make_run, nothing_left

pytestmark = [pytest.mark.brokers, pytest.mark.spark, pytest.mark.nightly]

SCENARIO = "scenarios/many_destinations.py"
SIZE = ("--destinations", "7", "--producers", "3", "--consumers", "2", "--messages", "42", "--rate", "42")
SENT = {1: 5, 4: 5, 7: 4, 2: 7, 5: 7, 3: 7, 6: 7}
"""Messages of each destination: three producers send 14 each to (1, 4, 7), (2, 5) and (3, 6), round robin."""


def check(outcome: RunOutcome) -> None:
    assert (outcome.summary["verdict"], outcome.status) == ("pass", 0), outcome.output
    rows = outcome.results("accounting")
    expected = {f"queue://many.{number}": count for number, count in SENT.items()}
    assert {row["destination"]: row["received"] for row in rows} == expected
    assert {row["destination"]: row["sent"] for row in rows} == expected
    held = Counter(row["consumer"] for row in outcome.events("subscriptions"))
    assert sorted(held.values()) == [3, 4]
    destinations = outcome.summary["destinations"]
    assert (destinations["count"], destinations["reached"]) == (7, 7)
    assert 0 < destinations["first_ms"]["p50"] <= destinations["first_ms"]["max"]
    assert destinations["all_flow_s"] > 0
    assert nothing_left(outcome.runs)


def test_users_in_memory_share_the_destinations(tmp_path: Path) -> None:
    """Every message of each destination is accounted for."""
    check(make_run(SCENARIO, *SIZE, "--warm-up", "0", "--protocol", "memory", runs=tmp_path / "runs"))


@pytest.mark.parametrize("protocol", ["stomp", pytest.param("amqp", marks=pytest.mark.amqp), "stomp:openwire"])
def test_messages_to_each_destination_cross_the_link(tmp_path: Path, protocol: str) -> None:
    runtime = ("--runtime", "processes", "--protocol", protocol)
    check(make_run(SCENARIO, *SIZE, "--warm-up", "0", *runtime, runs=tmp_path / "runs"))
