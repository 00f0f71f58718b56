"""Checks recordings of real brokers: one is killed and restarted during the load, with a small heap.

Each broker also writes a log of its garbage collector, which a JVM makes without Java Flight Recorder.
"""

import json
import re

import pytest

from records.profiles import BrokerProfile, read_profiles
from records.rundir import RunDirectory
from tests.support.locust_run import RunOutcome, make_run, nothing_left

pytestmark = [pytest.mark.brokers, pytest.mark.spark]

PAUSE_MS = re.compile(r"Pause .* ([0-9.]+)ms$", re.MULTILINE)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> RunOutcome:
    runs = tmp_path_factory.mktemp("jfr") / "runs"
    overlay = runs.with_name("heap.yaml")
    # %p: the log of the killed process stays. A small young generation is collected so often that each process pauses.
    jvm = {"heap_mb": 96, "options": ["-XX:+UseSerialGC", "-Xmn6m", "-Xlog:gc:file=gc-%p.log"]}
    overlay.write_text(json.dumps({"brokers": {"all": {"jvm": jvm}}}), encoding="utf-8")
    arguments = ("--topology", "mesh(brokers=2)", "--overlay", str(overlay), "--jfr", "--rate", "400")
    load = ("-t", "12s", "--warm-up", "1", "--seed", "1", "--fault", "kill(broker-1, at=5, for=2)")
    return make_run("scenarios/steady.py", *arguments, *load, runs=runs)


def profiles(run: RunOutcome) -> dict[str, BrokerProfile]:
    return {profile.broker: profile for profile in read_profiles(RunDirectory(run.run))}


def logged_pauses_ms(run: RunOutcome, broker: str) -> list[float]:
    logs = sorted((run.run / "brokers" / broker / "log").glob("gc-*.log"))
    return [float(found) for log in logs for found in PAUSE_MS.findall(log.read_text(encoding="utf-8"))]


def test_pauses_are_those_of_the_collectors_log(run: RunOutcome) -> None:
    """The log counts all; a recording begins a second after its process, and a kill loses the last second.

    On a busy machine the JVM may be suspended after it took the time for one of them and before it did for the other.
    """
    for broker, profile in profiles(run).items():
        assert not profile.missing, run.output
        logged_ms, recorded_ms = logged_pauses_ms(run, broker), [p.duration_ns / 1e6 for p in profile.pauses]
        assert 0 < len(recorded_ms) <= len(logged_ms)
        unmatched = [ms for ms in recorded_ms if min(abs(ms - logged) for logged in logged_ms) > 0.2 + 0.1 * ms]
        assert len(unmatched) <= len(recorded_ms) // 20


def test_a_killed_broker_keeps_its_recording_of_both_processes(run: RunOutcome) -> None:
    (fault,) = run.events("faults")
    began_ns = [pause.began_ns for pause in profiles(run)["broker-1"].pauses]
    assert min(began_ns) < fault["began_ns"] < max(began_ns)


def test_the_report_names_methods_and_links_recordings(run: RunOutcome) -> None:
    page = (run.run / "report.html").read_text(encoding="utf-8")
    for profile in profiles(run).values():
        assert profile.samples > 0
        assert f'href="{profile.file}"' in page
        assert profile.methods[0].method in page
        assert (run.run / profile.file).stat().st_size > 10_000
    assert nothing_left(run.runs)
