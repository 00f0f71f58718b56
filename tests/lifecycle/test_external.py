"""Checks that runs on existing brokers work like any others, and leave the brokers running."""

import threading
import time
from dataclasses import dataclass
from pathlib import Path

import pytest

from brokerbench.reaching import brokers_file
from records.store.rundir import RunDirectory
from tests.support.brokers import over_tls, running
from tests.support.locust_run import RunOutcome, make_run, nothing_left
from tests.support.waiting import until
from topologies.catalogue.lookup import build
from topologies.model.endpoints import Credentials
from topologies.model.topology import Topology
from topologies.runtimes.contract import Runtime
from topologies.runtimes.external.credentials import ExternalCredentials
from topologies.runtimes.processes.runtime import ProcessRuntime

pytestmark = [pytest.mark.brokers, pytest.mark.spark]
SHORT = ("-t", "3s", "--warm-up", "0", "--producers", "4", "--consumers", "4", "--rate", "200")


def write_brokers_file(runtime: Runtime, topology: Topology, folder: Path) -> Path:
    """Write the brokers file, with the credentials next to it."""
    agent = runtime.management(topology.brokers[0].name)
    secrets = ExternalCredentials(runtime.credentials(), Credentials(agent.username, agent.password))
    (folder / "credentials.env").touch(mode=0o600)
    (folder / "credentials.env").write_text(secrets.as_file(), encoding="utf-8")
    (folder / "brokers.yaml").write_text(brokers_file(runtime, topology), encoding="utf-8")
    return folder / "brokers.yaml"


def run_on(file: Path, topology: str, *arguments: str) -> RunOutcome:
    external = ("--runtime", "external", "--brokers-file", str(file), "--topology", topology)
    return make_run("scenarios/steady.py", *external, *SHORT, *arguments, runs=file.parent / "runs")


@dataclass(frozen=True)
class ExternalRun:
    """A run on an existing broker. ``still_runs``: after the run. ``passwords``: the broker's."""

    outcome: RunOutcome
    still_runs: bool
    passwords: frozenset[str]


@pytest.fixture(scope="module")
def on_theirs(tmp_path_factory: pytest.TempPathFactory) -> ExternalRun:
    """The broker is suspended for 3 s, outside the plan."""
    folder = tmp_path_factory.mktemp("external")
    with running("single", folder, memory_mb=128) as theirs:

        def stand_still() -> None:
            until(lambda: len(list((folder / "runs").glob("*/streams/sends/*"))) > 0)
            time.sleep(3)
            theirs.pause("broker-1")
            time.sleep(3)
            theirs.resume("broker-1")

        standing = threading.Thread(target=stand_still)
        standing.start()
        outcome = run_on(write_brokers_file(theirs, build("single"), folder), "single", "-t", "15s")
        standing.join()
        passwords = frozenset({theirs.credentials().password, theirs.management("broker-1").password})
        return ExternalRun(outcome, theirs.alive("broker-1"), passwords)


@pytest.mark.nightly  # topologies_runtime/test_external_brokers.py covers the contract
def test_a_run_on_brokers_that_run_already_passes_and_leaves_them_running(on_theirs: ExternalRun) -> None:
    outcome = on_theirs.outcome
    assert on_theirs.still_runs
    assert (outcome.summary["verdict"], outcome.status) == ("pass", 0), outcome.output
    assert outcome.summary["messages"]["received"] > 300
    assert outcome.info["runtime"] == "external"
    assert outcome.info["versions"]["activemq"] == "5.18.3"
    assert {row["metric"] for row in outcome.events("samples") if row["broker"] == "broker-1"} >= {"heap_used_bytes"}
    files = [path for path in outcome.run.rglob("*") if path.is_file()]
    assert not [path for path in files for password in on_theirs.passwords if password.encode() in path.read_bytes()]
    assert nothing_left(outcome.runs)


@pytest.mark.nightly  # harness/test_fault_schedule.py covers these commands
def test_a_command_of_the_users_own_is_a_fault_of_brokers_that_run_already(tmp_path: Path) -> None:
    marker_file = tmp_path / "asked"
    with running("single", tmp_path, memory_mb=128) as theirs:

        def reboot() -> None:
            until(marker_file.exists)
            theirs.kill("broker-1")
            time.sleep(1)
            theirs.start("broker-1")

        rebooting = threading.Thread(target=reboot)
        rebooting.start()
        fault = ("--fault", f"command(touch {marker_file}, target=broker-1, at=2, expect=60)", "-t", "60s")
        outcome = run_on(write_brokers_file(theirs, build("single"), tmp_path), "single", *fault)
        rebooting.join()
    assert outcome.summary["verdict"] in ("pass", "fail"), outcome.output  # messages in doubt may have arrived twice
    assert outcome.summary["messages"]["lost"] == 0
    (fault_row,) = outcome.summary["recovery"]["faults"]
    assert (fault_row["kind"], fault_row["target"], fault_row["cut_off"]) == ("command", "broker-1", 8)
    assert fault_row["outage_ms"]["max"] > 1_000
    assert nothing_left(outcome.runs)


@pytest.mark.nightly  # analysis/test_unplanned.py plants one
def test_a_broker_that_stands_still_by_nobodys_plan_is_named_with_its_clients(on_theirs: ExternalRun) -> None:
    outcome = on_theirs.outcome
    assert (outcome.summary["verdict"], outcome.status) == ("pass", 0), outcome.output
    (silence,) = outcome.summary["unplanned"]
    assert (silence["broker"], silence["what"], silence["clients"]) == ("broker-1", "silent", 8)
    assert silence["until_s"] - silence["from_s"] == pytest.approx(3, abs=0.8)
    page = (outcome.run / "report.html").read_text(encoding="utf-8")
    assert "Outside any fault, broker-1 was silent from" in page
    assert nothing_left(outcome.runs)


@pytest.mark.nightly
def test_artemis_brokers_that_run_already_are_known_by_their_names_and_versions(tmp_path: Path) -> None:
    with running("cluster(brokers=2)", tmp_path) as theirs:
        topology = build("cluster(brokers=2)")
        outcome = run_on(write_brokers_file(theirs, topology, tmp_path), "cluster(brokers=2)")
        assert all(theirs.alive(broker.name) for broker in topology.brokers)
    assert (outcome.summary["verdict"], outcome.status) == ("pass", 0), outcome.output
    assert outcome.info["versions"]["artemis"] == "2.44.0"
    assert nothing_left(outcome.runs)


@pytest.mark.nightly
def test_over_tls_and_without_management_all_arrives_and_what_is_not_known_is_said(tmp_path: Path) -> None:
    topology = over_tls(build("source-and-sink"))
    theirs = ProcessRuntime(topology, RunDirectory.create(tmp_path, "theirs"), broker_memory_mb=128)
    (tmp_path / "ca.pem").write_text(theirs.trusted_pem, encoding="ascii")
    try:
        theirs.up(lambda line: None)
        file = write_brokers_file(theirs, topology, tmp_path)
        lines = file.read_text(encoding="utf-8").splitlines()
        lines_of_stomp = [line for line in lines if "stomp" in line or not line.startswith("    ")]
        file.write_text("\n".join(lines_of_stomp), encoding="utf-8")
        outcome = run_on(file, "source-and-sink", "--ca-file", str(tmp_path / "ca.pem"))
        assert all(theirs.alive(broker.name) for broker in topology.brokers)
    finally:
        theirs.close()
    messages = outcome.summary["messages"]
    assert messages["acked"] == messages["received"] > 300, outcome.output
    assert (outcome.summary["verdict"], outcome.status) == ("unknown", 4)
    reasons = "\n".join(outcome.summary["reasons"])
    assert "it is not known whether the queues were empty after the drain" in reasons
    assert "what is left on sink is not known: broker 'sink' has no management address in" in reasons
