"""Checks the plan of the durability table, the result of each run in it, and the table."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from brokerbench.cli import main
from brokerbench.durability.cells import FIRST_S, KILL, LAST_S, OFF_S, RACK, SETUPS, Setup, all_cells, chosen
from brokerbench.durability.making import ENOUGH_LOSSES, missing
from brokerbench.durability.table import (
    DECIDED,
    KEPT,
    LOST,
    NOT_STARTED,
    STRANDED,
    UNKNOWN,
    WITHOUT_LOSS,
    Round,
    most_losses,
    round_of,
    table,
)
from harness.faults import KillBroker
from harness.faults.planning import parse_faults
from harness.faults.power_loss import PowerLoss, split_by_broker
from topologies.catalogue.lookup import build
from topologies.catalogue.overlay import Overlay

CELLS = [*all_cells()]
MENDED = {"effective_ns": 1, "restored_ns": 2, "error": None}


def test_every_cell_has_a_folder_of_its_own() -> None:
    assert len({cell.slug for cell in CELLS}) == len(CELLS) == len({*CELLS})


@pytest.mark.parametrize("setup", SETUPS, ids=lambda setup: setup.topology)
def test_cells_name_brokers_that_are_there(setup: Setup) -> None:
    """Producers connect to the first broker, and all listed brokers can lose power together."""
    built = build(setup.topology)
    assert tuple(broker.name for broker in built.brokers) == setup.brokers
    assert built.product.name == setup.product
    assert {group.name: group.enter_at[0].name for group in built.groups}["producers"] == setup.brokers[0]


@pytest.mark.parametrize("cell", CELLS, ids=str)
def test_the_options_of_a_cell_can_be_read(cell: Any, tmp_path: Any) -> None:
    """The settings are fields of the brokers, and the fault can be parsed."""
    path = tmp_path / "overlay.yaml"
    path.write_text(cell.overlay, encoding="utf-8")
    assert (
        Overlay(path, cell.overlay).apply(build(cell.topology)) != build(cell.topology)
        or "always" in str(cell)
        or ("NIO synced" in str(cell))
    )
    faults = split_by_broker(parse_faults(cell.fault_in(3)))
    assert {type(fault) for fault in faults} == {KillBroker if cell.fault == KILL else PowerLoss}
    brokers = cell.setup.brokers
    assert [fault.target for fault in faults] == list(brokers if cell.fault == RACK else brokers[:1])
    assert {fault.for_s for fault in faults} == {OFF_S}


def test_faults_of_rounds_begin_at_other_times() -> None:
    """The same round of the same cell begins at the same time in each process."""
    times = [fault.at_s for number in range(1, 6) for fault in parse_faults(CELLS[1].fault_in(number))]
    assert len({*times}) == 5
    assert all(FIRST_S <= at_s <= LAST_S for at_s in times)
    assert CELLS[1].fault_in(1) == "power-loss(broker-1, at=5.2, for=2)"


def test_cells_are_chosen_by_their_parts() -> None:
    assert chosen([]) == CELLS
    assert [str(cell) for cell in chosen(["5.18.3,single,never", "mirror,NIO synced,power"])] == [
        "classic, 5.18.3, single, never, SIGKILL",
        "classic, 5.18.3, single, never, power",
        "artemis, 2.44.0, mirror, NIO synced, power",
    ]
    with pytest.raises(ValueError, match="no cell has 'mesh'; write some of "):
        chosen(["mesh"])


def outcome(
    verdict: str = "pass",
    faults: list[Mapping[str, Any]] | None = None,
    corrupted: int = 0,
    reason: str = "a reason",
    **recovery: Any,
) -> Round:
    figures = {"at_risk": 100, "gone": 0, "lost": 0, "stranded": 0, "lost_holes": 0, "oldest_lost_s": 0.0} | recovery
    messages = {"lost": figures["lost"], "unaccounted": 0, "dead_lettered": 0, "corrupted": corrupted}
    summary = {
        "verdict": verdict,
        "recovery": {"start_s": 6.0} | figures,
        "messages": messages,
        "reasons": [reason],
    }
    return round_of(1, summary, [MENDED] if faults is None else faults)


def test_a_round_is_kept_only_if_its_run_passed() -> None:
    assert outcome().outcome == KEPT
    assert outcome("fail", gone=7, oldest_lost_s=1.5).outcome == LOST
    assert outcome("fail").outcome == UNKNOWN
    assert outcome("pass", at_risk=0).outcome == UNKNOWN
    assert outcome("pass", gone=1).outcome == UNKNOWN
    for verdict in ("invalid", "unknown", "interrupted"):
        assert outcome(verdict, gone=3).outcome == UNKNOWN


def test_messages_on_another_broker_are_not_lost() -> None:
    assert outcome("fail", stranded=5).outcome == STRANDED
    assert outcome("fail", stranded=5, gone=2, lost=2).outcome == LOST
    assert outcome("fail", stranded=5, corrupted=1).outcome == UNKNOWN
    unsearched = outcome("fail", stranded=5, gone=2)
    assert unsearched.outcome == UNKNOWN, "2 may be on the broker where the 5 are"
    assert unsearched.why.endswith("2 of 100 messages at risk are gone; a reason")


def test_a_miscounted_subscription_hides_no_loss() -> None:
    reason = "broker-1: durable subscription DurableSubscriber-1 of a.topic holds 1 messages, and gave 0"
    assert outcome("unknown", reason=reason).outcome == KEPT
    assert outcome("unknown", reason=f"{reason} of them").outcome == UNKNOWN
    assert outcome("unknown", reason=reason, gone=1).outcome == UNKNOWN
    assert outcome("unknown", reason=reason, stranded=1).outcome == UNKNOWN
    assert outcome("unknown", reason=reason, corrupted=1).outcome == UNKNOWN
    assert outcome("invalid", reason=reason).outcome == UNKNOWN


def test_a_broker_that_did_not_start_is_an_answer() -> None:
    error = "broker 'broker-1' died while starting. Its log ends:\n  Artemis 2\n  an.IOException: version\n  stopped"
    dead = {"effective_ns": 1, "restored_ns": None, "error": error}
    assert str(outcome("invalid", [MENDED, dead])) == "round 1: did not start: an.IOException: version"
    without_effect = {"effective_ns": None, "restored_ns": None, "error": "the load ended before it was due"}
    assert outcome("invalid", [without_effect]).outcome == UNKNOWN


def test_no_losses_leave_a_share_possible() -> None:
    assert most_losses(0) == 1.0
    assert most_losses(5) == pytest.approx(0.451, abs=0.001)
    assert most_losses(1_000) == pytest.approx(3 / 1_000, rel=0.01)  # the rule of three


@given(st.lists(st.sampled_from([*DECIDED, UNKNOWN])), st.integers(1, 8))
def test_rounds_are_made_until_enough_have_answers(outcomes: list[str], wanted: int) -> None:
    rounds = [Round(number, outcome) for number, outcome in enumerate(outcomes[: 2 * wanted], start=1)]
    more, decided = missing(rounds, wanted), [outcome for outcome in outcomes[: 2 * wanted] if outcome in DECIDED]
    assert len(rounds) + len(more) <= 2 * wanted
    assert not {*more} & {round.number for round in rounds}
    enough = min(wanted, wanted if {*WITHOUT_LOSS} & {*decided} else ENOUGH_LOSSES)
    assert len(more) == min(max(0, enough - len(decided)), 2 * wanted - len(rounds))


def test_a_cell_that_always_loses_is_over_early() -> None:
    lossy = [Round(1, LOST, lost=7), Round(2, NOT_STARTED), Round(3, LOST, lost=1)]
    assert missing(lossy[:2], 5) == [3]
    assert missing(lossy, 5) == []
    assert missing([*lossy[:2], Round(3, KEPT)], 5) == [4, 5]
    assert missing(lossy[:2], 2) == []


def test_the_table_has_a_row_for_each_cell() -> None:
    safe, lossy = chosen(["5.18.3,single,never,power", "5.18.3,single,always,power"])
    rounds = {
        safe: [Round(number, KEPT, 1_000, start_s=5.0 + number) for number in (1, 2, 3)],
        lossy: [
            Round(1, LOST, 900, 850, 3, 1, 4.25, 6.0),
            Round(2, UNKNOWN, 5, why="the verdict is unknown"),
            Round(3, NOT_STARTED, why="it died"),
        ],
    }
    heading, _, *rows = table(rounds).splitlines()
    assert heading.split(" | ")[5:8] == ["messages at risk", "lost", "rounds with losses"]
    assert rows == [
        "| classic | 5.18.3 | single | always | power | 3,000 | 0 | 0 of 3 (95 %: at most 63%) | – | 0 | 0 | 7.0 s "
        "| 0 of 3 |",
        "| classic | 5.18.3 | single | never | power | 900 | 850 | 1 of 1 | 4.25 s | 1 | 3 | 6.0 s | 1 of 2 |",
        "",
        "Rounds without a result, which the table omits:",
        "",
        "- classic, 5.18.3, single, never, power, round 2: the verdict is unknown",
    ]


def test_a_table_that_cannot_be_written_is_told_before_the_first_round(tmp_path: Path) -> None:
    out = tmp_path / "missing" / "table.md"
    told = CliRunner().invoke(main, ["durability", "--out", str(out), "--runs", str(tmp_path / "runs")])
    assert told.exit_code == 2
    assert f"--out {out}: {out.parent} is not a folder that can be written to; choose another file" in told.output
    assert not (tmp_path / "runs").exists()
