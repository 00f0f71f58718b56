"""Checks the reported cause if sending stops for seconds around a fault: the generator, or only the broker."""

from pathlib import Path

import pytest

from tests.support.locust_run import RunOutcome, make_run

pytestmark = [pytest.mark.spark]

LARGEST = "latency_ms.due_to_received.max"
STALL_MS, FREEZE_MS = 2_000, 3_000


def planted(folder: Path, cause: str) -> RunOutcome:
    arguments = ("--runtime", "memory", "--warm-up", "1")
    env = {"CAUSE": cause}
    return make_run("tests/planted/locustfiles/held_back.py", *arguments, runs=folder / "runs", env=env)


@pytest.mark.nightly  # analysis/test_jobs.py has one that is late within a fault
def test_a_generator_that_is_late_within_a_fault_is_named(tmp_path: Path) -> None:
    outcome = planted(tmp_path, "generator")
    summary = outcome.summary
    assert (summary["verdict"], outcome.status, summary["reasons"]) == ("pass", 0, []), outcome.output
    assert "the load generator itself was late" in summary["timing"]["doubtful"][LARGEST]
    page = (outcome.run / "report.html").read_text(encoding="utf-8")
    assert "Do not rely on these latencies: due → received" in page
    assert summary["lag_ms"]["max"] > 0.9 * STALL_MS
    assert any(row["in_fault"] for row in outcome.results("latency") if row["measure"] == "ready_to_sent")


@pytest.mark.nightly  # analysis/test_jobs.py has producers that brokers hold back
def test_producers_that_a_broker_blocks_are_not_late(
    tmp_path: Path,
) -> None:
    """Each producer may have only one message in flight."""
    outcome = planted(tmp_path, "broker")
    summary = outcome.summary
    assert (summary["verdict"], outcome.status, summary["reasons"]) == ("pass", 0, []), outcome.output
    assert summary["latency_ms"]["due_to_received"]["max"] > 0.9 * FREEZE_MS
    assert LARGEST not in summary["timing"]["doubtful"]
    assert summary["lag_ms"]["blocked_slots"] > 0
    late_ms = [(row["sent_ns"] - row["ready_ns"]) / 1e6 for row in outcome.events("sends") if row["blocked"]]
    assert max(late_ms) < 0.5 * FREEZE_MS, "which a busy machine may add"
