"""Checks that run folders are read back as written, and that invalid folders are rejected with one sentence."""

import dataclasses
import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from records.errors import RunUnreadable, RunUnwritable
from records.figures.checks import Check
from records.loads.routes import Copy, Route
from records.run import RUN_VERSION, BrokerInfo, GroupInfo, LinkInfo, Phases, ProcessInfo, RunInfo, UserInfo, WarmUp
from records.run_json import decode, encode
from records.store.rundir import RunDirectory, new_run_id
from records.tables.schemas import SCHEMA_VERSION, UNSEALED_VERSION
from tests.support.disk import small_disk

FULL = RunInfo(
    run_id="r",
    scenario="steady",
    topology="mesh(brokers=3)",
    runtime="processes",
    protocol="stomp",
    command=("locust", "-f", "scenarios/steady.py"),
    brokers=(BrokerInfo("broker-1"), BrokerInfo("broker-2", standby_of="broker-1")),
    links=(LinkInfo("1-to-2", "broker-1", "broker-2", duplex=True),),
    groups=(GroupInfo("producers", ("broker-1", "broker-2"), "failover:(broker-1,broker-2)"),),
    users=(UserInfo("Orders", "producer", "producers", "queue://orders", 5, {"durable": True, "rate": 20.5}),),
    routes=(Route("queue://orders", (Copy("queue://orders", ("queue://orders.>",)),)),),
    checks=(Check("nothing lost", "messages.lost", at_most=0),),
    warm_up=WarmUp("settled", 6.5, 15.0),
    phases=Phases(warm_up_began_ns=1, load_began_ns=2),
    durations_s={"up": 3.25},
    processes=(ProcessInfo("master", 0, "localhost", 1, 2),),
    problems=("worker-2 was lost",),
    options={"messages": None, "ratio": 0.5, "überschrift": "ja"},
    rendered={"broker-1/activemq.xml": "<beans/>\n"},
)

infos: st.SearchStrategy[RunInfo] = st.from_type(RunInfo).filter(
    lambda info: "nan" not in repr(info) and "inf" not in repr(info)
)


def possible(info: RunInfo) -> RunInfo:
    """Return a possible run: its times are in order, no count is below 0, and all named brokers exist."""
    seconds = sorted(abs(ns or 0) % 1_000_000 for ns in dataclasses.astuple(info.phases))
    named = {name for link in info.links for name in (link.opened_by, link.to)}
    named |= {name for group in info.groups for name in group.enter_at}
    named |= {broker.standby_of for broker in info.brokers}
    none = {"begun": None, "settled": 0, "received": 7}
    return dataclasses.replace(
        info,
        run_version=RUN_VERSION,
        schema_version=SCHEMA_VERSION,
        phases=Phases(*seconds),
        brokers=(*info.brokers, *map(BrokerInfo, named)),
        users=tuple(dataclasses.replace(user, count=abs(user.count)) for user in info.users),
        processes=tuple(
            dataclasses.replace(process, **none, rows={table: abs(rows) for table, rows in process.rows.items()})
            for process in info.processes
        ),
        pairs_by_links=tuple(map(abs, info.pairs_by_links)),
        withheld=abs(info.withheld),
        missed=abs(info.missed),
    )


@given(infos.map(possible))
def test_any_run_info_comes_back_from_json(info: RunInfo) -> None:
    assert decode(encode(info), "run.json") == info


def test_a_run_comes_back_from_its_folder(tmp_path: Path) -> None:
    run = RunDirectory.create(tmp_path / "runs", "r")
    run.write_run(dataclasses.replace(FULL, state="starting"))
    run.write_run(FULL)
    assert RunDirectory.open(run.path).read_run() == FULL
    assert [path.name for path in run.path.iterdir()] == ["run.json"], "nothing unfinished is left"


def _edited(path: str, change: Any) -> str:
    document = json.loads(encode(FULL))
    *parents, last = path.split("/")
    place = document
    for parent in parents:
        place = place[int(parent)] if isinstance(place, list) else place[parent]
    change(place, last)
    return json.dumps(document)


def _removed(place: dict[str, object], key: str) -> None:
    del place[key]


def _set_to(value: object) -> Any:
    return lambda place, key: place.__setitem__(key, value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (_edited("seed", _removed), "run.json: seed: the key is missing"),
        (_edited("run_version", _removed), "run.json: run_version: the key is missing"),
        (_edited("users/0/role", _removed), "run.json: users[0].role: the key is missing"),
        (_edited("color", _set_to("red")), "run.json: color: the key is not known"),
        (_edited("brokers/1/color", _set_to("red")), "run.json: brokers[1].color: the key is not known"),
        (_edited("seed", _set_to("7")), "run.json: seed: '7' is not of type int"),
        (_edited("seed", _set_to(True)), "run.json: seed: True is not of type int"),
        (_edited("links/0/duplex", _set_to(1)), "run.json: links[0].duplex: 1 is not of type bool"),
        (_edited("warm_up/lasted_s", _set_to("x")), "run.json: warm_up.lasted_s: 'x' is not of type float"),
        (_edited("brokers", _set_to({})), "run.json: brokers: {} is not a JSON array"),
        (_edited("phases", _set_to([])), "run.json: phases: [] is not a JSON object"),
        (_edited("durations_s/up", _set_to(None)), "run.json: durations_s.up: None is not of type float"),
        (
            _edited("options/x", _set_to([])),
            "run.json: options.x: [] is not of type str or int or float or bool or null",
        ),
        (
            _edited("run_version", _set_to(1)),
            f"run.json: run_version is 1, this brokerbench reads {RUN_VERSION}: use the brokerbench",
        ),
        (
            _edited("schema_version", _set_to(99)),
            f"run.json: schema_version is 99, this brokerbench reads {SCHEMA_VERSION} and {UNSEALED_VERSION}: use the "
            "brokerbench",
        ),
        (
            _edited("run_version", _set_to("x" * 9_000)),
            f"run.json: run_version is '{'x' * 79}…, this brokerbench reads {RUN_VERSION}: use the brokerbench",
        ),
        (
            _edited("state", _set_to("zombie")),
            "run.json: state: 'zombie' is not one of starting, running, ended, interrupted, failed",
        ),
        (_edited("seed", _set_to("7" * 100)), f"run.json: seed: '{'7' * 79}… is not of type int"),
        (_edited("warm_up/lasted_s", _set_to(float("inf"))), "run.json: warm_up.lasted_s: inf is not of type float"),
        (_edited("question", _set_to("\ud800")), "run.json: question: '\\ud800' is not of type str"),
        (_edited("users/0/count", _set_to(-3)), "run.json: users[0].count: -3 is below 0, and no count can be"),
        (_edited("processes/0/begun", _set_to(-1)), "run.json: processes[0].begun: -1 is below 0"),
        (_edited("missed", _set_to(-1)), "run.json: missed: -1 is below 0"),
        (_edited("links/0/to", _set_to("nowhere")), "run.json: links[0].to: the run has no broker 'nowhere'"),
        (
            _edited("groups/0/enter_at", _set_to(["broker-1", "nowhere"])),
            "run.json: groups[0].enter_at[1]: the run has no broker 'nowhere'",
        ),
        (
            _edited("brokers/1/standby_of", _set_to("nowhere")),
            "run.json: brokers[1].standby_of: the run has no broker 'nowhere'",
        ),
        (
            _edited("phases/load_ended_ns", _set_to(1)),
            "run.json: phases.load_ended_ns: 1 is before load_began_ns (2): was it edited by hand? Bring it back from "
            "a copy, or make the run again",
        ),
        (
            _edited("phases/load_ended_ns", _set_to(2**62)),
            "run.json: phases.load_ended_ns: the load would have lasted more than 2,678,400 s, the longest load",
        ),
        (
            _edited("phases/warm_up_began_ns", _set_to(-1)),
            "run.json: phases.warm_up_began_ns: -1 is not a clock time in nanoseconds",
        ),
        ("[" * 100_000, "run.json: not readable as JSON"),
        (encode(FULL)[:100], "run.json: not readable as JSON"),
        ("", "run.json: not readable as JSON"),
        ("[]", "run.json: the whole: [] is not a JSON object"),
    ],
)
def test_what_is_no_run_info_is_refused_by_the_name_of_its_key(text: str, message: str) -> None:
    with pytest.raises(RunUnreadable) as caught:
        decode(text, "run.json")
    assert str(caught.value).startswith(message)


def test_a_number_that_json_cannot_write_is_refused() -> None:
    with pytest.raises(ValueError, match="not JSON compliant"):
        encode(dataclasses.replace(FULL, warm_up=WarmUp("fixed", float("nan"), 15.0)))


def test_an_argument_that_is_no_text_does_not_keep_run_json_from_being_written(tmp_path: Path) -> None:
    run = RunDirectory.create(tmp_path, "r")
    run.write_run(dataclasses.replace(FULL, command=("locust", "--session", "\udcff")))
    assert run.read_run().command == ("locust", "--session", "?")


def test_a_folder_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RunUnreadable, match="missing: there is no such folder: give the folder of a run"):
        RunDirectory.open(tmp_path / "missing")


def test_a_folder_that_is_no_run_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RunUnreadable, match=r"not a run folder, as it has no run\.json"):
        RunDirectory.open(tmp_path)


def test_a_run_json_that_is_missing_is_named(tmp_path: Path) -> None:
    with pytest.raises(RunUnreadable, match=r"run\.json: cannot be read \(No such file or directory\)"):
        RunDirectory(tmp_path).read_run()


def test_a_run_json_that_is_no_text_is_named(tmp_path: Path) -> None:
    (tmp_path / "run.json").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(RunUnreadable, match=r"run\.json: not readable as UTF-8 text"):
        RunDirectory(tmp_path).read_run()


def test_a_run_folder_is_never_made_twice(tmp_path: Path) -> None:
    RunDirectory.create(tmp_path, "r")
    with pytest.raises(RunUnwritable, match=r"r: the run folder cannot be made: File exists; choose another name"):
        RunDirectory.create(tmp_path, "r")


def test_a_parent_that_is_a_file_is_named(tmp_path: Path) -> None:
    (tmp_path / "runs").write_text("")
    with pytest.raises(RunUnwritable, match="runs/r: the run folder cannot be made"):
        RunDirectory.create(tmp_path / "runs", "r")


def test_a_parent_below_a_file_is_named(tmp_path: Path) -> None:
    (tmp_path / "runs").write_text("")
    with pytest.raises(RunUnwritable, match="Not a directory; choose a path whose parents are folders"):
        RunDirectory.create(tmp_path / "runs" / "mine", "r")


def test_a_run_json_that_cannot_be_written_leaves_the_old_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = RunDirectory.create(tmp_path, "r")
    run.write_run(FULL)

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(RunUnwritable, match=r"run\.json: cannot be written: No space left on device; free space"):
        run.write_run(dataclasses.replace(FULL, state="ended"))
    assert run.read_run() == FULL
    assert [path.name for path in run.path.iterdir()] == ["run.json"]


@pytest.mark.namespaces
def test_how_a_run_ended_is_written_on_a_disk_that_its_events_filled(tmp_path: Path) -> None:
    parent = tmp_path / "runs"
    parent.mkdir()
    with small_disk(parent, "1m"):
        run = RunDirectory.create(parent, "r")
        run.write_run(dataclasses.replace(FULL, state="running"))
        with pytest.raises(OSError, match="No space left"):
            (run.path / "events").write_bytes(bytes(2_000_000))
        run.write_run(dataclasses.replace(FULL, state="ended"))
        assert run.read_run().state == "ended"
        assert sorted(path.name for path in run.path.iterdir()) == ["events", "run.json"], "the reserve is used up"


def test_the_folder_of_a_broker_is_made_once_and_found_again(tmp_path: Path) -> None:
    run = RunDirectory.create(tmp_path, "r")
    assert run.broker_folder("broker-1") == run.broker_folder("broker-1") == run.path / "brokers" / "broker-1"
    assert run.broker_folder("broker-1").is_dir()


@pytest.mark.parametrize("name", ["", ".", "..", "a/b", "/etc"])
def test_a_broker_whose_name_would_leave_its_folder_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(ValueError, match=f"broker {name!r}"):
        RunDirectory(tmp_path).broker_folder(name)


def test_run_ids_tell_what_ran_and_sort_by_time() -> None:
    early = new_run_id("steady", "mesh(brokers=3)", now=datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC))
    late = new_run_id("a", "a", now=datetime(2026, 1, 2, 3, 4, 6, tzinfo=UTC))
    assert early.startswith("20260102-030405-steady-mesh-brokers-3-")
    assert early < late


def test_run_ids_of_one_moment_differ() -> None:
    now = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
    assert len({new_run_id("steady", "mesh", now=now) for _ in range(100)}) == 100


@given(st.text(), st.text())
def test_any_names_make_a_plain_run_id(scenario: str, topology: str) -> None:
    run_id = new_run_id(scenario, topology)
    assert run_id == Path(run_id).name
    assert set(run_id) <= set("abcdefghijklmnopqrstuvwxyz0123456789-")
    assert len(run_id) < 120


def test_what_a_killed_run_left_of_its_next_run_json_can_be_removed(tmp_path: Path) -> None:
    run = RunDirectory.create(tmp_path, "r")
    run.write_run(dataclasses.replace(FULL, state="running"))
    (run.path / ".run.json.4711").write_text("{")
    assert len(list(run.path.iterdir())) == 3
    run.remove_unfinished()
    assert [path.name for path in run.path.iterdir()] == ["run.json"]
