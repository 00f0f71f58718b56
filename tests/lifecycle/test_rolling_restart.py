"""Checks a whole run that restarts its brokers one after the other, and loses nothing."""

from itertools import pairwise

import pytest

from harness.faults.rolling_restart import PAUSE_S
from tests.support.locust_run import LocustRun, RunOutcome, nothing_left

pytestmark = [pytest.mark.brokers, pytest.mark.spark, pytest.mark.nightly]

ROLLING_RESTART = "scenarios/rolling_restart.py"
TIMEOUT_S = 900
NS_PER_S = 1_000_000_000
AFTER_S = 10  # as the scenario says


@pytest.fixture(scope="module")
def restarted(tmp_path_factory: pytest.TempPathFactory) -> RunOutcome:
    runs = tmp_path_factory.mktemp("rolling-restart") / "runs"
    return LocustRun(ROLLING_RESTART, "--warm-up", "2", "--seed", "3", runs=runs).outcome(TIMEOUT_S)


def test_each_broker_is_restarted_once_the_one_before_it_is_back(restarted: RunOutcome) -> None:
    faults = sorted(restarted.events("faults"), key=lambda fault: int(fault["began_ns"]))
    assert [(fault["kind"], fault["target"], fault["error"]) for fault in faults] == [
        ("restart", f"broker-{number}", None) for number in (1, 2, 3)
    ]
    for earlier, later in pairwise(faults):
        assert later["began_ns"] - earlier["restored_ns"] >= PAUSE_S * NS_PER_S


def test_a_rolling_restart_loses_no_messages_or_clients(
    restarted: RunOutcome,
) -> None:
    """The summary has a row for each restart."""
    assert (restarted.summary["verdict"], restarted.status) == ("pass", 0), restarted.output
    assert restarted.summary["messages"]["lost"] == restarted.summary["recovery"]["never_back"] == 0
    rows = restarted.summary["recovery"]["faults"]
    assert [row["target"] for row in rows] == ["broker-1", "broker-2", "broker-3"]
    assert sum(row["cut_off"] for row in rows) == restarted.summary["recovery"]["cut_off"] >= 1
    assert {row["to_broker"] for row in restarted.results("outages")} <= {f"broker-{number}" for number in (1, 2, 3)}


def test_the_load_ends_by_itself_some_seconds_after_the_last_broker_is_back(restarted: RunOutcome) -> None:
    phases = restarted.info["phases"]
    last_ns = max(fault["restored_ns"] for fault in restarted.events("faults"))
    assert AFTER_S <= (phases["load_ended_ns"] - last_ns) / NS_PER_S < AFTER_S + 10
    assert nothing_left(restarted.runs)
