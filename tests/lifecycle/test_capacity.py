"""Checks whole runs that search for the highest rate: clients keep each tried rate, and a limit is found."""

from pathlib import Path

import pytest

from tests.support.locust_run import LocustRun, RunOutcome, make_run, nothing_left

pytestmark = [pytest.mark.brokers, pytest.mark.spark, pytest.mark.nightly]

CAPACITY = "scenarios/capacity.py"
NS_PER_S = 1_000_000_000
PRODUCERS = 6


def check_rates(run: RunOutcome) -> None:
    """Check each step's rate. One message of each producer may be due on either side of a step's border."""
    assert (run.summary["verdict"], run.status) == ("pass", 0), run.output
    began_ns = run.info["phases"]["load_began_ns"]
    due_s = [(row["due_ns"] - began_ns) / NS_PER_S for row in run.events("sends") if row["attempt"] == 1]
    steps = run.summary["steps"]
    assert len(steps) >= 3
    assert [step["from_per_s"] for step in steps[:3]] == [200, 400, 800]
    for step in steps:
        messages = sum(step["from_s"] <= due < step["until_s"] for due in due_s)
        assert abs(messages - step["from_per_s"] * (step["until_s"] - step["from_s"])) <= PRODUCERS
    assert nothing_left(run.runs)


@pytest.mark.parametrize("options", [("--protocol", "openwire"), ("--processes", "2")], ids=["in a JVM", "two workers"])
def test_clients_keep_each_rate_that_the_search_tries(options: tuple[str, ...], tmp_path: Path) -> None:
    arguments = ("--topology", "single", "--rate", "search(200, step=5)", "-t", "45s", *options)
    check_rates(make_run(CAPACITY, *arguments, runs=tmp_path / "runs"))


@pytest.mark.links
def test_the_bandwidth_of_a_link_is_found_and_named_as_the_limit(tmp_path: Path) -> None:
    """The reference is the rate that arrived under more load: a busy machine's proxy passes less than its setting."""
    arguments = ("--topology", "source-and-sink", "--link", "*:bandwidth=500kB/s", "--rate", "search(200)")
    run = LocustRun(CAPACITY, *arguments, runs=tmp_path / "runs").outcome(900)
    assert (run.summary["verdict"], run.status) == ("pass", 0), run.output
    passed_per_s = max(step["received_per_s"] for step in run.summary["steps"] if not step["held"])
    assert run.summary["throughput"]["held_per_s"] == pytest.approx(passed_per_s, rel=0.07)
    assert run.summary["limit"]["limited_by"] == "link"
    assert "messages piled up on source" in (run.run / "report.html").read_text("utf-8")
    assert nothing_left(run.runs)
