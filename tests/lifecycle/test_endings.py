"""Checks that a run leaves nothing on the machine however it ends, and that its records are kept."""

import signal
import time
from pathlib import Path

import psutil
import pytest

from tests.support.locust_run import LocustRun, nothing_left, processes_of
from tests.support.waiting import until

pytestmark = [pytest.mark.brokers, pytest.mark.spark]

STEADY = "scenarios/steady.py"
QUICK = ("--topology", "mesh(brokers=2)", "--warm-up", "1")


def ports_of(runs: Path) -> set[int]:
    """Return the listening ports of all processes for a folder of runs."""
    pids = {int(line.split()[0]) for line in processes_of(runs)}
    return {
        connection.laddr.port
        for connection in psutil.net_connections("tcp")
        if connection.status == "LISTEN" and connection.pid in pids
    }


def anything_listens(ports: set[int]) -> bool:
    return any(
        connection.laddr.port in ports for connection in psutil.net_connections("tcp") if connection.status == "LISTEN"
    )


@pytest.fixture
def loaded(tmp_path: Path) -> LocustRun:
    """Start a run with a long load."""
    run = LocustRun(STEADY, *QUICK, "-t", "120s", runs=tmp_path / "runs")
    run.wait_for(r"load: \d+ s of 120 s, sent [1-9]")
    return run


def test_one_ctrl_c_ends_the_load_and_reports_it_as_interrupted(loaded: LocustRun) -> None:
    ports = ports_of(loaded.runs)
    assert ports, "the brokers' ports were seen"
    loaded.send(signal.SIGINT)
    outcome = loaded.outcome()
    assert (outcome.status, outcome.summary["verdict"]) == (130, "interrupted"), outcome.output
    assert outcome.summary["messages"]["sent"] == outcome.summary["messages"]["received"] > 0
    assert (outcome.run / "report.html").exists()
    assert nothing_left(loaded.runs)
    assert not anything_listens(ports)


@pytest.mark.nightly
def test_two_ctrl_c_tear_everything_down_at_once_and_keep_the_events(loaded: LocustRun) -> None:
    ports = ports_of(loaded.runs)
    loaded.send(signal.SIGINT)
    time.sleep(0.5)
    loaded.send(signal.SIGINT)
    outcome = loaded.outcome()
    assert outcome.status == 130, outcome.output
    assert nothing_left(loaded.runs)
    assert not anything_listens(ports)
    assert outcome.info["state"] == "interrupted"
    assert any((outcome.run / "streams" / "sends").iterdir())
    assert not list(outcome.run.glob("brokers/*/data")), "the brokers' stores are thrown away"


@pytest.mark.nightly  # topologies_runtime/test_processes.py covers a killed harness
def test_sigkill_of_the_harness_soon_leaves_no_broker_and_no_port(loaded: LocustRun) -> None:
    ports = ports_of(loaded.runs)
    loaded.send(signal.SIGKILL)
    loaded.outcome()
    assert nothing_left(loaded.runs)
    assert not anything_listens(ports)


@pytest.mark.nightly
def test_sigterm_takes_everything_down(loaded: LocustRun) -> None:
    loaded.send(signal.SIGTERM)
    outcome = loaded.outcome()
    assert outcome.status == 130, outcome.output
    assert nothing_left(loaded.runs)


def test_ctrl_c_while_the_brokers_come_up_takes_them_down_again(tmp_path: Path) -> None:
    run = LocustRun(STEADY, *QUICK, "-t", "60s", runs=tmp_path / "runs")
    run.wait_for("topology mesh")
    until(lambda: any("java" in line for line in processes_of(run.runs)))
    run.send(signal.SIGINT)
    outcome = run.outcome()
    assert outcome.status == 130, outcome.output
    assert "interrupted before the load began" in outcome.output
    assert "Traceback" not in outcome.output
    assert nothing_left(run.runs)


@pytest.mark.links
@pytest.mark.parametrize("transport", ["tcp", pytest.param("ssl", marks=pytest.mark.nightly)])
def test_ctrl_c_right_after_the_links_were_proven_is_no_fault_of_our_own(tmp_path: Path, transport: str) -> None:
    topology = f"source-and-sink(transport='{transport}')"
    run = LocustRun(STEADY, "--topology", topology, "--link", "*:delay=300ms", "-t", "60s", runs=tmp_path / "runs")
    run.wait_for("links proven")
    run.send(signal.SIGINT)
    outcome = run.outcome()
    assert outcome.status == 130, outcome.output
    assert outcome.output.splitlines()[-1] == "Failed:  interrupted before the load began"
    assert "Traceback" not in outcome.output
    assert outcome.info["state"] == "interrupted"
    assert nothing_left(run.runs)


@pytest.mark.nightly  # harness/test_dead_brokers.py
def test_a_broker_that_dies_in_the_load_is_named_with_its_log_and_the_run_is_invalid(tmp_path: Path) -> None:
    run = LocustRun(STEADY, *QUICK, "-t", "60s", runs=tmp_path / "runs")
    run.wait_for(r"load: \d+ s of 60 s")
    broker = next(line for line in processes_of(run.runs) if "java" in line and "guard" not in line)
    psutil.Process(int(broker.split()[0])).kill()
    outcome = run.outcome()
    assert outcome.summary["verdict"] == "invalid", outcome.output
    assert any("ended unexpectedly" in reason for reason in outcome.summary["reasons"])
    assert nothing_left(run.runs)
