"""Checks whole runs with a mirrored broker that is killed: clients move, and messages not mirrored are lost or late."""

from pathlib import Path

import pytest

from tests.support.locust_run import make_run, nothing_left

pytestmark = [pytest.mark.brokers, pytest.mark.spark, pytest.mark.nightly]

PRIMARY, COPY = "dc-1", "dc-2"


FAR = ("--link", "*:delay=500ms", "--seed", "7")


def test_what_the_mirror_lacked_is_lost_with_the_broker(tmp_path: Path) -> None:
    """The broker is not started again and its store is not searched, and the run still ends with a verdict."""
    outcome = make_run("scenarios/disaster.py", *FAR, "-t", "25s", runs=tmp_path / "runs")
    assert (outcome.summary["verdict"], outcome.status) == ("fail", 1), outcome.output
    (fault,) = outcome.summary["recovery"]["faults"]
    assert (fault["target"], fault["restored_s"], fault["cut_off"], fault["never_back"]) == (PRIMARY, None, 18, 0)
    assert 0 < fault["lost"] == outcome.summary["messages"]["lost"], "120 messages are on their way in 500 ms"
    assert fault["oldest_lost_s"] < 2
    assert outcome.summary["messages"]["unaccounted"] == outcome.summary["messages"]["stranded"] == 0
    assert any(f"broker {PRIMARY} never came back" in warning for warning in outcome.info["warnings"])
    assert nothing_left(tmp_path / "runs")


def test_clients_move_to_the_mirror_and_missing_messages_come_later(tmp_path: Path) -> None:
    back = ("--fault", "kill(producers, at=10, for=20)")
    outcome = make_run("scenarios/disaster.py", *FAR, *back, runs=tmp_path / "runs")
    assert (outcome.summary["verdict"], outcome.status) == ("pass", 0), outcome.output
    assert {row["to_broker"] for row in outcome.results("outages")} == {COPY}
    assert outcome.summary["messages"]["lost"] == 0
    mirror = outcome.summary["mirror"]
    (at_kill,) = [row for row in mirror["at_kill"] if row["link"] == f"{PRIMARY}-to-{COPY}"]
    assert 0 < at_kill["lag_messages"] <= mirror["lag_messages"]["max"], (
        "240 messages per second are in transit for 500 ms"
    )
    assert nothing_left(tmp_path / "runs")
