"""Checks that real-time priority applies to the threads that send and receive, and to no others."""

import os
import re
from pathlib import Path

import psutil
import pytest

from drivers.realtime import why_refused
from tests.support.locust_run import LocustRun, nothing_left

# In every test run, drivers/test_priority.py covers this.
pytestmark = [pytest.mark.brokers, pytest.mark.spark, pytest.mark.nightly]

STEADY = "scenarios/steady.py"


def real_time_threads(process: psutil.Process) -> set[str]:
    """Return the names of threads, without numbers."""
    names = set()
    for thread in process.threads():
        if os.sched_getscheduler(thread.id) & ~os.SCHED_RESET_ON_FORK == os.SCHED_RR:
            name = Path(f"/proc/{process.pid}/task/{thread.id}/comm").read_text(encoding="utf-8").strip()
            names.add("main" if thread.id == process.pid else re.sub(r"\d+", "", name))
    return names


def test_the_threads_of_java_clients_have_it_and_no_broker_has(tmp_path: Path) -> None:
    where, load = ("--topology", "single", "--protocol", "openwire"), ("-t", "8s", "--warm-up", "2")
    run = LocustRun(STEADY, *where, "--priority", "realtime", *load, runs=tmp_path / "runs")
    if why := why_refused():
        assert f"--priority realtime: {why}" in run.outcome().output
        return
    run.wait_for(r"load: \d+ s of 8 s")
    locust = psutil.Process(run.process.pid)
    threads = real_time_threads(locust)
    child_threads = set().union(*map(real_time_threads, locust.children(recursive=True)))
    outcome = run.outcome()
    assert {"main", "brokerbench-sen", "ActiveMQ Transp"} <= threads
    assert child_threads == set()
    assert (outcome.summary["verdict"], outcome.status) == ("pass", 0), outcome.output
    assert outcome.info["options"]["priority"] == "realtime"
    assert nothing_left(outcome.runs)
