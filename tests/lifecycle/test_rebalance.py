"""Checks a whole run with a broker that joins, leaves and joins again: its clients' places, and its records."""

import re
from collections import Counter
from pathlib import Path

import pytest

from tests.support.locust_run import LocustRun, RunOutcome, nothing_left

pytestmark = [
    pytest.mark.brokers,
    pytest.mark.spark,
    pytest.mark.nightly,
]  # analysis/test_rebalance.py covers the moves

REBALANCE = "scenarios/rebalance.py"
TIMEOUT_S = 480  # a broker starts three times
CLIENTS = 9
JOINER = "broker-3"


@pytest.fixture(scope="module")
def rebalance(tmp_path_factory: pytest.TempPathFactory) -> RunOutcome:
    runs = tmp_path_factory.mktemp("rebalance") / "runs"
    faults = ("--fault", f"join({JOINER}, at=1, for=3)", "--fault", f"join({JOINER}, at=10)")
    size = ("--producers", "5", "--consumers", "4", "-t", "45s", "--warm-up", "2", "--seed", "3")
    # In the brokers' order: if shuffled, none of nine clients may choose the third broker.
    return LocustRun(REBALANCE, *size, *faults, "--failover", "randomize=false", runs=runs).outcome(TIMEOUT_S)


def where(run: RunOutcome, at_ns: int) -> Counter[str]:
    """Count the clients by the broker that they were connected to at that moment."""
    at: dict[int, str] = {}
    for row in sorted(run.events("connections"), key=lambda row: int(row["at_ns"])):
        if row["at_ns"] <= at_ns:
            if row["event"] == "connected":
                at[row["client"]] = row["broker"]
            elif row["event"] in ("lost", "closed"):
                at.pop(row["client"], None)
    return Counter(at.values())


def test_an_absent_broker_is_no_crash_and_no_acknowledged_message_is_lost(rebalance: RunOutcome) -> None:
    assert (rebalance.summary["verdict"], rebalance.status) == ("pass", 0), rebalance.output
    assert rebalance.summary["messages"]["lost"] == 0
    assert [check["outcome"] for check in rebalance.summary["checks"]] == ["pass"] * 2
    assert rebalance.info["options"]["protocol"] == "openwire"


def test_the_moments_of_both_joins_were_measured_in_their_order(rebalance: RunOutcome) -> None:
    join, rejoin = rebalance.events("faults")
    names = ("requested", "began", "effective", "ended", "restored")
    moments = [join[f"{name}_ns"] for name in names] + [rejoin[f"{name}_ns"] for name in names[1:-1]]
    assert moments == sorted(moments)
    assert [(fault["kind"], fault["target"], fault["error"]) for fault in (join, rejoin)] == [
        ("join", JOINER, None)
    ] * 2
    assert join["ended_ns"] - join["effective_ns"] >= 3e9
    assert rejoin["restored_ns"] is None, "it stays"


def test_clients_move_to_the_broker_while_it_is_there_and_none_is_left_out(rebalance: RunOutcome) -> None:
    join, rejoin = rebalance.events("faults")
    ends_ns = rebalance.info["phases"]["load_ended_ns"]
    before, there, gone, again = (
        where(rebalance, at_ns) for at_ns in (join["began_ns"], join["ended_ns"], rejoin["began_ns"], ends_ns)
    )
    assert [clients_by_broker.total() for clients_by_broker in (before, there, again)] == [CLIENTS] * 3
    assert (before[JOINER], gone[JOINER]) == (0, 0), "it was absent"
    assert there[JOINER] > 0
    assert again[JOINER] > 0


def test_only_the_brokers_told_clients_to_go_to_the_one_that_joined(rebalance: RunOutcome) -> None:
    join = rebalance.events("faults")[0]
    rows = [row for row in rebalance.events("connections") if row["at_ns"] < join["ended_ns"]]
    there = [row for row in rows if row["broker"] == JOINER and row["event"] in ("connected", "moved")]
    assert there
    assert all(row["at_ns"] > join["began_ns"] for row in there)
    assert {row["cause"] for row in there if row["event"] == "moved"} == {"order"}


def test_those_that_were_there_when_it_left_are_its_outages_and_came_back_elsewhere(rebalance: RunOutcome) -> None:
    join, rejoin = rebalance.events("faults")
    rows = rebalance.results("outages")
    # Later a client may lose a connection all the same: seen with "Channel was inactive (no connection attempt made)",
    # 30 s after its broker had told it to move twice within 20 ms.
    until_ns = rejoin["began_ns"]
    events = [row for row in rebalance.events("connections") if row["at_ns"] < until_ns]
    lost = {row["client"] for row in events if row["event"] == "lost"}
    assert {row["client"] for row in rows} == lost
    assert len(lost) == where(rebalance, join["ended_ns"])[JOINER]
    assert all(row["to_broker"] not in (None, JOINER) for row in rows)
    assert rebalance.summary["recovery"]["never_back"] == 0


def test_the_broker_opened_its_links_itself_and_was_sampled_only_while_it_was_there(rebalance: RunOutcome) -> None:
    join = rebalance.events("faults")[0]
    joiner_samples = [row for row in rebalance.events("samples") if row["broker"] == JOINER]
    assert joiner_samples
    assert all(row["at_ns"] > join["began_ns"] for row in joiner_samples)
    bridges = {row["object"].partition("|")[0] for row in joiner_samples if row["kind"] == "bridge"}
    assert bridges == {f"{JOINER}-to-broker-1", f"{JOINER}-to-broker-2"}


def test_the_terminal_says_when_it_joined_and_left_and_nothing_is_left(rebalance: RunOutcome) -> None:
    assert f"absent until they join, their links and paths not proven: {JOINER}" in rebalance.output
    for step in (r"requested", r"effective after \d+\.\d\d s", r"mended: is gone after \d+\.\d\d s"):
        assert re.search(rf"fault join of {JOINER}, \d+\.\d s into the load: {step}", rebalance.output), step
    assert nothing_left(rebalance.runs)


@pytest.mark.parametrize("control", [("--topology", "mesh"), ("--protocol", "stomp")], ids=["mesh", "stomp"])
def test_nobody_moves_to_a_broker_that_joins_where_none_is_told_to(control: tuple[str, str], tmp_path: Path) -> None:
    outcome = LocustRun(REBALANCE, *control, "--producers", "5", "--consumers", "4", runs=tmp_path / "runs")
    run = outcome.outcome(TIMEOUT_S)
    assert (run.summary["verdict"], run.status) == ("pass", 0), run.output
    assert (run.summary["rebalance"]["moves"], run.summary["rebalance"]["off_at_end"]) == (0, 0)
    assert {row["broker"] for row in run.results("stays")} <= {"broker-1", "broker-2"}
    counts = run.summary["connection_counts"]
    assert counts["compared"] > 100
    assert counts["differed"] == 0, counts
