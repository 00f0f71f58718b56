"""Checks a whole run where a link's end is killed, and the link moves to the standby."""

from pathlib import Path

import pytest

from tests.support.locust_run import make_run, nothing_left

pytestmark = [pytest.mark.brokers, pytest.mark.spark, pytest.mark.nightly]


@pytest.mark.parametrize(
    ("topology", "standby"),
    [("source-and-sink(sink_standby=True)", "sink-standby"), ("senders(alternate=True)", "sink-backup")],
)
def test_a_link_goes_on_to_the_standby_and_brings_what_waited(tmp_path: Path, topology: str, standby: str) -> None:
    outcome = make_run("scenarios/link_failover.py", "--topology", topology, "--seed", "7", runs=tmp_path / "runs")
    assert (outcome.summary["verdict"], outcome.status) == ("pass", 0), outcome.output
    rows = outcome.results("outages")
    assert {(row["role"], row["to_broker"]) for row in rows} == {("consumer", standby)}
    assert outcome.summary["recovery"]["backlog_highest"] > 0
    assert nothing_left(tmp_path / "runs")
