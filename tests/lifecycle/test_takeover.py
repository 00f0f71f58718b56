"""Checks a whole run with a standby that takes over from its killed active broker."""

from pathlib import Path

import pytest

from tests.support.locust_run import LocustRun, RunOutcome, nothing_left

pytestmark = [
    pytest.mark.brokers,
    pytest.mark.spark,
    pytest.mark.nightly,  # topologies_runtime/test_pairs.py covers pairs, test_failover.py a whole run with a kill
]

TAKEOVER = "scenarios/takeover.py"
TIMEOUT_S = 480
ACTIVE, STANDBY = "broker-1", "broker-1-standby"
CLIENTS = 9


@pytest.fixture(scope="module")
def takeover(tmp_path_factory: pytest.TempPathFactory) -> RunOutcome:
    runs = tmp_path_factory.mktemp("takeover") / "runs"
    fault = ("--fault", f"kill({ACTIVE}, at=3, for=20)", "--check", f"recovery.cut_off == {CLIENTS}")
    size = ("--producers", "6", "--consumers", "3", "-t", "35s", "--warm-up", "2", "--seed", "3")
    return LocustRun(TAKEOVER, *size, *fault, runs=runs).outcome(TIMEOUT_S)


def test_no_acknowledged_message_is_lost_or_left_behind_in_the_handover(takeover: RunOutcome) -> None:
    assert (takeover.summary["verdict"], takeover.status) == ("pass", 0), takeover.output
    assert [check["outcome"] for check in takeover.summary["checks"]] == ["pass"] * 4
    assert takeover.summary["messages"]["lost"] == 0


def test_every_client_came_back_at_the_standby(takeover: RunOutcome) -> None:
    rows = takeover.results("outages")
    assert len(rows) == CLIENTS
    assert {row["to_broker"] for row in rows} == {STANDBY}
    assert all(row["began_ns"] < row["lost_ns"] < row["connected_ns"] < row["first_success_ns"] for row in rows)


def test_the_killed_broker_returns_as_the_standby_and_no_client_goes_back(takeover: RunOutcome) -> None:
    (fault,) = takeover.events("faults")
    assert fault["error"] is None
    assert fault["restored_ns"] is not None, "it is the standby of a broker that accepts logins"
    there = [row for row in takeover.events("connections") if row["event"] == "connected" and row["broker"] == ACTIVE]
    assert there
    assert all(row["at_ns"] < fault["began_ns"] for row in there)
    assert nothing_left(takeover.runs)


@pytest.mark.nightly
def test_a_backup_serves_core_clients_and_hands_them_back(tmp_path: Path) -> None:
    """The clients also lose the backup when it steps back, although the run has no fault at that broker."""
    arguments = ("--topology", "live-backup", "--protocol", "core", "--producers", "6", "--consumers", "3", "-t", "60s")
    outcome = LocustRun(TAKEOVER, *arguments, runs=tmp_path / "runs").outcome(TIMEOUT_S)
    assert (outcome.summary["verdict"], outcome.status) == ("pass", 0), outcome.output
    rows = outcome.results("outages")
    assert len(rows) == CLIENTS
    assert {row["to_broker"] for row in rows} == {"broker-1-backup"}
    assert all(row["connected_ns"] <= row["ready_ns"] for row in rows)
    last = {row["client"]: row["broker"] for row in outcome.events("connections") if row["event"] == "ready"}
    assert set(last.values()) == {ACTIVE}
    assert nothing_left(outcome.runs)
