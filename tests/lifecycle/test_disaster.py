"""Checks a whole run in which a mirrored broker is killed: its clients move, and the lag of the mirror is known."""

from pathlib import Path

import pytest

from tests.support.locust_run import make_run, nothing_left

pytestmark = [pytest.mark.brokers, pytest.mark.spark, pytest.mark.nightly]

PRIMARY, COPY = "dc-1", "dc-2"


def test_clients_move_to_the_mirror_and_what_it_lacked_comes_with_the_broker_that_was_killed(tmp_path: Path) -> None:
    outcome = make_run("scenarios/disaster.py", "--link", "*:delay=500ms", "--seed", "7", runs=tmp_path / "runs")
    assert (outcome.summary["verdict"], outcome.status) == ("pass", 0), outcome.output
    assert {row["to_broker"] for row in outcome.results("outages")} == {COPY}
    assert outcome.summary["messages"]["lost"] == 0
    mirror = outcome.summary["mirror"]
    (at_kill,) = [row for row in mirror["at_kill"] if row["link"] == f"{PRIMARY}-to-{COPY}"]
    assert 0 < at_kill["lag_messages"] <= mirror["lag_messages"]["max"], "240 messages a second are on their way 500 ms"
    assert nothing_left(tmp_path / "runs")
