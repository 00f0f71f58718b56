"""Checks that every fault leaves one correct row: its beginning and end, or why it could not be applied."""

import threading
import time
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from harness.faults import FOREVER, CommandFault, Fault, FreezeBroker, FullStore, JoinBroker, KillBroker, StartLink
from harness.faults import command as command_fault
from harness.faults.rolling_restart import RestartInTurn
from harness.faults.schedule import FaultSchedule
from tests.support.waiting import until
from topologies.runtimes.contract import RuntimeFailed

S = 1_000_000_000


class Notebook:
    def __init__(self) -> None:
        self.rows: list[tuple[str, str, int, int | None, str | None]] = []
        self.moments: list[dict[str, int | None]] = []

    def fault(self, *row: object, **moments: int | None) -> None:
        self.moments.append(moments)
        self.rows.append(row)  # type: ignore[arg-type]


@dataclass
class Brokers:
    """A runtime with one broker, and its probe. ``deaf``: actions on the broker have no effect.

    ``lame``: it cannot be started. ``unlinked``: its links are not up. ``turns``: how often it may be killed, stopped
    or started from now on. Callers wait for a turn.
    """

    is_frozen: bool = False
    down: bool = False
    refuses: bool = False
    deaf: bool = False
    lame: bool = False
    unlinked: bool = False
    seen_down: bool = False
    started: list[str] = field(default_factory=list)
    turns: threading.Semaphore = field(default_factory=lambda: threading.Semaphore(1_000))

    def pause(self, broker: str) -> None:
        if self.refuses:
            raise RuntimeFailed(f"broker {broker} does not run")
        self.is_frozen = not self.deaf

    def resume(self, broker: str) -> None:
        self.is_frozen = False

    def kill(self, broker: str) -> None:
        self.turns.acquire(timeout=60)
        self.down = True

    stop = kill

    def start(self, broker: str) -> None:
        self.turns.acquire(timeout=60)
        if self.lame:
            raise RuntimeFailed(f"broker {broker} died while starting")
        self.down = False
        self.started.append(broker)

    def gone(self, broker: str) -> bool:
        return self.down

    def frozen(self, broker: str) -> bool:
        return self.is_frozen

    def serves(self, broker: str) -> bool:
        self.seen_down |= self.down
        return not self.is_frozen and not self.down

    def joined(self, broker: str) -> bool:
        return self.serves(broker) and not self.unlinked

    def link_is_up(self, link: str) -> bool:
        return not self.unlinked


def timeline(brokers: Brokers, notebook: Notebook, *, at_s: float, for_s: float) -> FaultSchedule:
    return begun(FreezeBroker("b", at_s=at_s, for_s=for_s), brokers, notebook)


def begun(fault: Fault, brokers: Brokers, notebook: Notebook) -> FaultSchedule:
    line = FaultSchedule((fault,), brokers, notebook, brokers)  # type: ignore[arg-type]
    line.start(time.perf_counter_ns())
    return line


def test_a_fault_begins_and_ends_when_it_is_due() -> None:
    brokers, notebook = Brokers(), Notebook()
    began_ns = time.perf_counter_ns()
    line = timeline(brokers, notebook, at_s=0.1, for_s=0.2)
    until(lambda: notebook.rows)
    line.end()
    ((kind, target, fault_began_ns, ended_ns, error),) = notebook.rows
    assert (kind, target, error, brokers.is_frozen) == ("freeze", "b", None, False)
    assert fault_began_ns - began_ns >= 0.1 * S
    assert ended_ns is not None
    assert ended_ns - fault_began_ns >= 0.2 * S


def test_a_command_of_the_users_own_takes_a_broker_down_that_comes_back_by_itself(tmp_path: Path) -> None:
    brokers, notebook, touched = Brokers(), Notebook(), tmp_path / "done"
    line = begun(CommandFault("b", at_s=0, command=f"touch '{touched}'", expect_s=30), brokers, notebook)
    until(touched.exists)
    brokers.down = True
    until(lambda: brokers.seen_down)
    assert (line.states, line.expected_down()) == (["going on"], {"b"})
    brokers.down = False
    until(lambda: notebook.rows)
    line.end()
    assert [row[:2] + row[4:] for row in notebook.rows] == [("command", "b", None)]
    assert line.expected_down() == frozenset()


@pytest.mark.parametrize(
    ("command", "error"),
    [
        ("sh -c 'exit 3'", "command \"sh -c 'exit 3'\" exited with status 3; its output is above"),
        ("/no/such/command", "command '/no/such/command' exited with status 127; its output is above"),
        ("true", "it had no effect within 0.1 s"),
    ],
)
def test_a_command_that_fails_or_takes_nothing_down_is_a_fault_that_failed(
    command: str, error: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(command_fault, "FAILS_WITHIN_S", 60)  # a busy machine may take long to start it
    notebook = Notebook()
    line = begun(CommandFault("b", at_s=0, command=command, expect_s=0.1), Brokers(), notebook)
    until(lambda: notebook.rows)
    line.end()
    assert [row[4] for row in notebook.rows] == [error]


def test_what_is_still_broken_when_the_load_ends_is_mended_at_once() -> None:
    brokers, notebook = Brokers(), Notebook()
    line = timeline(brokers, notebook, at_s=0, for_s=60)
    while not brokers.is_frozen:
        time.sleep(0.01)
    line.end()
    assert not brokers.is_frozen
    assert [row[4] for row in notebook.rows] == ["the load ended before the fault was over"]


def test_a_broker_killed_forever_is_never_started() -> None:
    """The fault is recorded without an end, and the broker is expected to be down, even in the drain."""
    brokers, notebook = Brokers(), Notebook()
    line = begun(KillBroker("b", at_s=0, for_s=FOREVER), brokers, notebook)
    until(lambda: notebook.rows)
    until(lambda: line.over_since_ns() is not None)
    assert (line.states, line.brokers_down_for_good()) == (["going on"], {"b"})
    line.end()
    assert (brokers.down, brokers.started, line.expected_down()) == (True, [], {"b"})
    assert [row[3:] for row in notebook.rows] == [(None, None)]
    assert notebook.moments[0]["effective_ns"] is not None
    assert notebook.moments[0]["restored_ns"] is None


def test_a_kill_without_end_comes_back_for_the_drain() -> None:
    brokers, notebook = Brokers(), Notebook()
    line = begun(KillBroker("b", at_s=0), brokers, notebook)
    until(lambda: brokers.down)
    line.end()
    assert (brokers.started, line.brokers_down_for_good(), line.expected_down()) == (["b"], frozenset(), frozenset())


def test_a_fault_that_was_never_due_says_so() -> None:
    notebook = Notebook()
    timeline(Brokers(), notebook, at_s=60, for_s=1).end()
    assert [(row[3], row[4]) for row in notebook.rows] == [(None, "the load ended before it was due")]


def test_a_fault_of_our_own_is_a_fault_that_could_not_be_applied() -> None:
    class Broken(Brokers):
        def pause(self, broker: str) -> None:
            raise OSError("no such process")

    notebook = Notebook()
    line = timeline(Broken(), notebook, at_s=0, for_s=0)
    until(lambda: notebook.rows)
    line.end()
    assert [row[4] for row in notebook.rows] == ["OSError('no such process')"]


def test_a_fault_that_cannot_be_applied_says_why() -> None:
    notebook = Notebook()
    line = timeline(Brokers(refuses=True), notebook, at_s=0, for_s=1)
    until(lambda: notebook.rows)
    line.end()
    assert [(row[3], row[4]) for row in notebook.rows] == [(None, "broker b does not run")]


def test_a_killed_broker_is_expected_to_be_down_until_it_serves_again_and_no_other() -> None:
    brokers, notebook = Brokers(turns=threading.Semaphore(1)), Notebook()
    line = FaultSchedule((KillBroker("b", at_s=0.05, for_s=0.1),), brokers, notebook, brokers)  # type: ignore[arg-type]
    assert line.expected_down() == frozenset()
    line.start(time.perf_counter_ns())
    until(lambda: brokers.down)
    assert line.expected_down() == {"b"}
    brokers.turns.release()
    until(lambda: notebook.rows)
    assert (line.expected_down(), brokers.down) == (frozenset(), False)
    line.end()


@pytest.mark.parametrize("sooner", [True, False])
def test_a_fault_not_due_by_the_loads_end_fails(sooner: bool) -> None:
    """It does not fail if the load may end earlier than planned."""
    brokers, notebook = Brokers(), Notebook()
    fault = KillBroker("b", at_s=60, for_s=1)
    line = FaultSchedule((fault,), brokers, notebook, brokers, load_may_end_sooner=sooner)  # type: ignore[arg-type]
    line.start(time.perf_counter_ns())
    line.end()
    assert [row[4] for row in notebook.rows] == ([] if sooner else ["the load ended before it was due"])
    assert line.not_due == (["fault kill of b was skipped: the load ended before it was due"] if sooner else [])
    assert not brokers.down


def test_a_frozen_broker_is_not_expected_to_be_down() -> None:
    brokers, notebook = Brokers(), Notebook()
    line = timeline(brokers, notebook, at_s=0, for_s=60)
    until(lambda: brokers.is_frozen)
    assert line.expected_down() == frozenset()
    line.end()


def test_the_moments_of_a_fault_are_in_their_order() -> None:
    brokers, notebook = Brokers(), Notebook()
    line = begun(KillBroker("b", at_s=0.05, for_s=0.1), brokers, notebook)
    until(lambda: notebook.rows)
    line.end()
    ((_, _, began_ns, ended_ns, error),) = notebook.rows
    (moments,) = notebook.moments
    in_order = [moments["requested_ns"], began_ns, moments["effective_ns"], ended_ns, moments["restored_ns"]]
    assert error is None
    assert None not in in_order
    assert in_order == sorted(in_order)  # type: ignore[type-var]


def several(*faults: Fault, brokers: Brokers, notebook: Notebook) -> FaultSchedule:
    line = FaultSchedule(faults, brokers, notebook, brokers)  # type: ignore[arg-type]
    line.start(time.perf_counter_ns())
    return line


def test_a_restart_waits_for_the_preceding_broker_and_its_links() -> None:
    brokers, notebook = Brokers(unlinked=True), Notebook()
    line = several(RestartInTurn("a", 0), RestartInTurn("b", 0, after_s=0.3), brokers=brokers, notebook=notebook)
    until(lambda: brokers.started == ["a"])
    time.sleep(0.5)
    assert (brokers.started, line.over_since_ns()) == (["a"], None), "the links of the first are not up yet"
    brokers.unlinked = False
    until(lambda: len(notebook.rows) == 2)
    until(lambda: line.over_since_ns() is not None)
    line.end()
    assert [(row[0], row[1], row[4]) for row in notebook.rows] == [("restart", "a", None), ("restart", "b", None)]
    earlier, later = notebook.moments
    assert earlier["restored_ns"] is not None
    assert later["requested_ns"] is not None
    assert later["requested_ns"] - earlier["restored_ns"] >= 0.3 * S
    assert notebook.rows[1][2] >= later["requested_ns"]


def test_after_a_restart_that_failed_the_next_broker_is_left_alone() -> None:
    brokers, notebook = Brokers(lame=True), Notebook()
    line = several(RestartInTurn("a", 0), RestartInTurn("b", 0, after_s=0), brokers=brokers, notebook=notebook)
    until(lambda: len(notebook.rows) == 2)
    line.end()
    assert [(row[1], row[4]) for row in notebook.rows] == [
        ("a", "broker a died while starting"),
        ("b", "the preceding fault failed"),
    ]
    assert line.expected_down() == {"a"}


def test_a_restart_whose_turn_does_not_come_before_the_load_is_over_says_so() -> None:
    brokers, notebook = Brokers(), Notebook()
    line = several(RestartInTurn("a", 0), RestartInTurn("b", 0, after_s=60), brokers=brokers, notebook=notebook)
    until(lambda: notebook.rows)
    assert line.over_since_ns() is None
    line.end()
    assert [(row[1], row[4]) for row in notebook.rows] == [("a", None), ("b", "the load ended before it was due")]
    assert brokers.started == ["a"]


def joining(*faults: JoinBroker, brokers: Brokers, notebook: Notebook) -> FaultSchedule:
    """A fault whose broker is absent at first."""
    line = FaultSchedule(faults, brokers, notebook, brokers)  # type: ignore[arg-type]
    assert (line.expected_down(), line.brokers_not_joined()) == ({"b"}, {"b"})
    line.start(time.perf_counter_ns())
    return line


def test_a_broker_that_joins_is_expected_to_be_down_until_its_links_are_up() -> None:
    brokers, notebook = Brokers(down=True, unlinked=True), Notebook()
    line = joining(JoinBroker("b", at_s=0.05), brokers=brokers, notebook=notebook)
    until(lambda: not brokers.down)
    assert (line.expected_down(), line.brokers_not_joined(), notebook.rows) == ({"b"}, frozenset(), [])
    linked_ns = time.perf_counter_ns()
    brokers.unlinked = False
    until(lambda: notebook.rows)
    line.end()
    ((kind, _, began_ns, ended_ns, error),) = notebook.rows
    assert (kind, error, line.expected_down(), brokers.down) == ("join", None, frozenset(), False)
    effective_ns = notebook.moments[0]["effective_ns"]
    assert effective_ns is not None
    assert ended_ns is not None
    assert began_ns < linked_ns < effective_ns <= ended_ns
    assert notebook.moments[0]["restored_ns"] is None, "it stays, so there was nothing to mend"


def test_a_broker_that_joins_for_a_while_leaves_and_may_join_again() -> None:
    brokers, notebook = Brokers(down=True, turns=threading.Semaphore(1)), Notebook()
    twice = (JoinBroker("b", at_s=0.05, for_s=0.2), JoinBroker("b", at_s=0.6))
    line = joining(*twice, brokers=brokers, notebook=notebook)
    until(lambda: not brokers.down and not line.expected_down())
    brokers.turns.release()
    until(lambda: notebook.rows)
    assert (line.expected_down(), brokers.down) == ({"b"}, True)
    brokers.turns.release()
    until(lambda: len(notebook.rows) == 2)
    assert (line.expected_down(), brokers.down) == (frozenset(), False)
    line.end()
    (earlier, later), (moments, _) = notebook.rows, notebook.moments
    assert [earlier[4], later[4]] == [None, None]
    in_order = [earlier[2], moments["effective_ns"], earlier[3], moments["restored_ns"], later[2]]
    assert in_order == sorted(in_order)  # type: ignore[type-var]
    assert earlier[3] - moments["effective_ns"] >= 0.2 * S  # type: ignore[operator]


def test_a_broker_that_left_is_started_after_the_load() -> None:
    """Its messages can then be counted."""
    brokers, notebook = Brokers(down=True), Notebook()
    line = joining(JoinBroker("b", at_s=0, for_s=0.05), brokers=brokers, notebook=notebook)
    until(lambda: notebook.rows)
    assert brokers.down
    line.end()
    assert (brokers.down, line.expected_down(), notebook.rows[0][4]) == (False, frozenset(), None)


def test_a_broker_that_left_and_cannot_be_started_again_stays_expected_to_be_down() -> None:
    brokers, notebook = Brokers(down=True), Notebook()
    line = joining(JoinBroker("b", at_s=0, for_s=0.05), brokers=brokers, notebook=notebook)
    until(lambda: notebook.rows)
    brokers.lame = True
    line.end()
    assert (line.expected_down(), line.brokers_not_joined(), brokers.down) == ({"b"}, frozenset(), True)


def test_a_broker_that_never_joined_is_not_started_after_the_load() -> None:
    brokers, notebook = Brokers(down=True), Notebook()
    line = joining(JoinBroker("b", at_s=60), brokers=brokers, notebook=notebook)
    line.end()
    assert (brokers.down, line.brokers_not_joined()) == (True, {"b"})
    assert [row[4] for row in notebook.rows] == ["the load ended before it was due"]


def test_a_join_without_links_has_no_effect(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(JoinBroker, "effect_timeout_s", 0.1)
    brokers, notebook = Brokers(down=True, unlinked=True), Notebook()
    line = joining(JoinBroker("b", at_s=0), brokers=brokers, notebook=notebook)
    until(lambda: notebook.rows)
    line.end()
    assert [row[4] for row in notebook.rows] == ["it had no effect within 0.1 s"]
    assert line.expected_down() == {"b"}


def test_a_join_of_a_broker_that_does_not_start_says_why() -> None:
    brokers, notebook = Brokers(down=True, lame=True), Notebook()
    line = joining(JoinBroker("b", at_s=0, for_s=1), brokers=brokers, notebook=notebook)
    until(lambda: notebook.rows)
    line.end()
    assert [row[4] for row in notebook.rows] == ["broker b died while starting"]
    assert line.expected_down() == {"b"}


def test_a_fault_without_an_effect_says_so_and_is_mended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(FreezeBroker, "effect_timeout_s", 0.1)
    notebook = Notebook()
    line = timeline(Brokers(deaf=True), notebook, at_s=0, for_s=60)
    until(lambda: notebook.rows)
    line.end()
    assert [row[4] for row in notebook.rows] == ["it had no effect within 0.1 s"]
    assert notebook.moments[0]["effective_ns"] is None


def test_a_link_that_is_up_already_is_not_started() -> None:
    notebook = Notebook()
    line = begun(StartLink("a-to-b", at_s=0), Brokers(), notebook)
    until(lambda: notebook.rows)
    line.end()
    assert [row[4] for row in notebook.rows] == ["it was up already, so the run does not show its start"]


def test_a_fault_for_no_stated_time_lasts_until_the_load_is_over_and_is_no_failure() -> None:
    brokers, notebook = Brokers(), Notebook()
    line = begun(KillBroker("b", at_s=0), brokers, notebook)
    until(lambda: brokers.down)
    line.end()
    assert not brokers.down
    assert [row[4] for row in notebook.rows] == [None]


def test_a_broker_that_stays_down_has_the_reason_recorded() -> None:
    """It also stays expected to be down."""
    brokers, notebook = Brokers(lame=True), Notebook()
    line = begun(KillBroker("b", at_s=0, for_s=0.05), brokers, notebook)
    until(lambda: notebook.rows)
    line.end()
    assert [row[4] for row in notebook.rows] == ["broker b died while starting"]
    assert notebook.moments[0]["restored_ns"] is None
    assert line.expected_down() == {"b"}


@pytest.mark.parametrize(
    ("percent", "in_effect", "mended"),
    [(None, False, False), (99, False, True), (100, True, False), (300, True, False)],
)
def test_a_store_is_full_or_has_room_only_if_the_broker_says_so(
    percent: int | None, in_effect: bool, mended: bool
) -> None:
    probe: Any = SimpleNamespace(store_percent={"b": percent}.__getitem__)
    fault = FullStore("b", at_s=0)
    assert (fault.in_effect(probe), fault.mended(probe)) == (in_effect, mended)
