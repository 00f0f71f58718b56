"""Checks that two connections between brokers carry more than one does, but do not keep the message order."""

from pathlib import Path

import pytest

from tests.support.locust_run import make_run, nothing_left

pytestmark = [pytest.mark.brokers, pytest.mark.links, pytest.mark.spark, pytest.mark.nightly]

RATE_PER_S, CARRIED_BY_ONE_PER_S = 600, 500  # 500 kB per second, in messages of 1 kB plus headers


@pytest.mark.parametrize("connectors", [1, 2])
def test_two_connections_carry_what_one_cannot_and_only_one_keeps_the_order(tmp_path: Path, connectors: int) -> None:
    topology = ("--topology", f"parallel-connectors(queue_connectors={connectors})")
    outcome = make_run("scenarios/parallel_connectors.py", *topology, "-t", "15s", runs=tmp_path / "runs")
    assert (outcome.summary["verdict"], outcome.status) == ("pass", 0), outcome.output
    received_per_s = outcome.summary["throughput"]["received_per_s"]
    if connectors == 1:
        assert received_per_s < CARRIED_BY_ONE_PER_S
        assert outcome.summary["messages"]["reordered"] == 0
    else:
        assert received_per_s > CARRIED_BY_ONE_PER_S
        assert outcome.summary["messages"]["reordered"] > 0
    assert nothing_left(outcome.runs)
