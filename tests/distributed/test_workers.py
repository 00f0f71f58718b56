"""Checks that several processes make one run, with or without a shared run folder."""

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from harness.distributed.secret import SECRET_FILE
from tests.support.locust_run import REPOSITORY, LocustRun, RunOutcome, free_port, make_run, nothing_left
from tests.support.network import Bridged, left_of, other_hosts, running_on
from tests.support.waiting import until

pytestmark = [pytest.mark.brokers, pytest.mark.spark]

STEADY = "scenarios/steady.py"
CLASSIC, ARTEMIS = "mesh(brokers=2)", "senders"
QUICK = ("-t", "4s", "--warm-up", "1")


def rows_by_worker(outcome: RunOutcome, table: str, column: str) -> dict[int, int]:
    counts: dict[int, int] = {}
    for row in outcome.events(table):
        index = row[column] // 1_000_000
        counts[index] = counts.get(index, 0) + 1
    return counts


@pytest.mark.nightly  # records/test_gathering.py has the rows of workers
@pytest.mark.parametrize("topology", [ARTEMIS, CLASSIC])
def test_steady_passes_with_two_forked_workers_and_the_rows_of_both_count(topology: str, tmp_path: Path) -> None:
    outcome = make_run(STEADY, "--topology", topology, *QUICK, "--processes", "2", runs=tmp_path / "runs")
    assert (outcome.status, outcome.summary["verdict"]) == (0, "pass"), outcome.output
    sends = rows_by_worker(outcome, "sends", "producer")
    assert set(sends) == {1, 2}
    assert sum(sends.values()) == outcome.summary["messages"]["sent"] == outcome.summary["messages"]["received"]
    assert [process["name"] for process in outcome.info["processes"]] == ["master", "worker-1", "worker-2"]
    assert nothing_left(tmp_path / "runs")
    if topology == CLASSIC:
        without_the_sends_of_worker_2(outcome.run, sends[1], sends[2])


def without_the_sends_of_worker_2(run: Path, remaining: int, gone: int) -> None:
    """Delete the sealed file and analyze the run again: it is invalid, and reports whose rows are missing."""
    (run / "events" / "sends" / "worker-2.parquet").unlink()
    brokerbench = str(Path(sys.executable).with_name("brokerbench"))
    for command, status in (("analyse", 3), ("report", 0)):
        process = subprocess.run([brokerbench, command, str(run)], capture_output=True, text=True, check=False)
        assert process.returncode == status, process.stdout + process.stderr
    summary = json.loads((run / "summary.json").read_text(encoding="utf-8"))
    assert summary["verdict"] == "invalid"
    assert summary["reasons"][0].startswith(
        f"events/sends/worker-2.parquet: missing, and the run was sealed with its {gone:,} rows"
    )
    assert f"worker-2 counted {gone:,} settled sends, and 0 are on record" in summary["reasons"][1]
    sentence = f"All {remaining:,} messages sent were received. Also: {gone:,} received without a known send."
    assert sentence in (run / "report.html").read_text(encoding="utf-8")


@pytest.fixture
def lan() -> Iterator[Bridged]:
    with other_hosts(2) as bridged:
        yield bridged


def start(
    lan: Bridged, tmp_path: Path, *arguments: str, near_tree: Path = REPOSITORY
) -> tuple[LocustRun, list[LocustRun]]:
    """Start a master on this machine and a worker on each other host. The second worker does not see the run folder.

    ``near_tree``: the clone that the first worker runs.
    """
    runs, port = tmp_path / "runs", str(free_port())
    runs.mkdir()
    secret = tmp_path / "secret"
    secret.touch(mode=0o600)
    secret.write_text("secret-of-these-hosts-" * 2)
    env = {SECRET_FILE: str(secret)}
    leading = ("--master", "--expect-workers", "2", "--master-bind-host", lan.address, "--master-bind-port", port)
    master = LocustRun(STEADY, *arguments, *leading, runs=runs, env=env)
    following = ("--worker", "--master-host", lan.address, "--master-port", port)
    near, far = lan.hosts
    return master, [
        LocustRun(STEADY, *following, runs=tmp_path / name, headless=False, wrapper=wrapper, env=env)
        for name, wrapper in (("near", near.wrapper(tree=near_tree)), ("far", far.wrapper(hidden=runs)))
    ]


@pytest.mark.nightly  # records/test_gathering.py covers the rows of a worker that does not see the folder
def test_workers_on_other_hosts_make_one_run_whether_or_not_they_see_its_folder(lan: Bridged, tmp_path: Path) -> None:
    """Each worker is in a separate network namespace, which reaches only the brokers' bind address."""
    master, workers = start(lan, tmp_path, "--topology", CLASSIC, *QUICK, "--bind-host", lan.address)
    outcome = master.outcome()
    for worker in workers:
        assert worker.outcome().status == 0, worker.output
    assert outcome.summary["verdict"] == "pass", json.dumps(outcome.summary["reasons"]) + outcome.output
    assert set(rows_by_worker(outcome, "sends", "producer")) == {1, 2}
    assert set(rows_by_worker(outcome, "connections", "client")) == {1, 2}
    messages = outcome.summary["messages"]
    assert messages["sent"] == messages["received"] > 300
    here, *there = outcome.info["processes"]
    assert {process["host"] for process in there} == {host.name for host in lan.hosts} != {here["host"]}
    assert all(process["error_bound_ns"] > 0 for process in there)
    assert 0 < outcome.summary["clocks"]["error_bound_ms"] < 1_000
    assert nothing_left(tmp_path)


def test_unusable_workers_are_rejected_and_nothing_is_left(lan: Bridged, tmp_path: Path) -> None:
    """One worker runs a clone with a changed line, the other cannot reach brokers that listen on loopback."""
    changed = tmp_path / "clone"
    for room in ("records", "topologies", "drivers", "harness", "brokerbench", "scenarios"):
        shutil.copytree(REPOSITORY / room, changed / room)
    with (changed / "drivers" / "pacing.py").open("a", encoding="utf-8") as source:
        source.write("# of another commit\n")
    master, workers = start(lan, tmp_path, "--topology", "single", near_tree=changed)
    outcome = master.outcome()
    assert outcome.status == 2, outcome.output
    assert [worker.outcome().status for worker in workers] == [2, 2], workers[0].output + workers[1].output
    (error,) = (line for line in outcome.output.splitlines() if "/ERROR/" in line)
    assert re.search(r"worker bb-\S+: it runs brokerbench .*, the master runs .*; check out the same commit on", error)
    assert re.search(r"worker bb-\S+: broker broker-1 at 127\.0\.0\.1:\d+ cannot be reached from host bb-\S+-2", error)
    assert "listen at its --bind-host: set it to an address that every worker reaches" in error
    assert "Traceback" not in outcome.output + "".join(worker.output for worker in workers)
    assert outcome.info["state"] == "failed"
    assert nothing_left(tmp_path)


def test_other_hosts_leave_nothing_even_if_a_test_fails_while_one_is_busy() -> None:
    busy_hosts: list[tuple[Bridged, subprocess.Popen[bytes]]] = []

    def fail() -> None:
        with other_hosts(2) as lan:
            assert len(left_of(lan)) == 5
            busy_hosts.append((lan, subprocess.Popen([*lan.hosts[0].wrapper(), "sleep", "600"])))
            until(lambda: bool(running_on(lan.hosts[0])))
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    ((lan, busy),) = busy_hosts
    assert busy.wait(60) != 0
    assert left_of(lan) == []


@pytest.mark.nightly
def test_workers_together_send_the_requested_messages(tmp_path: Path) -> None:
    arguments = ("--topology", "single", "--messages", "301", "--processes", "2")
    outcome = make_run(STEADY, *arguments, runs=tmp_path / "runs")
    assert outcome.summary["messages"]["sent"] == 301, outcome.output
    assert outcome.summary["verdict"] == "pass"
