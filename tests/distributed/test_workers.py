"""Do several processes make one run, whether or not they share the run's folder?"""

import json
from pathlib import Path

import pytest

from tests.support.locust_run import LocustRun, Outcome, free_port, make_run, nothing_left

pytestmark = [pytest.mark.brokers, pytest.mark.spark]

STEADY = "scenarios/steady.py"
QUICK = ("--topology", "mesh(brokers=2)", "-t", "8s", "--warm-up", "1", "--lag-limit", "5000")


def rows_by_worker(outcome: Outcome, table: str, column: str) -> dict[int, int]:
    counts: dict[int, int] = {}
    for row in outcome.events(table):
        index = row[column] // 1_000_000
        counts[index] = counts.get(index, 0) + 1
    return counts


def test_two_forked_workers_make_one_run_and_the_rows_of_both_count(tmp_path: Path) -> None:
    outcome = make_run(STEADY, *QUICK, "--processes", "2", runs=tmp_path / "runs")
    assert outcome.summary["verdict"] == "pass", outcome.output
    sends = rows_by_worker(outcome, "sends", "producer")
    assert set(sends) == {1, 2}
    assert sum(sends.values()) == outcome.summary["messages"]["sent"] == outcome.summary["messages"]["received"]
    assert [process["name"] for process in outcome.info["processes"]] == ["master", "worker-1", "worker-2"]
    assert nothing_left(tmp_path / "runs")


def test_a_worker_that_does_not_see_the_runs_folder_sends_its_events_over_the_channel(tmp_path: Path) -> None:
    """Its mount namespace hides the folder behind an empty one, as another host's disk would be."""
    runs, port = tmp_path / "runs", str(free_port())
    runs.mkdir()
    hidden = ("unshare", "--map-root-user", "--mount", "bash", "-c", f'mount -t tmpfs none "{runs}"; exec "$0" "$@"')
    master = LocustRun(STEADY, *QUICK, "--master", "--expect-workers", "2", "--master-bind-port", port, runs=runs)
    worker = ("--worker", "--master-port", port)
    near = LocustRun(STEADY, *worker, runs=tmp_path / "near", headless=False)
    far = LocustRun(STEADY, *worker, runs=tmp_path / "far", headless=False, wrapper=hidden)
    outcome = master.outcome()
    near.outcome(timeout_s=30)
    far.outcome(timeout_s=30)
    assert outcome.summary["verdict"] == "pass", json.dumps(outcome.summary["reasons"]) + outcome.output
    assert set(rows_by_worker(outcome, "sends", "producer")) == {1, 2}
    assert set(rows_by_worker(outcome, "connections", "client")) == {1, 2}
    messages = outcome.summary["messages"]
    assert messages["sent"] == messages["received"] > 500


@pytest.mark.nightly
def test_messages_are_shared_out_so_that_all_workers_together_send_what_was_asked_for(tmp_path: Path) -> None:
    arguments = ("--topology", "single", "--messages", "301", "--processes", "2", "--lag-limit", "5000")
    outcome = make_run(STEADY, *arguments, runs=tmp_path / "runs")
    assert outcome.summary["messages"]["sent"] == 301, outcome.output
    assert outcome.summary["verdict"] == "pass"
