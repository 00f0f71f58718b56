"""Checks that the log of a search and its report never contradict each other, on real brokers."""

import re
from pathlib import Path

import pytest

from tests.support.locust_run import RunOutcome, make_run, nothing_left

pytestmark = [pytest.mark.brokers, pytest.mark.spark]

CAPACITY = "scenarios/capacity.py"
LOGGED = re.compile(r"([\d,.]+) messages per second: (held|not held|unknown): (.*)")
VERDICTS = {"held": True, "not held": False, "unknown": None}


def searched(rate: str, topology: str, load_s: int, runs: Path, *options: str) -> RunOutcome:
    return make_run(CAPACITY, "--topology", topology, "--rate", rate, "-t", f"{load_s}s", *options, runs=runs)


def check_agreement(run: RunOutcome) -> None:
    """Check that each rate in the log is a step of the report with the same verdict, or unknown with both verdicts."""
    logged = [(float(rate.replace(",", "")), VERDICTS[word], why) for rate, word, why in LOGGED.findall(run.output)]
    steps = run.summary["steps"]
    assert logged
    assert [rate for rate, _, _ in logged] == [step["from_per_s"] for step in steps]
    for (_, held, why), step in zip(logged, steps, strict=True):
        if held is not None and step["held"] is not held:
            assert step["held"] is None
            assert why in step["why"]
    held_per_s, report = run.summary["throughput"]["held_per_s"], (run.run / "report.html").read_text("utf-8")
    not_held = [rate for rate, held, _ in logged if held is False]
    if not_held:
        assert "Every step was held" not in report
    assert held_per_s in (None, 0) or held_per_s in [rate for rate, held, _ in logged if held is not False]
    assert nothing_left(run.runs)


def test_no_rate_is_held_under_an_impossible_limit(tmp_path: Path) -> None:
    """No message takes less than 10 µs. The report says that no rate was held, and the run does not pass."""
    run = searched("search(200, step=5, p99=0.01)", "single", 14, tmp_path / "runs", "--warm-up", "1")
    check_agreement(run)
    steps, report = run.summary["steps"], (run.run / "report.html").read_text("utf-8")
    assert [step["held"] for step in steps] == [False] * len(steps)
    assert f"No rate was held, and {min(step['from_per_s'] for step in steps):g} messages/s was" in report
    (check,) = (check for check in run.summary["checks"] if check["name"] == "at least one rate held")
    ours = run.summary["limit"]["limited_by"] in ("host", "generator")
    assert (check["outcome"], run.summary["throughput"]["held_per_s"]) == (("unknown", None) if ours else ("fail", 0.0))
    assert run.summary["verdict"] != "pass"


@pytest.mark.nightly  # the test above searches on a real broker
@pytest.mark.parametrize(("topology", "p99_ms"), [("mesh(brokers=2)", 50), ("single", 20)])
def test_log_and_report_agree_near_the_limit(topology: str, p99_ms: int, tmp_path: Path) -> None:
    run = searched(f"search(200, step=5, p99={p99_ms})", topology, 45, tmp_path / "runs")
    check_agreement(run)
