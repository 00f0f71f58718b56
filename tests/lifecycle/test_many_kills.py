"""Kills brokers again and again under durable load, and demands every confirmed message."""

from pathlib import Path

import pytest

from tests.support.locust_run import LocustRun, nothing_left

MANY_KILLS = "tests/lifecycle/locustfiles/many_kills.py"
TIMEOUT_S = 900


@pytest.mark.brokers
@pytest.mark.spark
@pytest.mark.nightly
@pytest.mark.timeout(TIMEOUT_S + 60)
@pytest.mark.parametrize("runtime", ["processes", pytest.param("containers", marks=pytest.mark.containers)])
@pytest.mark.parametrize("protocol", ["stomp", "openwire", pytest.param("amqp", marks=pytest.mark.amqp)])
def test_no_confirmed_message_is_lost_when_a_broker_of_a_mesh_is_killed_twenty_times(
    protocol: str, runtime: str, tmp_path: Path
) -> None:
    where = ("--topology", "mesh", "--runtime", runtime, "--protocol", protocol)
    outcome = LocustRun(MANY_KILLS, *where, runs=tmp_path / "runs").outcome(TIMEOUT_S)
    assert outcome.summary["messages"]["lost"] == 0, outcome.output
    assert (outcome.summary["verdict"], outcome.status) == ("pass", 0), outcome.output
    kills = outcome.summary["recovery"]["faults"]
    assert [(kill["kind"], kill["restored_s"] is None) for kill in kills] == [("kill", False)] * 20
    assert sum(kill["cut_off"] for kill in kills) > 20
    assert nothing_left(outcome.runs)
