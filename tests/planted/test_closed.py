"""Plants answers that take 20 ms in memory: a closed load sends at one per answer time, and has no due times."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.locust_run import REPOSITORY, RunOutcome, make_run

pytestmark = pytest.mark.spark

ANSWER_MS, PRODUCERS = 20, 2


@pytest.fixture(scope="module")
def closed(tmp_path_factory: pytest.TempPathFactory) -> RunOutcome:
    runs = tmp_path_factory.mktemp("closed") / "runs"
    load = ("--runtime", "memory", "-t", "5s", "--closed")
    return make_run("tests/planted/locustfiles/planted_errors.py", *load, runs=runs, env={"PLANTED": "slow answers"})


def test_the_rate_is_one_per_answer_time(closed: RunOutcome) -> None:
    summary = closed.summary
    answer_ms = summary["latency_ms"]["sent_to_settled"]["p50"]
    assert closed.status == 0, closed.output
    assert ANSWER_MS <= answer_ms < 3 * ANSWER_MS
    assert 0.7 < summary["throughput"]["sent_per_s"] / (PRODUCERS * 1_000 / answer_ms) < 1.1
    assert summary["messages"]["in_doubt"] == summary["messages"]["lost"] == 0


def test_figures_from_due_times_are_absent(closed: RunOutcome) -> None:
    summary = closed.summary
    assert sorted(summary["latency_ms"]) == ["sent_to_received", "sent_to_settled"]
    assert summary["latency_by"] == {"consumer_classes": {}, "destinations": {}}
    assert summary["throughput"]["due_per_s"] is None
    assert summary["lag_ms"]["blocked_slots"] is None
    assert summary["destinations"]["first_ms"] == {"p50": None, "max": None}
    assert set(summary["timing"]["less_own_time_ms"].values()) == {None}
    assert (summary["offered_rate"]["held"], summary["offered_rate"]["note"]) == (None, "")
    assert "due_to_received" not in {row["measure"] for row in closed.results("latency")}
    assert "due" not in {row["event"] for row in closed.results("rates")}
    assert sum(row["messages"] for row in closed.results("paths")) == summary["messages"]["received"]


def test_the_report_says_that_latency_hides_waits(closed: RunOutcome) -> None:
    page = (closed.run / "report.html").read_text(encoding="utf-8")
    words = " ".join(page.split())
    assert "The load was closed, so this latency hides waits." in words
    assert "this latency hides waiting times. Use fixed or Poisson arrivals" in words
    assert "closed: each producer sends as soon as its last send is answered" in words
    assert "Sent → received, by the second when the message was sent." in words
    assert "Due → received" not in words
    assert "due → received" not in words


def test_checks_on_due_times_start_nothing(tmp_path: Path) -> None:
    steady = ("scenarios/steady.py", "--protocol", "memory", "--closed")
    outcome = make_run(*steady, "--check", "latency_ms.due_to_received.p99 < 50", runs=tmp_path / "runs")
    assert outcome.status == 2
    assert "messages of a closed load have no due times, so it lacks this figure" in outcome.output
    assert not (tmp_path / "runs").exists()


def test_exports_count_from_sent(closed: RunOutcome, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "brokerbench", "export", str(closed.run), "--to", "csv", "--out", str(tmp_path)]
    subprocess.run(command, cwd=REPOSITORY, check=True, timeout=100, capture_output=True)
    assert "due" not in (tmp_path / "rates.csv").read_text(encoding="utf-8")
