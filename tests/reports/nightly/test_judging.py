"""Planted regressions are red and named. Figures without a verdict are yellow. Figures that did not get worse are
green."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from records.figures.summary import AbortResult
from reports.nightly.build import document, markdown, nightly_page
from reports.nightly.history import SCHEMA, NightlyHistory
from reports.nightly.judging import OWN_CHECKS, Night, NightlyCell, answer, doubts, judge_gates, night
from tests.reports.nightly.planted import P99, cell, with_check

LOST = "messages.lost == 0"
ABORT = AbortResult(
    condition="messages.failed > 0",
    figure="messages.failed",
    value=3,
    rule="> 0",
    at_s=12.0,
    in_warm_up=False,
    analysed=3,
    confirmed=True,
)
ABORTED = {"checks": [], "aborted": [ABORT]}


def only(judged_cell: NightlyCell, gate: str) -> tuple[str, str]:
    """The outcome and the reasons of one gate."""
    (result,) = [result for result in judge_gates([judged_cell]) if result.gate == gate]
    return result.outcome, " ".join(result.reasons)


def planned(*cells: NightlyCell) -> Night:
    return night("2026-11-23", "nightly.yaml", cells)


def test_a_candidate_that_is_slower_than_allowed_fails_and_is_named(tmp_path: Path) -> None:
    planned_night = planned(cell(tmp_path, 1.6))
    (failed,) = planned_night.results_with("fail")
    assert (failed.arm, failed.gate) == ("hub-and-spoke", f"{P99} vs reference < 20%")
    assert "higher" in failed.reasons[0]
    assert "under Holm over 1 test" in failed.reasons[0]
    assert (planned_night.color, planned_night.exit_status(strict=False)) == ("red", 1)
    assert answer(planned_night).startswith(f"Failed: {failed.gate} (steady, hub-and-spoke).")


@pytest.mark.parametrize("ratio", [0.5, 1.0, 1.1])
def test_a_candidate_that_is_faster_or_hardly_slower_passes(tmp_path: Path, ratio: float) -> None:
    planned_night = planned(cell(tmp_path, ratio))
    assert (planned_night.results_with("fail", "undecided"), planned_night.color) == ([], "green")
    assert planned_night.exit_status(strict=True) == 0


def test_the_same_for_a_figure_of_which_more_is_better(tmp_path: Path) -> None:
    gate = "throughput.received_per_s vs reference > -5%"  # the planted rate falls by the tenth root
    assert only(cell(tmp_path / "slow", 3.0, gates=[gate]), gate)[0] == "fail"
    assert only(cell(tmp_path / "fast", 0.5, gates=[gate]), gate)[0] == "pass"


def test_a_difference_that_is_allowed_is_not_red_however_surely_it_is_one(tmp_path: Path) -> None:
    """A candidate that is 19 % slower where 20 % is allowed is red in at most 5 % of nights."""
    nights = [planned(cell(tmp_path / str(seed), 1.19, deviation=0.05, seed=seed)) for seed in range(20)]
    assert sum(bool(one_night.results_with("fail")) for one_night in nights) <= 3


def test_too_few_blocks_are_undecided_and_say_how_many_it_takes(tmp_path: Path) -> None:
    planned_night = planned(cell(tmp_path, 1.6, blocks=3))
    (result,) = planned_night.results_with("undecided")
    assert "a verdict needs 7 blocks" in " ".join(result.reasons)
    assert (planned_night.color, planned_night.exit_status(strict=False), planned_night.exit_status(strict=True)) == (
        "yellow",
        0,
        4,
    )


def test_runs_that_do_not_repeat_are_undecided(tmp_path: Path) -> None:
    planned_night = planned(cell(tmp_path, 1.2, deviation=0.4))
    assert [result.gate for result in planned_night.results_with("undecided")] == [f"{P99} vs reference < 20%"]


def test_all_gates_of_a_night_share_one_level(tmp_path: Path) -> None:
    """Eight blocks give p = 2/256 at best: enough for six tests, not for seven."""
    cells = [cell(tmp_path / str(at), 1.6) for at in range(7)]
    assert {result.outcome for result in judge_gates(cells[:6]) if result.figure} == {"fail"}
    assert {result.outcome for result in judge_gates(cells) if result.figure} == {"undecided"}


def test_a_check_that_failed_in_one_run_fails_the_gate_and_names_the_run(tmp_path: Path) -> None:
    failed_cell = cell(tmp_path, checks=[LOST], summary=with_check(LOST, "fail"))
    outcome, reasons = only(failed_cell, LOST)
    assert outcome == "fail"
    assert "run-1-1: messages.lost is 3, it must be == 0." in reasons
    assert "run-1-0" not in reasons, "the reference is not judged"
    assert "8 checks of the reference's runs ended the same way." in reasons
    assert only(failed_cell, OWN_CHECKS) == ("pass", "")


@pytest.mark.parametrize(
    ("planted", "gate", "outcome", "says"),
    [
        ({"summary": with_check(LOST, "unknown", None)}, LOST, "undecided", "the run has no figure messages.lost"),
        ({"summary": with_check(LOST, "unknown")}, LOST, "undecided", "== 0; messages may be in places that"),
        ({"summary": with_check("messages.sent > 9", "fail")}, OWN_CHECKS, "fail", "messages.sent is 3"),
        ({"summary": with_check(LOST, "pass")}, LOST, "pass", ""),
        ({"verdict": "invalid"}, LOST, "invalid", "run-1-1 is an invalid run"),
        ({"verdict": "fail", "summary": {"checks": []}}, OWN_CHECKS, "fail", "run-1-1: "),
        ({"verdict": "unknown", "summary": {"checks": []}}, OWN_CHECKS, "undecided", "run-1-1: "),
        (
            {"verdict": "unknown", "summary": with_check("messages.sent > 9", "pass")},
            OWN_CHECKS,
            "undecided",
            "run-1-1",
        ),
        ({"verdict": "fail", "summary": ABORTED}, OWN_CHECKS, "fail", "run-1-1: aborted: "),
        ({"verdict": "unknown", "summary": ABORTED}, OWN_CHECKS, "fail", "run-1-1: aborted: "),
    ],
)
def test_checks_of_single_runs(tmp_path: Path, planted: dict[str, Any], gate: str, outcome: str, says: str) -> None:
    outcome_found, reasons = only(cell(tmp_path, checks=[LOST], **planted), gate)
    assert outcome_found == outcome
    assert says in reasons


def test_runs_that_could_not_be_made_are_red_and_say_why(tmp_path: Path) -> None:
    broken = replace(cell(tmp_path), comparison=None, trouble="block 1, mesh: no such image; see run.log")
    planned_night = planned(broken)
    assert (planned_night.color, planned_night.exit_status(strict=False)) == ("red", 3)
    assert planned_night.results[0].reasons == ("block 1, mesh: no such image; see run.log",)
    assert answer(planned_night).startswith("Invalid: runs (steady).")
    named = planned(replace(broken, candidates=("mesh", "tree")))
    assert answer(named).startswith("Invalid: runs (steady, mesh); runs (steady, tree).")


def with_rates(judged_cell: NightlyCell, candidate: str | None, reference: str | None = None) -> NightlyCell:
    """What limited the rate of each run of either; None: it was held."""
    assert judged_cell.comparison is not None
    design = judged_cell.comparison.design
    arms = []
    for arm, limit in zip(design.arms, (reference, candidate), strict=True):
        rate = {"held": limit is None, "limited_by": limit}
        runs = [replace(run, summary={**run.summary, "offered_rate": rate}) for run in arm.runs]  # type: ignore[arg-type]
        arms.append(replace(arm, runs=tuple(runs)))
    return replace(judged_cell, comparison=replace(judged_cell.comparison, design=replace(design, arms=tuple(arms))))


def test_a_candidate_whose_broker_became_too_slow_for_the_rate_turns_every_gate_red(tmp_path: Path) -> None:
    """CPU per message is as before: it is of fewer messages."""
    gate = "throughput.cpu_ms_per_message_brokers vs reference < 20%"
    assert only(cell(tmp_path / "as before", gates=[gate]), gate)[0] == "pass"
    slow = with_rates(cell(tmp_path / "slow", gates=[gate]), "brokers")
    assert only(slow, gate) == ("fail", "It did not hold the offered rate in 8 blocks in which the first arm did.")
    assert planned(slow).color == "red"


@pytest.mark.parametrize(("candidate", "reference"), [("host", None), ("brokers", "brokers"), (None, "brokers")])
def test_a_rate_that_the_machine_or_both_did_not_hold_decides_no_gate(
    tmp_path: Path, candidate: str | None, reference: str | None
) -> None:
    gate = "throughput.cpu_ms_per_message_brokers vs reference < 20%"
    assert only(with_rates(cell(tmp_path, gates=[gate]), candidate, reference), gate)[0] == "pass"


def test_a_night_says_how_many_runs_of_which_arm_did_not_hold_the_rate(tmp_path: Path) -> None:
    slow = planned(with_rates(cell(tmp_path), "link"))
    assert doubts(slow) == (
        "steady: hub-and-spoke did not hold the offered rate in 8 of 8 runs. The limit: a link in 8.",
    )
    assert document(slow)["doubts"] == list(doubts(slow))
    assert f"### What to doubt\n\n- {doubts(slow)[0]}" in markdown(slow).replace("\\", "")
    page = nightly_page(slow, NightlyHistory(SCHEMA.empty_table()), {})
    assert page.doubts == doubts(slow)
    assert doubts(planned(cell(tmp_path / "held"))) == ()
