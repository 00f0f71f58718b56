"""A command for runs that another command makes, or that belong to another plan, is rejected before it starts."""

from dataclasses import replace
from pathlib import Path

import pytest

from brokerbench.compare import command
from brokerbench.compare.command import make_missing_runs
from brokerbench.compare.session import ComparisonRequest as Comparison
from brokerbench.compare.session import lock_session, plan_session
from brokerbench.nightly import making
from brokerbench.nightly.command import NightRequest, run_night
from brokerbench.nightly.making import sessions
from brokerbench.nightly.plan import NightlyPlan, read
from tests.brokerbench.test_nightly_plan import GOOD, written

OTHER_PLAN = r"nightly-monday: this night began with another plan, .* start another night for this plan with --night"


@pytest.fixture(autouse=True)
def nothing_starts(monkeypatch: pytest.MonkeyPatch) -> None:
    def starts(_session: object) -> None:
        raise AssertionError("the options of a run were checked, which starts a process for each arm")

    monkeypatch.setattr(command, "check", starts)
    monkeypatch.setattr(making, "check", starts)


@pytest.fixture
def plan(tmp_path: Path) -> NightlyPlan:
    return read(written(tmp_path, GOOD))


def make_night(plan: NightlyPlan, runs: Path) -> None:
    run_night(NightRequest(Path("plan.yaml"), plan, "monday", runs, runs / "history", None, None), print)


def begin(plan: NightlyPlan, runs: Path) -> None:
    for benchmark in sessions(plan, runs / "nightly-monday"):
        benchmark.session.begin()


def test_a_night_that_began_with_another_plan_is_refused_at_once(plan: NightlyPlan, tmp_path: Path) -> None:
    begin(plan, tmp_path)
    with pytest.raises(ValueError, match=OTHER_PLAN):
        make_night(replace(plan, options=("--rate=300",)), tmp_path)


def test_so_is_one_whose_plan_had_other_scenarios(plan: NightlyPlan, tmp_path: Path) -> None:
    begin(plan, tmp_path)
    with pytest.raises(ValueError, match=OTHER_PLAN):
        make_night(replace(plan, benchmarks=plan.benchmarks[1:]), tmp_path)


def test_a_night_that_another_command_makes_is_refused_at_once(plan: NightlyPlan, tmp_path: Path) -> None:
    begin(plan, tmp_path)
    says = "another command is making these runs: wait until it ends, or start another night for this plan"
    with lock_session(tmp_path / "nightly-monday"), pytest.raises(ValueError, match=says):
        make_night(plan, tmp_path)


def test_a_night_that_the_same_plan_began_goes_on(plan: NightlyPlan, tmp_path: Path) -> None:
    begin(plan, tmp_path)
    with pytest.raises(AssertionError, match="the options of a run were checked"):
        make_night(plan, tmp_path)


def test_another_comparisons_folder_is_rejected_at_once(tmp_path: Path) -> None:
    """The folder belongs to a comparison with other options, or another command is making it."""
    request = Comparison("steady", "mesh,tree", (), 3, "10s", "mine", (), tmp_path)
    session = plan_session(request, 1)
    session.begin()
    with pytest.raises(ValueError, match="compare-mine: contains runs with other options"):
        make_missing_runs(replace(request, run_time="20s"), (), print)
    with lock_session(session.folder), pytest.raises(ValueError, match="or choose another session with --session"):
        make_missing_runs(request, (), print)
