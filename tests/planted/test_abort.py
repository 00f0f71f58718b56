"""Plants rejected sends in memory: --abort-on ends the load, and no later analysis makes the run pass."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.locust_run import REPOSITORY, LocustRun, RunOutcome, make_run

pytestmark = pytest.mark.spark

ERRORS = "tests/planted/locustfiles/planted_errors.py"
CONDITION = "messages.failed > 10"


@pytest.fixture(scope="module")
def refused(tmp_path_factory: pytest.TempPathFactory) -> RunOutcome:
    """The first 50 sends of a one-minute load are rejected. A separate command analyzes the run."""
    runs = tmp_path_factory.mktemp("abort") / "runs"
    load = ("--runtime", "memory", "-t", "60s", "--abort-on", CONDITION, "--analyse-later")
    return make_run(ERRORS, *load, runs=runs, env={"PLANTED": "refused and stored"})


def test_refused_sends_abort_without_an_analysis_too(refused: RunOutcome) -> None:
    (abort,) = refused.info["aborts"]
    assert refused.status == 1, refused.output
    assert f"by --abort-on '{CONDITION}', as messages.failed was" in refused.output
    assert abort["condition"] == {"figure": "messages.failed", "sign": ">", "limit": 10.0, "for_s": 0}
    assert refused.info["durations_s"]["load"] < 30
    assert refused.info["live_figures"] == {"messages.failed": 50}


def test_a_later_analysis_fails_an_aborted_run(refused: RunOutcome) -> None:
    command = [sys.executable, "-m", "brokerbench", "analyse", str(refused.run)]
    again = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, timeout=200, check=False)
    (abort,) = refused.summary["aborted"]
    assert (again.returncode, refused.summary["verdict"]) == (1, "fail"), again.stdout + again.stderr
    assert abort["confirmed"]
    assert abort["analysed"] == refused.summary["messages"]["failed"] == 50


def test_ctrl_c_after_an_abort_changes_no_verdict(tmp_path: Path) -> None:
    """Nothing is cut short: the load had ended, and the drain and the report go on."""
    load = ("--runtime", "memory", "-t", "60s", "--abort-on", CONDITION, "--analyse-later")
    run = LocustRun(ERRORS, *load, runs=tmp_path / "runs", env={"PLANTED": "refused and stored"})
    run.wait_for("by --abort-on")
    run.send(signal.SIGINT)
    outcome = run.outcome()
    assert "Ctrl-C: the load was aborted and the run is being reported" in outcome.output
    assert (outcome.status, outcome.info["state"]) == (1, "ended"), outcome.output
    assert outcome.info["phases"]["browse_ended_ns"]


def test_a_condition_is_rejected_by_a_dry_run(tmp_path: Path) -> None:
    steady = ("scenarios/steady.py", "--protocol", "memory")
    outcome = make_run(*steady, "--abort-on", "messages.lost > 0", "--dry-run", runs=tmp_path / "runs")
    assert outcome.status == 2
    assert "figure 'messages.lost' is not known during a run; write one of messages.failed" in outcome.output
    assert not (tmp_path / "runs").exists()
