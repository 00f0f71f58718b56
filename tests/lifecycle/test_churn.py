"""Checks the scenario churn on a real broker: each message has a connection, unless connections stay."""

from pathlib import Path

import pytest

from tests.support.locust_run import make_run, nothing_left

pytestmark = [pytest.mark.brokers, pytest.mark.spark, pytest.mark.nightly]

MESSAGES = 60


@pytest.mark.parametrize(
    ("connections", "producer_connections"), [("per-message", MESSAGES), ("one", 10), ("pooled", 1)]
)
def test_producers_connect_as_often_as_the_option_says(
    tmp_path: Path, connections: str, producer_connections: int
) -> None:
    size = ("--messages", str(MESSAGES), "--rate", "30", "--warm-up", "0", "--connections", connections)
    outcome = make_run("scenarios/churn.py", *size, runs=tmp_path / "runs")
    assert (outcome.summary["verdict"], outcome.status) == ("pass", 0), outcome.output
    connected = [row for row in outcome.events("connections") if row["event"] == "connected"]
    assert sum(row["group"] == "producers" for row in connected) == producer_connections
    assert outcome.summary["messages"]["received"] == MESSAGES
    assert nothing_left(tmp_path / "runs")
