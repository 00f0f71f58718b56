"""Checks whole runs whose rate changes: each step has the requested number of due messages, and the report shows it."""

from pathlib import Path

import pytest

from tests.support.locust_run import RunOutcome, make_run, nothing_left

# In every test run, drivers/test_pacing.py covers due times, and analysis/test_steps.py the report about them.
pytestmark = [pytest.mark.brokers, pytest.mark.spark, pytest.mark.nightly]

NS_PER_S = 1_000_000_000
PRODUCERS = 6
ASKED = ((60, 0, 5), (240, 5, 10), (60, 10, 15))
"""Messages per second, from and until (s of the load)."""


def check(run: RunOutcome) -> None:
    """Check each step. One message of each producer may be due on either side of a step's border."""
    assert (run.summary["verdict"], run.status) == ("pass", 0), run.output
    began_ns = run.info["phases"]["load_began_ns"]
    due_s = [(row["due_ns"] - began_ns) / NS_PER_S for row in run.events("sends") if row["attempt"] == 1]
    for per_s, from_s, until_s in ASKED:
        assert abs(sum(from_s <= due < until_s for due in due_s) - per_s * (until_s - from_s)) <= PRODUCERS
    steps = [(step["from_per_s"], step["from_s"], step["until_s"]) for step in run.summary["steps"]]
    assert steps == list(ASKED)
    page = (run.run / "report.html").read_text(encoding="utf-8")
    assert "Steps of the load" in page
    assert nothing_left(run.runs)


def test_clients_in_a_jvm_keep_the_steps_of_a_load_whose_beginning_was_not_known(tmp_path: Path) -> None:
    """Java gets the due times seconds ahead, and the warm-up ends once latency has settled."""
    arguments = ("--rate", "60,240,60@5s", "--protocol", "openwire", "--topology", "single")
    check(make_run("scenarios/steady.py", *arguments, runs=tmp_path / "runs"))


def test_workers_keep_the_steps_that_the_master_was_asked_for(tmp_path: Path) -> None:
    arguments = ("--rate", "60,240,60@5s", "--topology", "single", "--processes", "2")
    check(make_run("scenarios/steady.py", *arguments, runs=tmp_path / "runs"))
