"""Checks whole runs over slow links between regions: only crossing messages are late, by the planted delay."""

from pathlib import Path

import pytest

from tests.support.locust_run import make_run, nothing_left

pytestmark = [
    pytest.mark.brokers,
    pytest.mark.links,
    pytest.mark.spark,
    pytest.mark.nightly,  # analysis/test_regions.py covers the figures
]

WAN = "scenarios/wan.py"
DELAY_MS = 40


@pytest.mark.parametrize("topology", ["cross-region-mesh", pytest.param("two-regions", marks=pytest.mark.nightly)])
def test_only_messages_that_cross_take_the_delay_of_the_links_between_regions(topology: str, tmp_path: Path) -> None:
    arguments = ("--topology", topology, "-t", "10s", "--warm-up", "3")
    run = make_run(WAN, *arguments, runs=tmp_path / "runs")
    assert (run.summary["verdict"], run.status) == ("pass", 0), run.output
    regions = run.summary["regions"]
    assert regions["across"]["min"] >= DELAY_MS
    assert regions["within"]["p50"] < DELAY_MS
    assert regions["across_per_s"] >= 20  # producers choose their brokers at random
    assert "Latency by regions" in (run.run / "report.html").read_text("utf-8")
    assert nothing_left(run.runs)
