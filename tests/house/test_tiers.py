"""Checks which tests a tier runs, its last lines and exit status, and which tools a test can use."""

import argparse
import importlib.util
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests import run
from tests.house.tree import ROOT
from tests.support import bare
from tests.support.floors import GROUPS, groups_of, shortfalls
from tests.support.hiding import MARKERS, only
from tests.support.needs import NEEDS
from tests.support.slow import SLOW, is_slow
from tests.support.tiers import CollectedTest

PROTON = "import proton"
ENGINE = "from topologies.runtimes.containers.engine import find; find()"
TOXIPROXY = "from topologies.runtimes.proxies.toxiproxy import find_toxiproxy; find_toxiproxy('any')"


def a_test(nodeid: str, *markers: str, count: int = 1) -> CollectedTest:
    return CollectedTest(nodeid, frozenset(markers), count)


@pytest.mark.parametrize(
    ("tier", "markers", "inside"),
    [
        ("test", set(), True),
        ("test", {"slow", "brokers"}, False),
        ("all", {"slow"}, True),
        ("all", set(), True),
        ("all", {"nightly"}, False),
        ("nightly", {"nightly", "slow"}, True),
        ("nightly", set(), False),
        ("nightly", {"nightly", "router"}, False),
    ],
)
def test_what_a_tier_has(tier: str, markers: set[str], inside: bool) -> None:
    assert a_test("tests/a.py::test_b", *markers).is_of(tier) == inside


@pytest.mark.parametrize("pattern", SLOW)
def test_each_entry_of_the_slow_ones_names_a_file_that_there_is(pattern: str) -> None:
    file = pattern.partition("::")[0].replace("\\", "")
    names = [file.replace("(amqp|stomp)", name) for name in ("amqp", "stomp")]
    assert [name for name in names if not (ROOT / "tests" / name).is_file()] == []


@pytest.mark.parametrize("pattern", [pattern for pattern in SLOW if "::test_" in pattern])
def test_each_slow_entry_names_tests(pattern: str) -> None:
    """A renamed test would run in `make test` again."""
    file, _, names = pattern.partition("::test_")
    text = (ROOT / "tests" / file.replace("\\", "").replace("(amqp|stomp)", "stomp")).read_text(encoding="utf-8")
    alternatives = re.match(r"\(([^()]*)\)", names)
    prefixes = [re.split(r"\W", each)[0] for each in (alternatives[1] if alternatives else names).split("|")]
    prefixes = prefixes if alternatives else prefixes[:1]
    assert [prefix for prefix in prefixes if f"def test_{prefix}" not in text] == []


def test_a_slow_cell_of_a_matrix_leaves_the_others() -> None:
    test = "tests/topologies_runtime/test_contract.py::test_versions_tell_what_ran"
    assert (is_slow(f"{test}[containers]"), is_slow(f"{test}[processes]")) == (True, False)


def test_too_few_passed_tests_of_a_group_are_reported() -> None:
    """This does not apply if the machine lacks a need of the group."""
    enough = {group.name: group.least for group in GROUPS}
    assert shortfalls("all", enough, ()) == []
    amqp = next(group for group in GROUPS if group.need == "amqp")
    fewer = {**enough, amqp.name: amqp.least - 1}
    assert shortfalls("test", fewer, ()) == [f"{amqp.name}: {amqp.least - 1} tests passed, at least {amqp.least} must"]
    assert shortfalls("test", fewer, ("amqp",)) == []
    assert shortfalls("nightly", {}, ()) == []


def test_a_group_of_slow_tests_is_asked_for_where_they_run() -> None:
    enough = {group.name: group.least for group in GROUPS if not group.tier}
    assert shortfalls("test", enough, ()) == []
    assert [line.partition(":")[0] for line in shortfalls("all", enough, ())] == ["planted truths, whole runs"]


@pytest.mark.parametrize(
    ("nodeid", "markers", "beside"),
    [
        ("tests/records/test_a.py::test_b", {"slow"}, True),
        ("tests/analysis/test_a.py::test_b", {"spark"}, True),
        ("tests/planted/test_stall.py::test_b", {"spark"}, False),  # a whole run that measures times
        ("tests/analysis/test_a.py::test_b", {"spark", "brokers"}, False),
        ("tests/lifecycle/test_ci.py::test_b", {"spark"}, True),  # a whole run in memory
        ("tests/lifecycle/test_ci.py::test_b", {"spark", "brokers"}, False),
    ],
)
def test_what_measures_or_starts_something_runs_alone(nodeid: str, markers: set[str], beside: bool) -> None:
    assert a_test(nodeid, *markers).may_run_beside_others == beside
    stages = {name: tests for name, _, tests in run.stages_of("all", [a_test(nodeid, *markers)])}
    assert len(stages["parallel" if beside else "serial"]) == 1


def test_a_test_counts_for_each_group_that_it_is_of() -> None:
    nodeid = "tests/drivers/conformance/test_sending.py::test_it[stomp-on-artemis]"
    assert {"STOMP", "ActiveMQ Artemis, real brokers"} <= set(groups_of(nodeid, {"brokers"}))
    assert groups_of(nodeid, set()) == []


@pytest.mark.parametrize("text", ["", "2", "0/4", "5/4", "2/4/1", "a/b"])
def test_a_part_that_cannot_be_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(argparse.ArgumentTypeError, match="PART=2/4"):
        run.part_options(text)


TESTS = [
    a_test("tests/a.py::one"),
    a_test("tests/a.py::two", "links"),
    a_test("tests/a.py::three", "slow"),
    a_test("tests/amqp.py", "amqp", count=7),  # a file that cannot be read
]


def test_left_out_tests_are_counted_by_missing_need() -> None:
    """Slow tests do not belong to this tier."""
    choice = run.choose(TESTS, "test", ["links", "amqp"], [])
    assert [test.nodeid for test in choice.tests] == ["tests/a.py::one"]
    assert choice.left_out == {"links": 1, "amqp": 7}


def test_what_ran_earlier_does_not_run_again_and_nothing_else_is_left_out() -> None:
    choice = run.choose(TESTS, "all", [], ["tests/a.py::one"])
    assert [test.nodeid for test in choice.earlier] == ["tests/a.py::one"]
    assert [test.nodeid for test in choice.tests] == ["tests/a.py::two", "tests/a.py::three", "tests/amqp.py"]
    assert run.side_by_side(choice, Path("earlier.json")) == [
        "Each of the 4 tests ran once. Earlier (earlier.json lists them) and now:",
        "  a.py                      1      2",
        "  amqp.py                   0      1",
        "  together                  1      3",
    ]


def test_an_earlier_run_of_tests_that_are_gone_or_of_another_commit_is_refused(tmp_path: Path) -> None:
    with pytest.raises(run.RefusedArguments, match=r"1 tests .* such as tests/b\.py::gone: run make test again"):
        run.choose(TESTS, "all", [], ["tests/b.py::gone"])
    record = tmp_path / "test.json"
    with pytest.raises(run.RefusedArguments, match=r"there is no .*test\.json: run make test first"):
        run.read_passed(record)
    record.write_text(json.dumps({"commit": "abc", "passed": []}), encoding="utf-8")
    with pytest.raises(run.RefusedArguments, match=f"is of commit abc, and this is {run.commit()}"):
        run.read_passed(record)


def test_floors_count_what_ran_earlier_too() -> None:
    tests = [a_test(f"tests/reports/test_a.py::test_{number}") for number in range(100)]
    choice = run.choose(tests, "all", [], [test.nodeid for test in tests[:50]])
    outcomes = {test.nodeid: "passed" for test in tests[50:]}
    assert [line for line in run.short_of("all", choice, outcomes) if line.startswith("report:")] == []
    outcomes = {**outcomes, **{test.nodeid: "failed" for test in tests[50:80]}}
    assert "report: 70 tests passed, at least 85 must" in run.short_of("all", choice, outcomes)


def test_the_last_lines_say_what_was_left_out_and_what_adds_it() -> None:
    lines = run.closing({"a": "passed", "b": "passed", "c": "failed"}, ["b"], {"links": 3}, 90.0)
    assert lines == [
        "3 tests ran in 1.5 min: 2 passed, 1 failed.",
        "Unsteady, it failed and then passed alone: b",
        "Left out: 3 tests of links (no Toxiproxy)",
        "One command adds what was left out: make test-all",
    ]
    assert run.closing({"a": "passed"}, [], {}, 60.0) == ["1 tests ran in 1.0 min: 1 passed."]


def report(nodeid: str, when: str, outcome: str) -> str:
    return json.dumps({"$report_type": "TestReport", "nodeid": nodeid, "when": when, "outcome": outcome})


def test_a_test_that_fails_around_its_call_is_an_error() -> None:
    passed = [report("a", when, "passed") for when in ("setup", "call", "teardown")]
    log = [*passed, report("b", "setup", "failed"), report("c", "call", "passed"), report("c", "teardown", "failed")]
    assert run.outcomes_in([*log, '{"$report_type": "SessionFinish"}']) == {"a": "passed", "b": "error", "c": "error"}


FAILED_TWO = run.TierStage(1, {"a": "failed", "b": "error", "c": "passed"})


@pytest.mark.parametrize(
    ("calls", "comes_to"),
    [
        (
            [FAILED_TWO, run.TierStage(0, {"a": "passed", "b": "passed"})],
            run.TierStage(0, dict.fromkeys("abc", "passed"), ["a", "b"]),
        ),
        (
            [FAILED_TWO, run.TierStage(1, {"a": "passed", "b": "failed"})],
            run.TierStage(1, {"a": "passed", "b": "failed", "c": "passed"}, ["a"]),
        ),
        ([FAILED_TWO, run.TierStage(3)], run.TierStage(3, FAILED_TWO.outcomes, [])),  # the second call failed
        ([run.TierStage(1, dict.fromkeys("abcd", "failed"))], None),  # too many for a machine that stalled
        ([run.TierStage(2, {"a": "failed"})], None),  # interrupted
        ([run.TierStage(0, {"a": "passed"})], None),
    ],
)
def test_up_to_three_failed_tests_run_once_more(
    calls: list[run.TierStage], comes_to: run.TierStage | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Tests that pass in the second run are listed."""
    chosen, remaining = list[list[str]](), list(calls)

    def call(_: str, nodeids: list[str], options: list[str]) -> run.TierStage:
        chosen.append(nodeids)
        return remaining.pop(0)

    monkeypatch.setattr(run, "call_pytest", call)
    tests = [a_test(nodeid) for nodeid in calls[0].outcomes]
    assert run.run_stage("test-serial", tests, []) == (comes_to or calls[0])
    assert chosen == [[*calls[0].outcomes], *([["a", "b"]] if comes_to else [])]


@pytest.mark.parametrize("tier", ["all", "nightly"])
def test_a_tier_that_leaves_nothing_out_is_refused_where_something_is_missing(
    tier: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(run, "missing_here", lambda: list(NEEDS))
    assert run.main([tier]) == 2
    refusal = capsys.readouterr().err
    assert [need.missing for need in NEEDS if need.missing not in refusal] == []


def test_only_the_chosen_tests_run_also_in_several_processes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run, "KEPT", tmp_path)
    for name in [name for name in run.os.environ if name.startswith("PYTEST_")]:
        monkeypatch.delenv(name)  # xdist marks its workers with these variables
    chosen = [
        f"{Path(__file__).relative_to(ROOT).as_posix()}::test_a_part_that_cannot_be_is_refused_with_an_example[2]"
    ]
    assert run.call_pytest("parallel", chosen, run.BESIDE_EACH_OTHER) == run.TierStage(0, {chosen[0]: "passed"})


def python(code: str) -> int:
    return subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, check=False).returncode


@pytest.mark.parametrize("code", [PROTON, ENGINE, TOXIPROXY])
def test_a_test_without_markers_sees_nothing_that_takes_one_nor_does_what_it_starts(code: str) -> None:
    with pytest.raises(Exception, match=r"proton|no Docker engine answers|no toxiproxy-server"):
        exec(code)
    assert python(code) == 1
    assert importlib.util.find_spec("proton") is None
    assert [name for name in ("docker", "chromium", "toxiproxy-server", "ip") if shutil.which(name)] == []


@pytest.mark.amqp
def test_a_test_that_is_marked_sees_what_its_marker_names() -> None:
    import proton

    assert python(PROTON) == 0
    with only(MARKERS - {"amqp"}):
        assert python(PROTON) == 1
    assert sys.modules["proton"] is proton


@pytest.mark.links
def test_a_test_of_links_sees_toxiproxy_also_where_it_lies_beside_python() -> None:
    assert python(TOXIPROXY) == 0
    with only(MARKERS - {"links"}):
        assert python(TOXIPROXY) == 1


def test_a_bare_path_has_all_programs_but_those_of_the_needs(tmp_path: Path) -> None:
    programs, more_programs = tmp_path / "bin", tmp_path / "other"
    into = tmp_path / "new"
    for folder in (programs, more_programs, into):
        folder.mkdir()
    hidden = ("gcc", "x86_64-linux-gnu-gcc-12", "cc", "c++", "docker", "dockerd", "chromium", "java", "ip")
    for name in (*hidden, "ipython", "make", "ccache", "javap"):
        (programs / name).touch()
    (more_programs / "git").touch()
    path = bare.path_without(bare.PROGRAMS, f"{programs}:{more_programs}:{tmp_path / 'nothing'}", into).split(":")
    assert {program.name for program in Path(path[0]).iterdir()} == {"ipython", "make", "ccache", "javap"}
    assert (Path(path[0]) / "make").resolve() == programs / "make"
    assert path[1:] == [str(more_programs), str(tmp_path / "nothing")]


def test_a_command_that_runs_as_on_a_bare_machine_ends_with_its_own_status(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    assert bare.main(["sh", "-c", "test -z $JAVA_HOME && ! command -v java && ! command -v ip && exit 7"]) == 7
    assert list(tmp_path.iterdir()) == []
    assert bare.main([]) == 2
