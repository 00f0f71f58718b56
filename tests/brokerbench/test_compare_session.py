"""Checks which runs a comparison plans, and which of them it finds made already."""

import json
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from brokerbench.compare import making
from brokerbench.compare.command import plan_sessions
from brokerbench.compare.making import make, same_runtime
from brokerbench.compare.session import (
    ComparisonRequest,
    Slot,
    find_unknown_word,
    lock_session,
    plan_session,
    split_values,
)
from brokerbench.progress import RunTimes
from records.run import RunInfo
from records.store.rundir import RunDirectory

ASKED = ComparisonRequest("steady", "mesh,tree", (), 3, "10s", None, (), Path("runs"))


def test_a_block_holds_every_arm_once_and_the_same_command_has_the_same_plan() -> None:
    slots = list(plan_session(ASKED, 1).slots())
    for block in (1, 2, 3):
        assert {slot.value for slot in slots if slot.block == block} == {"mesh", "tree"}
    assert slots == list(plan_session(ASKED, 1).slots())
    assert slots == list(plan_session(replace(ASKED, blocks=9), 1).slots())[: len(slots)]  # more blocks go on


def test_a_control_runs_the_first_arm_twice_per_block(tmp_path: Path) -> None:
    """Only the second run is marked as the control."""
    request = replace(ASKED, control=True, session="mine", runs=tmp_path)
    session = plan_session(request, 1)
    slots = list(session.slots())
    assert session.run_count == len(slots) == 9
    for block in (1, 2, 3):
        held = sorted((slot.value, slot.control) for slot in slots if slot.block == block)
        assert held == [("mesh", False), ("mesh", True), ("tree", False)]
    assert [slot for slot in slots if "--control" in session.arguments(slot)] == [
        slot for slot in slots if slot.control
    ]
    session.begin()
    with pytest.raises(ValueError, match="contains runs with other options"):
        plan_session(replace(request, control=False), 1).begin()


def test_a_long_locustfile_name_still_names_a_session(tmp_path: Path) -> None:
    """The generated name is cut. Only a name that the user writes is rejected for its length."""
    (locustfile := tmp_path / f"{'o' * 250}.py").touch()
    session = plan_session(replace(ASKED, scenario=str(locustfile)), 1)
    assert session.name.startswith(f"{'o' * 100}-topology-")
    with pytest.raises(ValueError, match="at most 200 characters"):
        plan_session(replace(ASKED, session="o" * 201), 1)


def test_arms_take_turns_in_being_first() -> None:
    first_values = [slot.value for slot in plan_session(replace(ASKED, blocks=40), 1).slots() if slot.order == 1]
    assert 10 < first_values.count("mesh") < 30


def test_without_a_number_of_blocks_there_are_as_many_as_a_verdict_takes() -> None:
    assert plan_session(replace(ASKED, blocks=None), 1).blocks == 7
    assert plan_session(replace(ASKED, blocks=None, topologies="a,b,c,d"), 6).blocks == 8


@pytest.mark.parametrize(
    ("topologies", "vary", "option", "values"),
    [
        ("mesh(brokers=3,rebalance=true),tree", (), "topology", ("mesh(brokers=3,rebalance=true)", "tree")),
        (None, ("protocol=stomp,amqp",), "protocol", ("stomp", "amqp")),
        (None, ("broker-version=5.16.6,5.18.3",), "broker-version", ("5.16.6", "5.18.3")),
        (None, ("distribution=a.tar.gz,../b",), "distribution", ("a.tar.gz", "../b")),
        (None, ("overlay=none,tuned.yaml",), "overlay", ("none", "tuned.yaml")),
        (None, ("failover=randomize=true,randomize=false",), "failover", ("randomize=true", "randomize=false")),
        (None, ("link=*:delay=1ms,jitter=1ms", "link=*:delay=9ms"), "link", ("*:delay=1ms,jitter=1ms", "*:delay=9ms")),
    ],
)
def test_arms_are_the_values_of_one_option(
    topologies: str | None, vary: tuple[str, ...], option: str, values: tuple[str, ...]
) -> None:
    session = plan_session(replace(ASKED, topologies=topologies, vary=vary), 1)
    assert (session.option, session.values) == (option, values)


@given(st.lists(st.text("ab=(),", max_size=6).filter(lambda text: text.count("(") == text.count(")")), min_size=1))
def test_only_commas_outside_brackets_part_values(values: list[str]) -> None:
    bracketed = [f"({value.replace('(', '').replace(')', '')})" for value in values]
    assert list(split_values(",".join(bracketed))) == bracketed


def test_a_name_that_other_runs_have_is_refused(tmp_path: Path) -> None:
    request = replace(ASKED, session="mine", runs=tmp_path)
    plan_session(request, 1).begin()
    plan_session(replace(request, blocks=9), 1).begin()
    with pytest.raises(ValueError, match=r"compare-mine: contains runs with .* another name with --session"):
        plan_session(replace(request, run_time="20s"), 1).begin()


@pytest.mark.parametrize("longer", [("--start-timeout", "300"), ("--start-timeout=300",)])
def test_a_comparison_goes_on_with_more_time_for_its_brokers_to_start(tmp_path: Path, longer: tuple[str, ...]) -> None:
    request = replace(ASKED, common_options=("--rate", "100"), runs=tmp_path)
    session = plan_session(request, 1)
    session.begin()
    again = plan_session(replace(request, common_options=(*longer, "--rate", "100")), 1)
    assert (again.folder, again.holds_another()) == (session.folder, False)
    again.begin()
    assert "300" in " ".join(again.run_arguments("mesh"))


def test_a_topology_that_was_edited_since_is_another_comparison(tmp_path: Path) -> None:
    file = tmp_path / "net.yaml"
    file.write_text("name: one", encoding="utf-8")
    request = replace(ASKED, topologies=f"{file},mesh", runs=tmp_path)
    plan_session(request, 1).begin()
    plan_session(request, 1).begin()
    file.write_text("name: other", encoding="utf-8")
    with pytest.raises(ValueError, match="or other file contents"):
        plan_session(request, 1).begin()


@pytest.mark.parametrize("options", [("--overlay", "{}"), ("--overlay={}",)])
def test_so_is_an_overlay_of_every_run(tmp_path: Path, options: tuple[str, ...]) -> None:
    file = tmp_path / "tuned.yaml"
    file.write_text("brokers: {}", encoding="utf-8")
    request = replace(ASKED, common_options=tuple(word.format(file) for word in options), runs=tmp_path)
    plan_session(request, 1).begin()
    plan_session(request, 1).begin()
    file.write_text("links: {}", encoding="utf-8")
    with pytest.raises(ValueError, match="or other file contents"):
        plan_session(request, 1).begin()


def test_only_runs_that_ended_and_are_valid_count_as_made(tmp_path: Path) -> None:
    session = plan_session(replace(ASKED, runs=tmp_path), 1)
    slots = list(session.slots())
    assert session.usable_runs() == {}
    of_a_run(session.folder, slots[0], "1", state="ended")
    of_a_run(session.folder, slots[1], "2", state="interrupted")
    of_a_run(session.folder, slots[2], "3", state="ended", problems=("a worker was lost",))
    of_a_run(session.folder, slots[3], "4", state="ended").summary_path.write_text(
        json.dumps({"verdict": "invalid", "reasons": ["rows are missing"]}), encoding="utf-8"
    )
    of_a_run(session.folder, slots[4], "5", state="ended").summary_path.write_text(
        json.dumps({"verdict": "fail", "reasons": ["2 messages were lost"]}), encoding="utf-8"
    )
    (session.folder / "6").mkdir()
    (session.folder / "6" / "run.json").write_text("{", encoding="utf-8")
    assert {slot: run.path.name for slot, run in session.usable_runs().items()} == {slots[0]: "1", slots[4]: "5"}


def test_a_docker_engine_that_starts_between_two_runs_does_not_change_their_runtime(tmp_path: Path) -> None:
    session = plan_session(replace(ASKED, session="first", runs=tmp_path), 1)
    other_session = plan_session(replace(ASKED, session="second", runs=tmp_path), 1)
    asked_for = plan_session(
        replace(ASKED, session="first", runs=tmp_path, common_options=("--runtime", "containers")), 1
    )
    assert same_runtime(session, [session, other_session]) == []
    of_a_run(session.folder, next(session.slots()), "1", state="ended")
    assert same_runtime(session, [session, other_session]) == ["--runtime=processes"]
    assert same_runtime(other_session, [session, other_session]) == ["--runtime=processes"]
    assert same_runtime(asked_for, [asked_for]) == []


def of_a_run(folder: Path, slot: Slot, name: str, state: str, problems: tuple[str, ...] = ()) -> RunDirectory:
    directory = RunDirectory.create(folder, name)
    options = {"block": slot.block, "order": slot.order}
    directory.write_run(
        RunInfo(name, "steady", slot.value, "processes", "stomp", state, problems=problems, options=options)  # type: ignore[arg-type]
    )
    return directory


def test_the_runs_of_several_scenarios_are_counted_together(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sessions = [
        plan_session(replace(ASKED, scenario=scenario, session=scenario, blocks=1, runs=tmp_path), 1)
        for scenario in ("steady", "failover")
    ]
    for session in sessions:
        session.begin()

    def run_of(command: list[str], **_: object) -> int:
        words = dict(word.removeprefix("--").partition("=")[::2] for word in command)
        slot = Slot(int(words["block"]), int(words["order"]), "mesh")
        of_a_run(Path(words["runs"]), slot, f"{words['session']}-{slot.order}", state="ended")
        return 0

    lines: list[str] = []
    monkeypatch.setattr(making, "run_guarded", run_of)
    for session in sessions:
        making._make_missing(session, sessions, Counter(), RunTimes(), lines.append)
    begun = [line.partition(": ")[::2] for line in lines if line.startswith("run ")]
    assert [run for run, _ in begun] == ["run 1 of 4", "run 2 of 4", "run 3 of 4", "run 4 of 4"]
    assert [scenario.partition(",")[0] for _, scenario in begun] == ["steady", "steady", "failover", "failover"]


def test_each_scenario_has_its_runs_and_its_own_number_of_blocks() -> None:
    request = replace(ASKED, scenario="steady:9,failover:3", session="mine")
    sessions, tests = plan_sessions(request, ())
    assert tests == 1, "three blocks can give no verdict"
    assert [(session.locustfile.stem, session.blocks, session.name) for session in sessions] == [
        ("steady", 9, "mine-steady"),
        ("failover", 3, "mine-failover"),
    ]


def test_without_a_number_scenarios_have_as_many_blocks_as_all_their_tests_take() -> None:
    request = replace(ASKED, scenario="steady,failover", blocks=None, topologies="mesh,tree,ring")
    sessions, tests = plan_sessions(request, ("steady:throughput.received_per_s", "throughput.sent_per_s"))
    assert tests == 6
    assert [session.blocks for session in sessions] == [8, 8]


def test_one_command_at_a_time_makes_the_runs_of_a_session(tmp_path: Path) -> None:
    session = replace(plan_session(ASKED, 1), folder=tmp_path)
    with lock_session(tmp_path), pytest.raises(ValueError, match="another command is making these runs"):
        make([session], print)
    with lock_session(tmp_path):
        pass


def test_run_commands_name_locustfiles_by_relative_path(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A locustfile below the current folder is named as a user would type it."""
    (session,), _ = plan_sessions(replace(ASKED, scenario="steady"), ())
    monkeypatch.chdir(session.locustfile.parents[1])
    assert session.run_arguments("mesh")[1] == "scenarios/steady.py"
    monkeypatch.chdir(session.locustfile.parents[1] / "harness")
    assert session.run_arguments("mesh")[1] == str(session.locustfile)


def test_a_stray_word_among_run_options_is_rejected() -> None:
    """Locust would take it for the name of a user class."""
    assert find_unknown_word(("--rate", "200", "--prefetch=10", "-t", "5s")) == ""
    assert find_unknown_word(("rate",)) == "rate"
    assert find_unknown_word(("--rate=200", "100")) == "100"
