"""Checks whole runs whose consumers move to another broker: their places, and the messages that stay behind."""

from pathlib import Path

import pytest

from tests.support.locust_run import LocustRun, RunOutcome, nothing_left

pytestmark = [
    pytest.mark.brokers,
    pytest.mark.spark,
    pytest.mark.nightly,  # analysis/ covers backlogs, test_failover.py one on brokers
]

BACKLOG, TIMEOUT_S = "scenarios/backlog.py", 480
NS_PER_S = 1_000_000_000
CONSUMERS = 6


def a_run(folder: Path, *options: str) -> RunOutcome:
    return LocustRun(BACKLOG, "-t", "32s", "--warm-up", "2", "--seed", "3", *options, runs=folder).outcome(TIMEOUT_S)


@pytest.fixture(scope="module")
def mesh(tmp_path_factory: pytest.TempPathFactory) -> RunOutcome:
    return a_run(tmp_path_factory.mktemp("backlog") / "runs")


def test_the_consumers_were_at_the_second_broker_and_came_back_at_the_first(mesh: RunOutcome) -> None:
    began_ns = mesh.info["phases"]["load_began_ns"]
    rows = [row for row in mesh.events("connections") if row["group"] == "consumers"]
    connected = [(row["broker"], row["at_ns"] - began_ns) for row in rows if row["event"] == "connected"]
    assert [broker for broker, _ in connected] == ["broker-2"] * CONSUMERS + ["broker-1"] * CONSUMERS
    assert all(at_ns >= 25 * NS_PER_S for broker, at_ns in connected if broker == "broker-1")
    closed_ns = [row["at_ns"] - began_ns for row in rows if row["event"] == "closed" and row["broker"] == "broker-2"]
    assert len(closed_ns) == CONSUMERS
    assert all(10 * NS_PER_S <= at_ns < 25 * NS_PER_S for at_ns in closed_ns)


def test_nothing_is_received_meanwhile_and_afterwards_all_but_what_the_network_keeps(mesh: RunOutcome) -> None:
    began_ns = mesh.info["phases"]["load_began_ns"]
    received_s = [(row["received_ns"] - began_ns) / NS_PER_S for row in mesh.events("receipts")]
    assert not [at_s for at_s in received_s if 11 < at_s < 25]
    messages = mesh.summary["messages"]
    assert (mesh.summary["verdict"], messages["lost"], messages["unaccounted"]) == ("pass", 0, 0), mesh.output
    assert messages["received"] + messages["stranded"] == messages["sent"]
    assert messages["stranded"] < 100, "only messages that had crossed to the consumers' old broker"
    assert nothing_left(mesh.runs)


def test_what_piled_up_and_how_fast_it_came_is_told_as_of_a_fault(mesh: RunOutcome) -> None:
    """120 messages per second for 15 s. Messages that had crossed to the old broker may stay there."""
    (away,) = mesh.summary["recovery"]["faults"]
    assert (away["kind"], away["target"], round(away["began_s"]), round(away["restored_s"])) == (
        "away",
        "consumers",
        10,
        25,
    )
    assert away["backlog_highest"] == pytest.approx(15 * 120, rel=0.1)
    assert (away["cut_off"], away["lost"]) == (0, 0)
    page = (mesh.run / "report.html").read_text(encoding="utf-8")
    assert "consumers were away from 10 s to 25 s: no acknowledged message was lost" in page
    assert not mesh.summary["rebalance"]["away"]


@pytest.mark.nightly
def test_a_mesh_that_replays_leaves_nothing_behind(tmp_path: Path) -> None:
    outcome = a_run(tmp_path / "runs", "--topology", "mesh(message_ttl=3, replay=True)")
    messages = outcome.summary["messages"]
    assert (outcome.summary["verdict"], messages["stranded"], messages["lost"]) == ("pass", 0, 0), outcome.output
    assert messages["received"] == messages["sent"]


@pytest.mark.nightly
@pytest.mark.parametrize(("delay_ms", "left_behind"), [(0, False), (-1, True)])
def test_a_cluster_leaves_behind_what_it_may_not_redistribute(tmp_path: Path, delay_ms: int, left_behind: bool) -> None:
    topology = f"cluster(redistribution_delay_ms={delay_ms})"
    outcome = a_run(tmp_path / "runs", "--topology", topology)
    messages = outcome.summary["messages"]
    assert (outcome.summary["verdict"], messages["lost"]) == ("pass", 0), outcome.output
    assert (messages["stranded"] > 0) == left_behind, outcome.output
