"""Checks that a wrong clock makes timing doubtful, and a killed worker makes the run invalid. All rows are kept."""

import os
import signal
from pathlib import Path

import psutil
import pytest

from harness.distributed.secret import SECRET
from tests.support.locust_run import LocustRun, free_port, nothing_left

pytestmark = [pytest.mark.brokers, pytest.mark.spark]


@pytest.mark.nightly
def test_a_clock_jump_makes_figures_doubtful(tmp_path: Path) -> None:
    """The clock jumps back two seconds, so that some latencies are negative."""
    locustfile, port = "tests/planted/locustfiles/skewed.py", str(free_port())
    leading = ("--master", "--expect-workers", "2", "--master-bind-port", port, "-t", "8s")
    following = ("--worker", "--master-port", port)
    secret = {SECRET: "planted-" * 8}
    master = LocustRun(locustfile, *leading, runs=tmp_path / "runs", env=secret)
    workers = [
        LocustRun(locustfile, *following, runs=tmp_path / name, headless=False, env=secret | env)
        for name, env in (("worker-1", {}), ("worker-2", {"PLANTED_CLOCK_BEHIND_NS": "2000000000"}))
    ]
    outcome = master.outcome()
    for worker in workers:
        worker.outcome()
    latency = outcome.summary["latency_ms"]["due_to_received"]
    assert latency["negative"] > 0, outcome.output
    assert latency["min"] == pytest.approx(-2_000, abs=500)
    timing = outcome.summary["timing"]
    assert "clock" in timing["doubtful"]["latency_ms.due_to_received.p50"], timing
    assert "clock" in timing["note"]
    assert timing["note"] in outcome.output
    assert not any("clock" in reason for reason in outcome.summary["reasons"]), outcome.summary["reasons"]


@pytest.mark.nightly
def test_a_worker_killed_in_the_load_makes_the_run_invalid_and_its_earlier_rows_stay(tmp_path: Path) -> None:
    arguments = ("--topology", "single", "-t", "12s", "--warm-up", "1", "--processes", "2")
    run = LocustRun("scenarios/steady.py", *arguments, runs=tmp_path / "runs")
    run.wait_for(r"load: ([2-9]|1\d) s of 12 s, sent [1-9]")
    children = psutil.Process(run.process.pid).children()
    victim = next(child for child in children if "locust" in " ".join(child.cmdline()))
    os.kill(victim.pid, signal.SIGKILL)
    outcome = run.outcome()
    assert outcome.summary["verdict"] == "invalid", outcome.output
    assert any("worker" in reason for reason in outcome.summary["reasons"]), outcome.summary["reasons"]
    by_worker = {row["producer"] // 1_000_000 for row in outcome.events("sends")}
    assert by_worker == {1, 2}, "rows of both workers are kept"
    assert nothing_left(tmp_path / "runs")
