"""Checks that a living harness is distinguished from a dead one, even if process ids are reused or clocks change."""

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from topologies.runtimes.containers.cleanup import (
    OWNER_LABEL,
    Owner,
    abandoned,
    is_dead,
    labels,
    started_ticks,
    this_process,
)
from topologies.runtimes.containers.guard import RUN_LABEL

HERE = Owner("boot-1", "4026531836", 7, 500)


def proc_with(folder: Path, pid: int, state: str, started: int) -> Path:
    (folder / str(pid)).mkdir()
    between = " ".join(["0"] * 18)
    (folder / str(pid) / "stat").write_text(f"{pid} (a (strange) name) {state} {between} {started} 0 0\n")
    return folder


def test_a_process_is_its_own_owner_and_lives() -> None:
    assert not is_dead(this_process(), this_process())
    assert Owner.parse(str(this_process())) == this_process()


def test_a_process_that_has_ended_is_dead() -> None:
    child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    began = started_ticks(child.pid)
    assert began
    owner = replace(this_process(), pid=child.pid, started_ticks=began)
    assert not is_dead(owner, this_process())
    child.kill()
    child.communicate()
    assert is_dead(owner, this_process())


@pytest.mark.parametrize(
    ("owner", "dead"),
    [
        (replace(HERE, pid=9), False),  # it runs
        (replace(HERE, pid=9, started_ticks=499), True),  # another process with the same id
        (replace(HERE, pid=10), True),  # no process has that id
        (replace(HERE, pid=9, boot="boot-0"), True),  # recorded before the machine was started
        (
            replace(HERE, pid=10, namespace="4026532001"),
            False,
        ),  # in a separate container, so it cannot be seen from here
    ],
)
def test_who_is_dead(tmp_path: Path, owner: Owner, dead: bool) -> None:
    assert is_dead(owner, HERE, proc_with(tmp_path, 9, "S", 500)) == dead


def test_what_is_left_of_a_process_that_nobody_waited_for_is_dead(tmp_path: Path) -> None:
    assert is_dead(replace(HERE, pid=9), HERE, proc_with(tmp_path, 9, "Z", 500))


def test_only_the_runs_of_the_dead_are_abandoned() -> None:
    living = labels("aaaa", "run-1")
    dead = {**labels("bbbb", "run-2"), OWNER_LABEL: str(replace(this_process(), boot="before"))}
    strange = {RUN_LABEL: "cccc", OWNER_LABEL: "of another version"}
    assert abandoned([living, dead, dead, strange, {}], this_process()) == {"bbbb"}
