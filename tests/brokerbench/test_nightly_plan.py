"""Checks that a plan is parsed, and that an invalid plan is rejected with its line, its field and a correction."""

import re
import textwrap
from pathlib import Path

import pytest

from brokerbench.compare.making import check
from brokerbench.nightly import making
from brokerbench.nightly import plan as plan_module
from brokerbench.nightly.making import sessions
from brokerbench.nightly.plan import read, rejection_message
from records.errors import UserError
from reports.nightly.judging import judge_gates
from tests.house.tree import ROOT

GOOD = """\
vary: failover
reference: randomize=false
candidates: [randomize=true]
options: [--rate=200]
benchmarks:
  - scenario: steady
    topologies: [mesh, tree]
    run_time: 30s
    gates:
      - messages.lost == 0
      - latency_ms.due_to_received.p99 vs reference < 20%
  - scenario: failover
    topologies: [mesh]
    blocks: 3
    gates: [messages.lost == 0]
short: {blocks: 1, run_time: 8s}
"""


def written(folder: Path, text: str) -> Path:
    path = folder / "plan.yaml"
    path.write_text(text, encoding="utf-8")
    return path


def test_a_plan_is_a_comparison_for_each_scenario_and_topology(tmp_path: Path) -> None:
    plan = read(written(tmp_path, GOOD))
    benchmarks = sessions(plan, tmp_path / "nightly-monday")
    assert [benchmark.name for benchmark in benchmarks] == ["steady on mesh", "steady on tree", "failover on mesh"]
    assert plan.tests == 2
    assert [benchmark.session.blocks for benchmark in benchmarks] == [7, 7, 3]
    session = benchmarks[0].session
    assert (session.option, session.values) == ("failover", ("randomize=false", "randomize=true"))
    assert session.common_options == ("--rate=200", "--topology=mesh", "--check=messages.lost == 0", "-t", "30s")
    assert len({benchmark.session.folder for benchmark in benchmarks}) == 3


def test_the_plan_in_the_docstring_can_be_read(tmp_path: Path) -> None:
    (example,) = re.findall(r"(?:^    .*\n)+", plan_module.__doc__ or "", re.M)
    (benchmark,) = read(written(tmp_path, textwrap.dedent(example))).benchmarks
    assert (benchmark.scenario, benchmark.topologies, benchmark.blocks) == ("steady", ("mesh", "tree"), 7)
    assert len(benchmark.gates) == 2


def test_a_number_is_a_value_without_quotes(tmp_path: Path) -> None:
    numbers = GOOD.replace("vary: failover", "vary: prefetch").replace("randomize=false", "100")
    plan = read(written(tmp_path, numbers.replace("randomize=true", "1_000, 0x10")))
    assert (plan.reference, plan.candidates) == ("100", ("1_000", "0x10"))


@pytest.mark.parametrize("value", ["[1]", "{a: 1}", ""])
def test_a_reference_is_one_value(tmp_path: Path, value: str) -> None:
    path = written(tmp_path, GOOD.replace("reference: randomize=false", f"reference: {value}"))
    with pytest.raises(UserError, match=r"plan\.yaml:2:.*the plan\.reference: must be a value of the varied option"):
        read(path)


def test_the_short_form_runs_less_and_judges_the_same(tmp_path: Path) -> None:
    plan = read(written(tmp_path, GOOD)).shortened()
    assert {benchmark.session.blocks for benchmark in sessions(plan, tmp_path)} == {1}
    assert {benchmark.session.common_options[-1] for benchmark in sessions(plan, tmp_path)} == {"8s"}
    assert plan.tests == 2


def test_the_short_form_keeps_each_run_time_unless_it_says_another(tmp_path: Path) -> None:
    plan = read(written(tmp_path, GOOD.replace("short: {blocks: 1, run_time: 8s}", "short: {blocks: 2}"))).shortened()
    assert [(benchmark.blocks, benchmark.run_time) for benchmark in plan.benchmarks] == [(2, "30s"), (2, "")]


def test_each_night_has_an_order_of_its_own(tmp_path: Path) -> None:
    plan = read(written(tmp_path, GOOD))
    orders = {tuple(slot.value for slot in sessions(plan, tmp_path / f"n-{at}")[0].session.slots()) for at in range(5)}
    assert len(orders) > 1


def test_the_plan_of_this_project_can_be_read() -> None:
    plan = read(ROOT / "benchmarks" / "nightly.yaml")
    assert all(benchmark.blocks >= 8 for benchmark in plan.benchmarks)


def test_every_run_of_the_short_form_of_this_projects_plan_can_be_made(tmp_path: Path) -> None:
    plan = read(ROOT / "benchmarks" / "nightly.yaml").shortened()
    would = [check(benchmark.session) for benchmark in sessions(plan, tmp_path)]
    assert [len(arms) for arms in would] == [2, 2]


@pytest.mark.parametrize(
    ("text", "replacement", "place"),
    [
        ("    blocks: 3\n", "    blocks: 3\n    run_time: 5s\n", "plan.yaml:15:15: the plan.benchmarks[1].run_time: "),
        ("run_time: 8s}", "run_time: 5s}", "plan.yaml:16:30: the plan.short.run_time: "),
    ],
)
def test_what_a_run_refuses_is_told_in_the_words_of_the_plan_with_its_place(
    tmp_path: Path, text: str, replacement: str, place: str
) -> None:
    path = written(tmp_path, GOOD.replace(text, replacement, 1))
    plan = read(path).shortened() if "short" in place else read(path)
    why = "failover on mesh: failover a: fault kill of x: it is over after 5 s; make the load longer (-t)"
    assert (
        rejection_message(path, plan, plan.benchmarks[1], why)
        == f"{path.parent}/{place}{why.replace('-t', 'run_time')}"
    )
    assert "plan.yaml:12:5: the plan.benchmarks[1]: no" in rejection_message(path, plan, plan.benchmarks[1], "no")


def test_runs_that_cannot_be_made_name_their_candidate(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The gates of that comparison are invalid for each candidate of the plan, by the name of its arm."""

    def fail(*_: object) -> list[Path]:
        raise UserError("no such image")

    monkeypatch.setattr(making, "make", fail)
    (cell, *_) = making.make_cells(sessions(read(written(tmp_path, GOOD)), tmp_path), lambda _: None)
    (result,) = judge_gates([cell])
    assert (result.arm, result.gate, result.outcome) == ("failover randomize=true", "runs", "invalid")
    assert result.reasons == ("no such image",)
