"""Checks the tables of equal runs of rebalance: where clients were at each moment, and how far figures lie apart."""

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from benchmarks import rebalance_spread
from benchmarks.rebalance_spread import ARMS, distribution_table, one_run, spread, spread_table, summaries_of
from topologies.catalogue.lookup import build


def summary(*moments: tuple[str, tuple[int, int, int], int], moves: int = 0) -> dict[str, Any]:
    """Of two groups with the same clients each. A moment: its name, the clients of each broker, how many were off."""
    told = [
        {"moment": name, "connected": dict(zip(("broker-1", "broker-2", "broker-3"), counts, strict=True)), "off": off}
        for name, counts, off in moments
    ]
    rebalance = {
        "groups": [{"moments": told}] * 2,
        "moves": moves,
        "moved": 0,
        "flaps": 0,
        "settled_s": None,
        "off_ms": {"p50": 80.0, "max": 90.0},
    }
    return {
        "verdict": "pass",
        "rebalance": {**rebalance, "at_end": {"max_to_mean": 1.5, "jain": 0.9}},
        "recovery": {"cut_off": 3, "outage_ms": {"p50": 10.0, "max": 20.0}, "ready_ms": {"max": None}},
        "messages": {"duplicated": 2, "lost": 0},
    }


KILLED = summary(("begin", (7, 5, 3), 0), ("after F1", (8, 7, 0), 1), moves=3)
MENDED = summary(("begin", (5, 5, 5), 0), ("after F1", (8, 7, 0), 0), ("after F1 mended", (5, 9, 1), 0), moves=9)


def test_each_run_tells_the_clients_of_each_broker_and_those_that_were_off_at_each_moment() -> None:
    assert distribution_table([("on", KILLED), ("off", MENDED)]).splitlines() == [
        "| run | verdict | begin | after F1 | after F1 mended |",
        "| --- | --- | --- | --- | --- |",
        "| on | pass | 14/10/6 | 16/14/0, 2 off |  |",
        "| off | pass | 10/10/10 | 16/14/0 | 10/18/2 |",
    ]


def test_the_arms_stand_beside_each_other_with_the_spread_of_their_runs() -> None:
    lines = spread_table({"on": [KILLED, MENDED, KILLED], "off": [KILLED]}).splitlines()
    assert lines[0] == "| figure | on | off |"
    assert "| `rebalance.moves` | 3 … **3** … 9 | 3 … **3** … 3 |" in lines
    assert "| `rebalance.settled_s` | 3 without | 1 without |" in lines


def test_a_run_without_a_figure_is_told_and_never_counted_as_nothing() -> None:
    assert spread([5.0, None, 1.0]) == "1 … **3** … 5, 1 without"


def test_the_four_arms_differ_in_rebalancing_and_in_randomize_only() -> None:
    options = {arm: arm.options(3) for arm in ARMS}
    assert len({arm.title for arm in ARMS}) == len({tuple(each) for each in options.values()}) == 4
    for arm, (_, topology, _, failover) in options.items():
        asked = {name: getattr(arm, name) == "on" for name in ("rebalance", "randomize")}
        assert build(topology) == build("mesh(rebalance=True)" if asked["rebalance"] else "mesh")
        assert failover == ("randomize=true" if asked["randomize"] else "randomize=false")


def test_a_run_that_leaves_no_summary_ends_the_series_and_says_why(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    arm = ARMS[0]

    def made(command: list[str], **_: Any) -> subprocess.CompletedProcess[str]:
        folder = Path(command[command.index("--runs") + 1]) / "one"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "summary.json").write_text(json.dumps(KILLED), "utf-8")
        return subprocess.CompletedProcess(command, 1, "no port is free")

    monkeypatch.setattr(rebalance_spread.subprocess, "run", made)  # type: ignore[attr-defined]
    one_run(arm, tmp_path, [])
    assert len(summaries_of(arm, tmp_path)) == 1
    with pytest.raises(SystemExit, match=r"(?s)rebalance\.py.*ended with status 1 and no summary:\nno port is free"):
        one_run(arm, tmp_path, [])
