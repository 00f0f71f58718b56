"""Checks on real brokers that a power failure loses unsynced data, and that no part of a disk is left behind."""

import time
from pathlib import Path

import pytest

from brokerbench.durability.table import MISCOUNTED
from tests.support.disks import left_in
from tests.support.locust_run import LocustRun, RunOutcome, nothing_left, processes_of
from tests.support.runtimes import eventually

pytestmark = [pytest.mark.brokers, pytest.mark.spark]

DURABILITY, TIMEOUT_S = "scenarios/durability.py", 300


def classic(runs: Path, strategy: str, *arguments: str) -> LocustRun:
    overlay = runs.with_name(f"{strategy}.yaml")
    overlay.write_text(f"brokers: {{all: {{persistence: {{journal_disk_sync_strategy: {strategy}}}}}}}", "utf-8")
    return LocustRun(DURABILITY, "--overlay", str(overlay), "--seed", "1", *arguments, runs=runs)


@pytest.fixture(scope="module")
def unsynced(tmp_path_factory: pytest.TempPathFactory) -> RunOutcome:
    """A run on a broker that never syncs its journal."""
    return classic(tmp_path_factory.mktemp("unsynced") / "runs", "never").outcome(TIMEOUT_S)


@pytest.mark.timeout(TIMEOUT_S + 60)
def test_a_journal_without_syncs_loses_confirmed_messages(unsynced: RunOutcome) -> None:
    recovery = unsynced.summary["recovery"]
    assert (unsynced.summary["verdict"], unsynced.status) == ("fail", 1), unsynced.output
    assert recovery["gone"] > 0
    assert recovery["lost_tails"] + recovery["lost_whole"] > 0
    assert recovery["lost_holes"] == 0, "a journal loses its end, and nothing before it"
    assert 0.5 < recovery["oldest_lost_s"] < 10
    assert recovery["start_s"] > 0


@pytest.mark.timeout(TIMEOUT_S + 60)
def test_losses_are_in_the_table_and_the_report(unsynced: RunOutcome) -> None:
    recovery = unsynced.summary["recovery"]
    rows = unsynced.results("survival")
    assert sum(row["survived"] + row["lost"] for row in rows) == recovery["at_risk"]
    assert sum(row["lost"] for row in rows) == recovery["gone"]
    page = (unsynced.run / "report.html").read_text(encoding="utf-8")
    assert "broker-1 lost power at 6 s" in page
    assert "Messages that survived, by time of confirmation" in page


@pytest.mark.timeout(TIMEOUT_S + 60)
def test_a_synced_journal_loses_no_confirmed_message(tmp_path: Path) -> None:
    """Classic may miscount a durable subscription after a restart. The run is unknown then."""
    outcome = classic(tmp_path / "runs", "always").outcome(TIMEOUT_S)
    assert [reason for reason in outcome.summary["reasons"] if not MISCOUNTED.search(reason)] == [], outcome.output
    assert outcome.summary["verdict"] in ("pass", "unknown")
    assert outcome.summary["recovery"]["at_risk"] > 100
    assert (outcome.summary["recovery"]["gone"], outcome.summary["recovery"]["oldest_lost_s"]) == (0, 0.0)
    assert left_in(tmp_path) == []


@pytest.mark.nightly  # the run with losses has the same disk, and loses its power
@pytest.mark.timeout(TIMEOUT_S + 60)
def test_a_killed_process_loses_no_unsynced_write(tmp_path: Path) -> None:
    """The same disk and settings as the run with losses: only the power stays on.

    After a restart Classic may count a message that a durable subscription does not have. The run is unknown then.
    """
    kill = ("--fault", "kill(broker-1, at=6, for=2)", "--disks", "4096")
    outcome = classic(tmp_path / "runs", "never", *kill).outcome(TIMEOUT_S)
    assert [reason for reason in outcome.summary["reasons"] if not MISCOUNTED.search(reason)] == [], outcome.output
    assert outcome.summary["verdict"] in ("pass", "unknown")
    assert outcome.summary["recovery"]["at_risk"] > 100
    assert (outcome.summary["recovery"]["gone"], outcome.summary["messages"]["unaccounted"]) == (0, 0)
    assert {
        kind: counts["undelivered"] for kind, counts in outcome.summary["kinds"].items() if counts["undelivered"]
    } == {}


@pytest.mark.timeout(TIMEOUT_S + 60)
def test_no_disk_is_left_of_a_killed_harness(tmp_path: Path) -> None:
    """The harness is killed while its broker is without power. At this time the broker does not have a guard."""
    run = classic(tmp_path / "runs", "never")
    run.wait_for(r"fault power-loss of broker-1.*effective", TIMEOUT_S)
    assert left_in(tmp_path) != []
    run.process.kill()
    run.process.wait()
    assert eventually(lambda: left_in(tmp_path) == []), left_in(tmp_path)
    assert nothing_left(tmp_path / "runs")


@pytest.mark.nightly
@pytest.mark.parametrize("after_s", [number * 0.4 for number in range(10)])
@pytest.mark.timeout(TIMEOUT_S + 60)
def test_a_kill_at_any_moment_leaves_no_disk(tmp_path: Path, after_s: float) -> None:
    """From the cut of power to the restart of the broker 2 s later, on the disk that is mounted again."""
    run = classic(tmp_path / "runs", "never", "--fault", "power-loss(broker-1, at=2, for=2)")
    run.wait_for(r"fault power-loss of broker-1.*requested", TIMEOUT_S)
    time.sleep(after_s)
    disks_before = left_in(tmp_path)
    run.process.kill()
    run.process.wait()
    assert eventually(lambda: left_in(tmp_path) == []), left_in(tmp_path)
    assert nothing_left(tmp_path / "runs"), processes_of(tmp_path / "runs")
    print(f"killed {after_s:.1f} s after the power loss began: {disks_before} before, none after")
