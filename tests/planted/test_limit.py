"""Checks that a load that searches for the highest rate finds a planted limit."""

from pathlib import Path

import pytest

from tests.support.locust_run import make_run, nothing_left

pytestmark = [pytest.mark.spark, pytest.mark.nightly]  # harness/test_rate_search.py has the search itself

MOST_PER_S = 1_000


def test_the_rate_that_a_broker_serves_is_found_within_five_percent(tmp_path: Path) -> None:
    run = make_run("tests/planted/locustfiles/limited.py", "--runtime", "memory", runs=tmp_path / "runs")
    assert (run.summary["verdict"], run.status) == ("pass", 0), run.output
    held_per_s, not_held_per_s = run.summary["throughput"]["held_per_s"], run.summary["limit"]["not_held_per_s"]
    assert 0.95 * MOST_PER_S <= held_per_s <= 1.01 * MOST_PER_S
    assert MOST_PER_S <= not_held_per_s <= 1.05 * held_per_s
    assert f"The load was held up to {held_per_s:,g} messages/s" in (run.run / "report.html").read_text("utf-8")
    assert nothing_left(run.runs)
