"""Checks that whole runs on containers pass, and that they leave nothing on the engine however they end."""

import signal
from pathlib import Path

import pytest

from tests.support.docker import on_engine
from tests.support.locust_run import LocustRun, make_run, nothing_left
from tests.support.runtimes import eventually

pytestmark = [pytest.mark.containers, pytest.mark.spark]

STEADY = "scenarios/steady.py"
ON_CONTAINERS = ("--topology", "mesh", "--runtime", "containers")
RYUK_LIMIT_S = 60.0  # Testcontainers' own clean-up leaves ten seconds after the harness at the latest


def test_a_run_passes_and_leaves_nothing(tmp_path: Path) -> None:
    before = on_engine(reapers=True)
    outcome = make_run(STEADY, *ON_CONTAINERS, "-t", "4s", "--warm-up", "1", runs=tmp_path / "runs")
    assert (outcome.status, outcome.summary["verdict"]) == (0, "pass"), outcome.output
    counts = outcome.summary["messages"]
    assert counts["sent"] == counts["received"] > 0
    assert outcome.info["runtime"] == "containers"
    assert "chosen by --runtime" in outcome.info["runtime_reason"]
    assert outcome.info["versions"]["activemq"] == "5.18.3"
    sampled = {row["broker"] for row in outcome.events("samples") if row["metric"] == "rss_bytes" and row["broker"]}
    assert sampled == {"broker-1", "broker-2", "broker-3"}
    logs = {path.parent.parent.name for path in outcome.run.glob("brokers/*/log/broker.log") if path.stat().st_size}
    assert logs == sampled
    assert eventually(lambda: on_engine(outcome.runs, reapers=True) <= before, RYUK_LIMIT_S), "an earlier one may go"
    assert nothing_left(outcome.runs)


@pytest.mark.nightly
def test_a_run_on_a_cluster_of_artemis_passes_and_leaves_nothing(tmp_path: Path) -> None:
    before = on_engine(reapers=True)
    arguments = ("--topology", "cluster", "--runtime", "containers", "--rate", "200")
    outcome = make_run(STEADY, *arguments, "-t", "10s", runs=tmp_path / "runs")
    assert (outcome.status, outcome.summary["verdict"]) == (0, "pass"), outcome.output
    assert outcome.info["versions"]["artemis"] == "2.44.0"
    sampled = {row["broker"] for row in outcome.events("samples") if row["metric"] == "rss_bytes" and row["broker"]}
    assert sampled == {"broker-1", "broker-2", "broker-3"}
    assert eventually(lambda: on_engine(outcome.runs, reapers=True) <= before, RYUK_LIMIT_S), "an earlier one may go"
    assert nothing_left(outcome.runs)


OVERLAY = "brokers: {all: {policies: [{queue_prefetch: 77}], jvm: {heap_mb: 140, options: [-XX:+UseSerialGC]}}}\n"


@pytest.mark.nightly
def test_brokers_of_a_run_have_the_settings_of_an_overlay_and_no_other_defaults(tmp_path: Path) -> None:
    file = tmp_path / "tuned.yaml"
    file.write_text(OVERLAY, encoding="utf-8")
    arguments = ("--topology", "source-and-sink", "--runtime", "containers", "--overlay", str(file), "--unset-defaults")
    outcome = make_run(STEADY, *arguments, "--analyse-later", "-t", "3s", "--warm-up", "1", runs=tmp_path / "runs")
    assert outcome.status == 0, outcome.output
    for broker in ("source", "sink"):
        rendered = outcome.info["rendered"][f"{broker}/activemq.xml"]
        assert ('queuePrefetch="77"' in rendered, "topicPrefetch" in rendered) == (True, False)
        log = (outcome.run / "brokers" / broker / "log" / "broker.log").read_text(encoding="utf-8")
        assert "-Xmx140m -XX:+UseSerialGC " in log
    assert nothing_left(outcome.runs)


@pytest.fixture
def loaded(tmp_path: Path) -> LocustRun:
    """A run whose load goes on for long."""
    run = LocustRun(STEADY, *ON_CONTAINERS, "--warm-up", "1", "-t", "120s", runs=tmp_path / "runs")
    run.wait_for(r"load: \d+ s of 120 s, sent [1-9]")
    return run


@pytest.mark.nightly  # lifecycle/test_endings.py has it on processes, and test_containers.py what is left
def test_ctrl_c_is_reported_and_leaves_nothing(loaded: LocustRun) -> None:
    loaded.send(signal.SIGINT)
    outcome = loaded.outcome()
    assert (outcome.status, outcome.summary["verdict"]) == (130, "interrupted"), outcome.output
    assert eventually(lambda: not on_engine(loaded.runs) - on_engine(), RYUK_LIMIT_S)
    assert nothing_left(loaded.runs)


@pytest.mark.nightly
def test_a_killed_harness_leaves_nothing_and_the_next_run_passes(loaded: LocustRun) -> None:
    loaded.send(signal.SIGKILL)
    assert loaded.process.wait(60) == -signal.SIGKILL
    assert eventually(lambda: not on_engine(loaded.runs) - on_engine())
    assert nothing_left(loaded.runs)
    after = loaded.runs.with_name("after")
    outcome = make_run(STEADY, *ON_CONTAINERS, "--warm-up", "1", "-t", "5s", runs=after)
    assert (outcome.status, outcome.summary["verdict"]) == (0, "pass"), outcome.output
    assert eventually(lambda: not on_engine(after) - on_engine(), RYUK_LIMIT_S)


@pytest.mark.parametrize("image", [None, "localhost:1/no/such:image"])
def test_containers_that_cannot_be_had_are_one_error_and_status_2(tmp_path: Path, image: str | None) -> None:
    arguments = ("--image", image) if image else ()
    environment = {} if image else {"DOCKER_HOST": f"unix://{tmp_path}/nobody.sock"}
    outcome = make_run(STEADY, *ON_CONTAINERS, *arguments, "-t", "5s", runs=tmp_path / "runs", env=environment)
    assert outcome.status == 2, outcome.output
    (error,) = [line for line in outcome.output.splitlines() if "/ERROR/" in line]
    assert ("image localhost:1/no/such:image is not on" if image else "no Docker engine answers at") in error
    assert error.endswith("or use --runtime processes")
    assert "Traceback" not in outcome.output
    assert not (tmp_path / "runs").exists()


def test_processes_are_the_default_without_a_docker_engine(tmp_path: Path) -> None:
    """The run has no --runtime option, and reports why it uses processes."""
    environment = {"DOCKER_HOST": f"unix://{tmp_path}/nobody.sock"}
    run = LocustRun(
        STEADY, "--runtime", "", "--topology", "single", "-t", "60s", runs=tmp_path / "runs", env=environment
    )
    run.wait_for(
        r"on processes: on this machine, because containers are not available: no Docker engine answers at unix:"
    )
    run.send(signal.SIGINT)
    assert run.outcome().status == 130
