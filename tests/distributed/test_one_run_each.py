"""Checks that a worker belongs to one run, and that a run that cannot listen reports the cause in one sentence."""

import re
import signal
import socket
from contextlib import closing
from pathlib import Path

import pytest

from harness.distributed.secret import SECRET
from tests.support.locust_run import LocustRun, free_port, make_run, nothing_left

STEADY = "scenarios/steady.py"
OURS, ANOTHER = {SECRET: "secret-of-this-run-" * 2}, {SECRET: "secret-of-another-run-" * 2}
CANNOT_RUN = 2


@pytest.mark.parametrize("forked", [("--processes", "2"), ("--master",)])
def test_a_taken_port_is_one_sentence(forked: tuple[str, ...], tmp_path: Path) -> None:
    with closing(socket.create_server(("127.0.0.1", 0))) as taken:
        port = taken.getsockname()[1]
        arguments = ("--dry-run", "--master-bind-port", str(port), *forked)
        outcome = make_run(STEADY, *arguments, runs=tmp_path / "runs", env=OURS)
    assert outcome.status == CANNOT_RUN, outcome.output
    assert "Traceback" not in outcome.output
    (error,) = (line for line in outcome.output.splitlines() if "/ERROR/" in line)
    sentence = f"--master-bind-port {port}: another process already listens on 127.0.0.1:{port}; name another port, "
    assert sentence in error
    assert nothing_left(tmp_path)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("--master-bind-host", "203.0.113.7"), "--master-bind-host 203.0.113.7: not an address of this machine; "),
        (("--master-bind-port", "99999"), "--master-bind-port 99999: not a port; name one from 1 to 65535"),
    ],
)
def test_an_impossible_address_is_one_sentence(arguments: tuple[str, ...], sentence: str, tmp_path: Path) -> None:
    outcome = make_run(STEADY, "--dry-run", "--processes", "2", *arguments, runs=tmp_path / "runs")
    assert outcome.status == CANNOT_RUN, outcome.output
    assert "Traceback" not in outcome.output
    assert f"Failed:  {sentence}" in outcome.output


def test_master_and_worker_need_a_secret(tmp_path: Path) -> None:
    for mode in ("--master", "--worker"):
        run = LocustRun(STEADY, mode, runs=tmp_path / mode.strip("-"), headless=False)
        outcome = run.outcome()
        assert outcome.status == CANNOT_RUN, outcome.output
        assert "a master and its workers need a common secret" in outcome.output
        assert "Traceback" not in outcome.output


def test_a_worker_of_another_run_is_refused(tmp_path: Path) -> None:
    """Both sides report it, and the master continues to wait for its own worker."""
    port = str(free_port())
    master = LocustRun(STEADY, "--master", "--master-bind-port", port, runs=tmp_path / "runs", env=OURS)
    master.wait_for("Starting Locust")
    worker = LocustRun(STEADY, "--worker", "--master-port", port, runs=tmp_path / "worker", env=ANOTHER, headless=False)
    outcome = worker.outcome()
    assert outcome.status == CANNOT_RUN, outcome.output
    assert f"--master-port {port}: the process there does not hold this worker's secret" in outcome.output
    assert "Traceback" not in outcome.output
    master.wait_for("without this run's secret")
    refused = {*re.findall("a process on (.*) without this run's secret", master.output)}
    assert refused <= {"127.0.0.1", "an unknown host"}
    assert master.process.poll() is None
    master.send(signal.SIGINT)
    output = master.outcome().output
    assert not [text for text in (*OURS.values(), *ANOTHER.values()) if text in output + outcome.output]
    assert "reported as ready" not in output
