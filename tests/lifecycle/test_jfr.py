"""Checks recordings of real runs: of brokers, of which one is killed and started again, and of Java clients.

Each broker also writes a log of its garbage collector, which a JVM makes without Java Flight Recorder.
"""

import json
from pathlib import Path

import pytest

from records.figures.profiles import JvmProfile, read_profiles
from records.store.rundir import RunDirectory
from tests.support.gc_log import LOG_OPTION, logged_pauses, require_same_pauses
from tests.support.locust_run import RunOutcome, make_run, nothing_left

pytestmark = [pytest.mark.brokers, pytest.mark.spark]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> RunOutcome:
    """Make a run at a rate that a busy machine holds. A start alone makes each broker pause many times."""
    runs = tmp_path_factory.mktemp("jfr") / "runs"
    overlay = runs.with_name("heap.yaml")
    # %p: the log of the killed process stays. A small young generation is collected so often that each process pauses.
    jvm = {"heap_mb": 96, "options": ["-XX:+UseSerialGC", "-Xmn6m", LOG_OPTION.format(file="gc-%p.log")]}
    overlay.write_text(json.dumps({"brokers": {"all": {"jvm": jvm}}}), encoding="utf-8")
    arguments = ("--topology", "mesh(brokers=2)", "--overlay", str(overlay), "--jfr")
    load = ("--rate", "60", "-t", "7s", "--warm-up", "1", "--seed", "1", "--fault", "kill(broker-1, at=3, for=1)")
    return make_run("scenarios/steady.py", *arguments, *load, runs=runs)


def profiles(run: RunOutcome) -> dict[str, JvmProfile]:
    return {profile.name: profile for profile in read_profiles(RunDirectory(run.run))}


def test_recorded_pauses_are_those_of_the_log(run: RunOutcome) -> None:
    """The killed broker has a log, and recorded pauses, of both processes."""
    assert sorted(profiles(run)) == ["broker-1", "broker-2"], run.output
    for broker, profile in profiles(run).items():
        assert not profile.missing, run.output
        logs = sorted((run.run / "brokers" / broker / "log").glob("gc-*.log"))
        assert len(logs) == (2 if broker == "broker-1" else 1)
        require_same_pauses(profile.pauses, [logged_pauses(log) for log in logs])


def test_a_killed_broker_keeps_its_recording_of_both_processes(run: RunOutcome) -> None:
    (fault,) = run.events("faults")
    began_ns = [pause.began_ns for pause in profiles(run)["broker-1"].pauses]
    assert min(began_ns) < fault["began_ns"] < max(began_ns)


def test_the_report_names_methods_and_links_recordings(run: RunOutcome) -> None:
    page = (run.run / "report.html").read_text(encoding="utf-8")
    for profile in profiles(run).values():
        assert profile.samples > 0
        assert profile.methods[0].method in page
        assert len(profile.files) == (2 if profile.name == "broker-1" else 1)
        for file in profile.files:
            assert f'href="{file}"' in page
            assert (run.run / file).stat().st_size > 10_000
    assert nothing_left(run.runs)


@pytest.mark.nightly
@pytest.mark.java
def test_java_clients_of_each_worker_are_recorded(tmp_path: Path) -> None:
    """Each worker has a JVM with its clients. The quick tests record the JVM of a process without a run."""
    arguments = ("--topology", "single", "--protocol", "openwire", "--processes", "2", "--jfr", "--rate", "100")
    run = make_run("scenarios/steady.py", *arguments, "-t", "6s", "--warm-up", "2", runs=tmp_path / "runs")
    assert sorted(profiles(run)) == ["broker-1", "worker-1", "worker-2"], run.output
    page = (run.run / "report.html").read_text(encoding="utf-8")
    for worker in ("worker-1", "worker-2"):
        clients = profiles(run)[worker]
        assert clients.is_of_clients
        assert clients.files == (f"clients/{worker}/jfr/recording.jfr",)
        assert any(entry.caller.startswith("org.apache.activemq.") for entry in clients.methods)
        assert f">clients in {worker}<" in page
