"""Checks whole runs with a broker that is killed and comes back: the records, the summary and the report."""

import re
from pathlib import Path

import psutil
import pytest

from tests.support.locust_run import LocustRun, RunOutcome, nothing_left, processes_of

pytestmark = [pytest.mark.brokers, pytest.mark.spark]

FAILOVER = "scenarios/failover.py"
TIMEOUT_S = 480  # a broker starts twice
KILLED_AT_S, DOWN_FOR_S = 4, 8


@pytest.fixture(scope="module")
def failover(tmp_path_factory: pytest.TempPathFactory) -> RunOutcome:
    runs = tmp_path_factory.mktemp("failover") / "runs"
    demands = ("--check", "recovery.cut_off >= 1", "--check", "recovery.outage_ms.max < 60000")
    size = ("--topology", "mesh(brokers=2)", "--consumers", "6", "-t", "14s", "--warm-up", "1")
    fault = ("--fault", f"kill(producers, at={KILLED_AT_S}, for={DOWN_FOR_S})")
    return LocustRun(FAILOVER, *size, *fault, "--seed", "3", *demands, runs=runs).outcome(TIMEOUT_S)


def test_a_killed_broker_is_no_crash_and_no_acknowledged_message_is_lost(failover: RunOutcome) -> None:
    assert (failover.summary["verdict"], failover.status) == ("pass", 0), failover.output
    assert failover.summary["messages"]["lost"] == 0
    assert [check["outcome"] for check in failover.summary["checks"]] == ["pass"] * 4


def test_the_moments_of_the_kill_were_measured_in_their_order(failover: RunOutcome) -> None:
    (fault,) = failover.events("faults")
    moments = [fault[f"{name}_ns"] for name in ("requested", "began", "effective", "ended", "restored")]
    assert moments == sorted(moments)
    assert (fault["kind"], fault["error"]) == ("kill", None)
    assert fault["ended_ns"] - fault["effective_ns"] >= DOWN_FOR_S * 1e9


def test_each_client_of_the_killed_broker_has_its_outage_and_came_back_elsewhere(failover: RunOutcome) -> None:
    (fault,) = failover.events("faults")
    (recovery,) = failover.summary["recovery"]["faults"]
    rows = failover.results("outages")
    lost = {row["client"] for row in failover.events("connections") if row["event"] == "lost"}
    assert {row["client"] for row in rows} == lost
    assert len(rows) == recovery["cut_off"] > 0
    assert recovery["clients"] == 30
    assert recovery["in_flight"] > 0
    assert all(row["to_broker"] not in (None, fault["target"]) for row in rows)
    assert all(row["began_ns"] < row["lost_ns"] < row["connected_ns"] < row["first_success_ns"] for row in rows)
    assert all(row["connected_ns"] <= row["ready_ns"] for row in rows)


def test_the_terminal_and_the_report_say_what_the_fault_did(failover: RunOutcome) -> None:
    for step in (r"requested", r"effective after \d+\.\d\d s", r"mended: accepts logins again after \d+\.\d\d s"):
        assert re.search(rf"fault kill of broker-\d, \d+\.\d s into the load: {step}", failover.output), step
    (recovery,) = failover.summary["recovery"]["faults"]
    assert re.search(rf"clients: all {recovery['cut_off']} back \d+\.\d s after the fault began", failover.output)
    page = (failover.run / "report.html").read_text(encoding="utf-8")
    answer = rf"broker-\d was killed at {KILLED_AT_S}(\.\d)? s: \d+ of 30 clients were cut off, the slowest"
    assert re.search(rf'class="answer">{answer}', page)


@pytest.mark.nightly  # harness/test_dead_brokers.py covers brokers that die in addition to a fault, and their report
def test_a_broker_that_dies_beside_a_declared_fault_is_still_a_crash(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    runs = tmp_path_factory.mktemp("crash") / "runs"
    fault = ("--fault", "freeze(broker-1, at=3, for=2)", "-t", "60s", "--warm-up", "1")
    run = LocustRun(FAILOVER, "--topology", "mesh(brokers=2)", *fault, runs=runs)
    run.wait_for(r"load: \d+ s of 60 s")
    broker = next(line for line in processes_of(runs) if "java" in line and "broker-2" in line and "guard" not in line)
    psutil.Process(int(broker.split()[0])).kill()
    outcome = run.outcome(TIMEOUT_S)
    assert outcome.summary["verdict"] == "invalid", outcome.output
    assert any("broker-2 ended unexpectedly" in reason for reason in outcome.summary["reasons"])
    assert nothing_left(runs)


@pytest.mark.nightly
def test_users_that_share_a_connection_to_the_killed_broker_have_an_outage_each(tmp_path: Path) -> None:
    """All four connections are at broker-1, the first of the failover URI."""
    shared = ("--connections", "pooled", "--pool-size", "2", "--failover", "randomize=false")
    size = ("--topology", "mesh(brokers=2)", "--producers", "12", "--consumers", "6", "-t", "26s", "--warm-up", "2")
    fault = ("--fault", "kill(broker-1, at=8, for=5)")
    outcome = LocustRun(FAILOVER, *size, *shared, *fault, runs=tmp_path / "runs").outcome(TIMEOUT_S)
    (recovery,) = outcome.summary["recovery"]["faults"]
    assert (recovery["clients"], recovery["cut_off"], recovery["never_back"]) == (18, 18, 0), outcome.output
    rows = outcome.results("outages")
    connection_of = {row["user"]: row["connection"] for row in outcome.events("members")}
    assert {row["user"]: row["client"] for row in rows} == connection_of
    assert len(set(connection_of.values())) == 4
    users = {row["producer"] for row in outcome.events("sends")} | {
        row["consumer"] for row in outcome.events("receipts")
    }
    assert {row["user"] for row in rows if row["role"]} == users
    assert all(row["lost_ns"] < row["connected_ns"] <= row["ready_ns"] for row in rows)
    assert len({row["first_success_ns"] for row in rows}) > 4, "of users, not of connections"
