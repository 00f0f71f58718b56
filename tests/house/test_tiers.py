"""Checks which tests a tier runs, and that its last lines and its exit status say what ran."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests import run
from tests.house.tree import ROOT
from tests.support import nightly
from tests.support.floors import GROUPS, groups_of, shortfalls
from tests.support.needs import NEEDS
from tests.support.parts import parse_part, part_of_each, weight_s
from tests.support.slow import SLOW, is_slow, slow_files
from tests.support.tiers import in_tier, may_run_beside_others, session_of

HERE = Path(__file__).relative_to(ROOT).as_posix()
NONE = {"groups": {}, "left_out": {}, "seconds": {}}


def counts(**found: object) -> dict[str, object]:
    return {**NONE, "passed": 0, "failed": 0, "error": 0, "skipped": 0, **found}


@pytest.mark.parametrize(
    ("tier", "markers", "inside"),
    [
        ("test", set(), True),
        ("test", {"slow", "brokers"}, False),
        ("rest", {"slow", "brokers"}, True),
        ("rest", set(), False),
        ("all", {"slow"}, True),
        ("all", set(), True),
        ("all", {"nightly"}, False),
        ("nightly", {"nightly", "slow"}, True),
        ("nightly", set(), False),
        ("nightly", {"nightly", "router"}, False),
    ],
)
def test_what_a_tier_has(tier: str, markers: set[str], inside: bool) -> None:
    assert in_tier(tier, markers) == inside


@pytest.mark.parametrize("pattern", SLOW)
def test_each_entry_of_the_slow_ones_names_a_file_that_there_is(pattern: str) -> None:
    file = pattern.partition("::")[0].replace("\\", "")
    names = [file.replace("(amqp|stomp)", name) for name in ("amqp", "stomp")]
    assert [name for name in names if not (ROOT / "tests" / name).is_file()] == []


def test_a_run_of_the_slow_ones_reads_each_file_that_has_one() -> None:
    files = slow_files()
    assert {pattern.partition("::")[0].rpartition("/")[2] for pattern in SLOW} == {
        f"{Path(file).stem}\\.py" for file in files
    }
    assert [file for file in files if not (ROOT / file).is_file()] == []


def test_a_slow_cell_of_a_matrix_leaves_the_others() -> None:
    test = "tests/topologies_runtime/test_contract.py::test_versions_tell_what_ran"
    assert (is_slow(f"{test}[containers]"), is_slow(f"{test}[processes]")) == (True, False)


def test_too_few_tests_of_a_group_are_a_sentence_unless_the_machine_lacks_what_they_need() -> None:
    enough = {group.name: group.least for group in GROUPS}
    assert shortfalls("all", enough, ()) == []
    amqp = next(group for group in GROUPS if group.need == "amqp")
    fewer = {**enough, amqp.name: amqp.least - 1}
    assert shortfalls("test", fewer, ()) == [f"{amqp.name}: {amqp.least - 1} tests passed, at least {amqp.least} must"]
    assert shortfalls("test", fewer, ("amqp",)) == []


@pytest.mark.parametrize(
    ("nodeid", "markers", "beside"),
    [
        ("tests/records/test_a.py::test_b", {"slow"}, True),
        ("tests/analysis/test_a.py::test_b", {"spark"}, True),
        ("tests/planted/test_stall.py::test_b", {"spark"}, False),  # a whole run, whose times are looked at
        ("tests/analysis/test_a.py::test_b", {"spark", "brokers"}, False),
        ("tests/lifecycle/test_ci.py::test_b", {"spark"}, True),  # a whole run in memory
        ("tests/lifecycle/test_ci.py::test_b", {"spark", "brokers"}, False),
    ],
)
def test_what_measures_or_starts_something_runs_alone(nodeid: str, markers: set[str], beside: bool) -> None:
    assert may_run_beside_others(nodeid, markers) == beside


def test_a_group_of_another_tier_is_not_asked_for() -> None:
    others = {group.name: group.least for group in GROUPS if group.tier == "test"}
    assert shortfalls("test", others, ()) == []
    assert [line.partition(":")[0] for line in shortfalls("rest", others, ())] == ["planted truths, whole runs"]


def test_a_test_counts_for_each_group_that_it_is_of() -> None:
    nodeid = "tests/drivers/conformance/test_sending.py::test_it[stomp-on-artemis]"
    assert {"STOMP", "ActiveMQ Artemis, real brokers"} <= set(groups_of(nodeid, {"brokers"}))
    assert groups_of(nodeid, set()) == []


@pytest.mark.parametrize("text", ["", "2", "0/4", "5/4", "2/4/1", "a/b"])
def test_a_part_that_cannot_be_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(ValueError, match="PART=2/4"):
        parse_part(text)


def test_parts_take_equally_long_and_have_each_test_once() -> None:
    weights = [1.0] * 40 + [10.0] * 6 + [0.5] * 40
    parts = part_of_each(weights, 4)
    assert parts == sorted(parts)
    took = [sum(weight for weight, its in zip(weights, parts, strict=True) if its == part) for part in (1, 2, 3, 4)]
    assert max(took) - min(took) <= 10.0
    assert part_of_each(weights, 1) == [1] * len(weights)


def test_a_file_that_was_measured_weighs_what_it_took_and_another_what_its_markers_say() -> None:
    assert weight_s("tests/a.py::test_b", {"spark"}, {"tests/a.py": 3.5}) == 3.5
    assert weight_s("tests/a.py::test_b", {"brokers", "spark"}, {}) > weight_s("tests/a.py::test_b", {"brokers"}, {})


def test_the_stages_add_up_and_the_last_lines_say_what_was_left_out_and_what_adds_it() -> None:
    first = counts(passed=2, failed=1, groups={"STOMP": 1}, left_out={"links": 1})
    second = counts(passed=3, groups={"STOMP": 2}, left_out={"links": 2})
    both = run.added_up([first, second])
    assert (both["passed"], both["failed"], both["groups"], both["left_out"]) == (5, 1, {"STOMP": 3}, {"links": 3})
    lines = run.closing(both, 90.0)
    assert lines[0] == "6 tests ran in 1.5 min: 5 passed, 1 failed."
    assert lines[1] == "Left out: 3 tests of links (no Toxiproxy)"
    assert lines[-1].endswith("make test-all")


def test_where_nothing_was_left_out_nothing_is_to_be_added() -> None:
    assert run.closing(run.added_up([counts(passed=1)]), 60.0) == ["1 tests ran in 1.0 min: 1 passed."]


def staged(monkeypatch: pytest.MonkeyPatch, *calls: run.Stage) -> tuple[run.Stage, list[list[str]]]:
    """A stage whose calls of pytest come to these, and what each was called with."""
    asked, left = list[list[str]](), list(calls)

    def call(_: str, arguments: list[str]) -> run.Stage:
        asked.append(arguments)
        return left.pop(0)

    monkeypatch.setattr(run, "call", call)
    return run.stage("serial", "test", None, []), asked


def test_a_test_that_failed_and_passes_alone_counts_as_passed_and_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    first = run.Stage(1, 60.0, counts(passed=5, failed=1, error=1, bad=["a", "b"], groups={"STOMP": 2}))
    again = run.Stage(0, 2.0, counts(passed=2, bad=[], groups={"STOMP": 1}))
    both, asked = staged(monkeypatch, first, again)
    assert (both.good, both.took_s, asked[1]) == (True, 62.0, ["a", "b"])
    total = run.added_up([both.counts])
    assert (total["passed"], total["failed"], total["error"], total["groups"]) == (7, 0, 0, {"STOMP": 3})
    assert run.closing(total, 62.0)[1] == "Unsteady, it failed and then passed alone: a"


def test_a_test_that_fails_alone_too_has_failed(monkeypatch: pytest.MonkeyPatch) -> None:
    first = run.Stage(1, 60.0, counts(passed=5, failed=2, bad=["a", "b"]))
    both, _ = staged(monkeypatch, first, run.Stage(1, 2.0, counts(passed=1, failed=1, bad=["b"])))
    total = run.added_up([both.counts])
    assert (both.good, total["passed"], total["failed"], total["unsteady"]) == (False, 6, 1, ["a"])


@pytest.mark.parametrize(
    "first",
    [
        run.Stage(1, 60.0, counts(failed=4, bad=["a", "b", "c", "d"])),  # too many to be a machine that stood still
        run.Stage(2, 60.0, counts(failed=1, bad=["a"])),  # interrupted
        run.Stage(0, 60.0, counts(passed=1, bad=[])),
    ],
)
def test_otherwise_nothing_runs_twice(first: run.Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    assert staged(monkeypatch, first)[0] == first


def test_a_repetition_that_came_to_nothing_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    first = run.Stage(1, 60.0, counts(failed=1, bad=["a"]))
    assert staged(monkeypatch, first, run.Stage(3, 1.0, {}))[0] == first


@pytest.mark.parametrize("tier", ["rest", "all", "nightly"])
def test_a_tier_that_leaves_nothing_out_is_refused_where_something_is_missing(
    tier: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(run, "missing_here", lambda: list(NEEDS))
    assert run.main([tier]) == 2
    told = capsys.readouterr().err
    assert [need.missing for need in NEEDS if need.missing not in told] == []


def test_parts_of_one_commit_are_added_up_and_those_still_to_run_are_named(tmp_path: Path) -> None:
    nightly.keep("1/3", counts(passed=5, took_s=60.0), True, tmp_path, "older")
    nightly.keep("1/3", counts(passed=7, took_s=60.0), True, tmp_path, "abc")
    (line,) = nightly.keep("3/3", counts(passed=2, failed=1, took_s=120.0), False, tmp_path, "abc")
    assert line.startswith("Nightly tests on abc, 2 of 3 parts: 9 passed, 1 did not, 3 min")
    assert line.endswith("still to run: PART=2/3.")
    (line,) = nightly.keep("2/3", counts(passed=1, took_s=60.0), True, tmp_path, "abc")
    assert line.endswith("10 passed, 1 did not, 4 min; all parts ran.")


def test_seconds_are_averaged_by_file() -> None:
    kept = [{"seconds": {"tests/a.py::one": 2.0, "tests/b.py::one": 1.0}}, {"seconds": {"tests/a.py::two": 4.0}}]
    assert nightly.mean_s(kept) == {"tests/a.py": 3.0, "tests/b.py": 1.0}


def test_tests_of_the_analysis_share_two_sessions_and_others_are_handed_out_one_by_one() -> None:
    files = ("analysis/test_jobs", "analysis/test_unplanned", "analysis/test_planted_runs", "records/test_a")
    found = [session_of(f"tests/{file}.py::test_b") for file in files]
    assert found == ["rows", "rows", "runs", ""]


def outside_xdist() -> dict[str, str]:
    """The environment without what tells a worker of xdist that it is one."""
    return {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}


def of_this_file(folder: Path, *arguments: str) -> dict[str, object]:
    """What pytest writes down when it runs one test of this file."""
    kept = folder / "counts.json"
    one = f"{HERE}::test_what_a_tier_has"
    command = [sys.executable, "-m", "pytest", "-q", "--counts", str(kept), *arguments, one]
    subprocess.run(command, cwd=ROOT, env=outside_xdist(), capture_output=True, check=False, timeout=280)
    written: dict[str, object] = json.loads(kept.read_text(encoding="utf-8"))
    return written


@pytest.mark.parametrize("beside_each_other", [(), ("-n", "2")])
def test_what_ran_is_written_down_also_if_it_ran_in_several_processes(
    tmp_path: Path, beside_each_other: tuple[str, ...]
) -> None:
    written = of_this_file(tmp_path, "--tier", "test", "--stage", "parallel", *beside_each_other)
    assert (written["passed"], written["failed"], written["left_out"], written["bad"]) == (10, 0, {}, [])
    assert len(written["seconds"]) == 10  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("stage", "others", "beside_each_other"), [("serial", [HERE], ("-n", "2")), ("parallel", [], ())]
)
def test_a_stage_tells_which_files_have_tests_of_the_other(
    tmp_path: Path, stage: str, others: list[str], beside_each_other: tuple[str, ...]
) -> None:
    written = of_this_file(tmp_path, "--tier", "test", "--stage", stage, *beside_each_other)
    assert written["of_other_stage"] == others


def test_a_stage_reads_the_files_that_the_one_before_it_named(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = list[list[str]]()

    def call(_: str, arguments: list[str]) -> run.Stage:
        asked.append(arguments)
        return run.Stage(0, 1.0, counts(passed=1, of_other_stage=["tests/a.py"]))

    monkeypatch.setattr(run, "call", call)
    assert len(list(run.run_stages("test", None, []))) == 2
    assert len(list(run.run_stages("rest", None, []))) == 2
    assert len(list(run.run_stages("test", None, ["-x", "tests/b.py"]))) == 2
    files = [[each for each in arguments if each.endswith(".py")] for arguments in asked]
    assert files == [[], ["tests/a.py"], slow_files(), ["tests/a.py"], ["tests/b.py"], ["tests/b.py"]]
