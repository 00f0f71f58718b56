"""Checks with real processes and signals that no guarded process outlives the harness that started it."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import psutil
import pytest

from tests.support.runtimes import GONE_WITHIN_S, eventually
from topologies.runtimes.processes import guard

# A harness that starts one command under a guard, and waits. Arguments: the folder to remove, the command.
HARNESS = """
import subprocess, sys
from pathlib import Path
from topologies.runtimes.processes import guard
folder = Path(sys.argv[1])
line = guard.command_line(sys.argv[2:], pid_file=folder / "child.pid", remove=[folder])
process = subprocess.Popen(line, start_new_session=True)
print(process.pid, flush=True)
sys.exit(process.wait())
"""
# A child with one grandchild in its process group and one in a new session; it writes their pids.
FAMILY = """
import os, subprocess, sys, time
near = subprocess.Popen(["sleep", "600"])
far = subprocess.Popen(["sleep", "600"], start_new_session=True)
with open(sys.argv[1], "w") as file:
    file.write(f"{os.getpid()} {near.pid} {far.pid} ")
time.sleep(600)
"""


def alive(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


class ProcessFamily:
    """A harness, its guard, a child and two grandchildren, all running."""

    def __init__(self, tmp_path: Path) -> None:
        self.folder = tmp_path / "secrets"
        self.folder.mkdir()
        pids_file = tmp_path / "pids"
        pids_file.touch()
        self.harness = subprocess.Popen(
            [sys.executable, "-c", HARNESS, self.folder, sys.executable, "-c", FAMILY, pids_file],
            stdout=subprocess.PIPE,
        )
        assert self.harness.stdout is not None
        self.guard = int(self.harness.stdout.readline())
        assert eventually(lambda: pids_file.read_text().endswith(" "))
        self.child, self.near, self.far = map(int, pids_file.read_text().split())

    @property
    def below(self) -> tuple[int, ...]:
        return self.child, self.near, self.far

    def all_gone(self) -> bool:
        return not any(alive(pid) for pid in (self.guard, *self.below))

    def close(self) -> None:
        for pid in (self.harness.pid, self.guard, *self.below):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self.harness.wait()
        assert self.harness.stdout is not None
        self.harness.stdout.close()


@pytest.fixture
def family(tmp_path: Path) -> Iterator[ProcessFamily]:
    started = ProcessFamily(tmp_path)
    yield started
    started.close()


def run(*command: str) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(guard.command_line(command), start_new_session=True, capture_output=True, timeout=120)


def test_when_the_harness_is_killed_its_child_and_grandchildren_are_soon_gone(family: ProcessFamily) -> None:
    family.harness.kill()
    assert eventually(family.all_gone), f"still there: {[pid for pid in family.below if alive(pid)]}"


def test_a_stopped_child_is_gone_too(family: ProcessFamily) -> None:
    for pid in family.below:
        os.kill(pid, signal.SIGSTOP)
    family.harness.kill()
    assert eventually(family.all_gone), f"still there: {[pid for pid in family.below if alive(pid)]}"


def test_folders_to_remove_go_with_a_killed_harness(family: ProcessFamily) -> None:
    assert family.folder.exists()
    family.harness.kill()
    assert eventually(lambda: not family.folder.exists())


def test_a_stopped_harness_keeps_its_child(family: ProcessFamily) -> None:
    os.kill(family.harness.pid, signal.SIGSTOP)
    time.sleep(4 * guard.POLL_S)
    assert all(alive(pid) for pid in family.below)


def test_the_child_dies_with_a_killed_guard(family: ProcessFamily) -> None:
    os.kill(family.guard, signal.SIGKILL)
    assert eventually(lambda: not alive(family.child))


def test_what_a_finished_command_leaves_behind_is_killed_and_its_folders_are_kept(family: ProcessFamily) -> None:
    os.kill(family.child, signal.SIGKILL)
    assert eventually(family.all_gone)
    assert family.folder.exists()


@pytest.mark.parametrize("leaves_processes", [False, True])
def test_a_users_command_may_leave_processes_running(tmp_path: Path, *, leaves_processes: bool) -> None:
    """For example, a script that starts a broker in the background."""
    pid_file = tmp_path / "pid"
    script = f"sleep 600 & echo $! > {pid_file}.draft; mv {pid_file}.draft {pid_file}"
    line = guard.command_line(["sh", "-c", script], leaves_processes=leaves_processes)
    subprocess.run(line, start_new_session=True, check=True, timeout=120)
    left = int(pid_file.read_text())
    try:
        assert alive(left) == leaves_processes
    finally:
        with suppress(ProcessLookupError):
            os.kill(left, signal.SIGKILL)


def test_a_users_command_ends_with_its_harness(tmp_path: Path) -> None:
    pid_file = tmp_path / "pid"
    harness = subprocess.Popen([
        sys.executable, "-c", HARNESS.replace("remove=[folder]", "leaves_processes=True"),
        tmp_path, "sh", "-c", f"echo $$ > {pid_file}; sleep 600; true",
    ])  # fmt: skip
    assert eventually(lambda: pid_file.exists() and pid_file.read_text().endswith("\n"))
    command = int(pid_file.read_text())
    below = psutil.Process(command).children()
    harness.kill()
    harness.wait()
    assert eventually(lambda: not alive(command) and not any(alive(process.pid) for process in below))


def test_the_pid_file_names_the_command_itself(family: ProcessFamily) -> None:
    assert int((family.folder / "child.pid").read_text()) == family.child


def test_the_child_leads_a_session_of_its_own(family: ProcessFamily) -> None:
    assert os.getsid(family.child) == family.child
    assert os.getsid(family.guard) == family.guard != os.getsid(0)


def test_ctrl_c_does_not_end_the_guard(family: ProcessFamily) -> None:
    for number in (signal.SIGINT, signal.SIGHUP, signal.SIGQUIT):
        os.kill(family.guard, number)
    time.sleep(2 * guard.POLL_S)
    assert all(alive(pid) for pid in (family.guard, *family.below))


def test_sigterm_is_passed_on_and_its_exit_status_comes_back(family: ProcessFamily) -> None:
    os.kill(family.guard, signal.SIGTERM)
    assert family.harness.wait(GONE_WITHIN_S) == 128 + signal.SIGTERM
    assert eventually(family.all_gone)


@pytest.mark.parametrize("status", [0, 1, 42])
def test_the_exit_status_of_the_command_is_passed_on(status: int) -> None:
    assert run("sh", "-c", f"exit {status}").returncode == status


def test_ctrl_c_still_reaches_a_command_that_sends_it_to_itself() -> None:
    assert run("sh", "-c", "kill -INT $$").returncode == 128 + signal.SIGINT


def test_a_command_that_does_not_exist_is_named() -> None:
    finished = run("no-such-broker")
    assert finished.returncode == 127
    assert b"cannot start no-such-broker: No such file" in finished.stderr


def test_a_guard_whose_parent_is_another_process_starts_nothing(tmp_path: Path) -> None:
    line = guard.command_line(["touch", tmp_path / "started"])
    line[line.index("--parent") + 1] = "1"
    assert subprocess.run(line, capture_output=True).returncode == 1
    assert not (tmp_path / "started").exists()


def test_the_guard_runs_as_a_module_too() -> None:
    command = [
        sys.executable,
        "-m",
        "topologies.runtimes.processes.guard",
        "--parent",
        str(os.getpid()),
        "--",
        "sh",
        "-c",
        "exit 7",
    ]
    assert subprocess.run(command, capture_output=True, timeout=120).returncode == 7


def test_the_guard_takes_well_under_a_second_of_a_processor() -> None:
    before = psutil.Process().cpu_times()
    run("true")
    after = psutil.Process().cpu_times()
    taken_s = after.children_user + after.children_system - before.children_user - before.children_system
    assert 0 < taken_s < 1.0
