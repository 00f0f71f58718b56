"""Checks the brokers' shares of the cores: both layouts of control groups, real quotas, and that no group is left."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from records.errors import UserError
from records.store.rundir import RunDirectory
from tests.support.runtimes import eventually, gone
from topologies.catalogue.lookup import build
from topologies.management.control_groups import (
    CpuHierarchy,
    Throttling,
    group_of,
    parse_hierarchy,
    quota_group_of,
    read_throttling,
)
from topologies.management.jolokia import Jolokia
from topologies.management.sampling import throttling_rows
from topologies.runtimes.capabilities import Capability, why_not
from topologies.runtimes.choice import BrokerSetup
from topologies.runtimes.processes import cpu_groups, guard
from topologies.runtimes.processes.broker import BrokerProcess
from topologies.runtimes.processes.cpu_groups import PREFIX, CpuQuota, clear_dead, dead_groups, why_no_quota_here
from topologies.runtimes.processes.runtime import ProcessRuntime

GONE_PID = (1 << 22) + 1  # above Linux's highest pid
CPUS = 0.25


# -- made-up trees -----------------------------------------------------------------------------------------------------


class MadeUpMachine:
    """A /proc with one hierarchy of control groups, in a folder."""

    def __init__(self, folder: Path, version: int, own: str, root: str = "/") -> None:
        self.proc, self.mounted_at = folder / "proc", folder / "cgroup"
        kind = "cgroup2 cgroup2 rw" if version == 2 else "cgroup cgroup rw,cpu,cpuacct"
        (self.proc / "self").mkdir(parents=True)
        (self.proc / "self/mountinfo").write_text(
            f"31 23 0:28 / /tmp rw - tmpfs tmpfs rw\n32 31 0:29 {root} {self.mounted_at} rw shared:9 - {kind}\n"
        )
        self.version = version
        self.add_process("self", own)
        self.group(own if root == "/" else os.path.relpath(own, root))

    def add_process(self, pid: int | str, group: str) -> None:
        (self.proc / str(pid)).mkdir(exist_ok=True)
        line = f"0::{group}" if self.version == 2 else f"4:cpu,cpuacct:{group}\n3:cpuset:/elsewhere\n0::/"
        (self.proc / str(pid) / "cgroup").write_text(f"{line}\n")

    def group(self, name: str, **files: str) -> Path:
        folder = self.mounted_at / name.lstrip("/")
        folder.mkdir(parents=True, exist_ok=True)
        for file, text in files.items():
            (folder / file.replace("__", ".", 1)).write_text(f"{text}\n")
        return folder


def test_version_1_limits_by_two_files_in_the_harnesss_own_group(tmp_path: Path) -> None:
    machine = MadeUpMachine(tmp_path, 1, "/build/7")
    group = CpuQuota.find(0.5, machine.proc).new_group()
    assert group.folder.parent == machine.mounted_at / "build/7"
    assert group.folder.name.startswith(f"{PREFIX}{os.getpid()}-")
    assert group.settings == {"cpu.shares": "10240", "cpu.cfs_period_us": "100000", "cpu.cfs_quota_us": "50000"}


def test_version_2_limits_by_one_file_in_the_next_group_that_passes_the_controller_on(tmp_path: Path) -> None:
    machine = MadeUpMachine(tmp_path, 2, "/user.slice/session-3.scope")
    machine.group("/", cgroup__subtree_control="cpuset cpu io memory")
    machine.group("/user.slice", cgroup__subtree_control="cpu memory pids")
    machine.group("/user.slice/session-3.scope", cgroup__subtree_control="")
    group = CpuQuota.find(0.25, machine.proc).new_group()
    assert group.folder.parent == machine.mounted_at / "user.slice"
    assert group.settings == {"cpu.weight": "1000", "cpu.max": "25000 100000"}


def test_version_2_without_the_controller_is_refused_with_the_file_to_write(tmp_path: Path) -> None:
    """The controller cpuset is another one."""
    machine = MadeUpMachine(tmp_path, 2, "/")
    machine.group("/", cgroup__subtree_control="cpuset memory")
    assert why_no_quota_here(0.5, machine.proc) == (
        f"no control group here passes the cpu controller on; write +cpu to {machine.mounted_at}/cgroup.subtree_control"
        " as root, or use --runtime containers"
    )


def test_a_machine_without_control_groups_is_refused(tmp_path: Path) -> None:
    (tmp_path / "self").mkdir()
    (tmp_path / "self/mountinfo").write_text("31 23 0:28 / /sys/fs/cgroup rw - tmpfs tmpfs rw,mode=755\n")
    for proc in (tmp_path, tmp_path / "not-linux"):
        assert why_no_quota_here(0.5, proc).startswith("no control groups with the cpu controller are mounted here; ")


def test_users_who_may_not_make_groups_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    machine = MadeUpMachine(tmp_path, 1, "/")

    def refuse(*_: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "mkdir", refuse)
    assert why_no_quota_here(0.5, machine.proc) == (
        f"making control groups in {machine.mounted_at} requires root (Permission denied); run as root, or use "
        "--runtime containers"
    )


def test_a_hierarchy_of_version_1_has_the_controller_on_systems_with_both() -> None:
    both = (
        "32 31 0:29 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n"
        "34 31 0:31 / /sys/fs/cgroup/cpuset rw - cgroup cgroup rw,cpuset\n"
        "41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n"
    )
    assert parse_hierarchy(both) == CpuHierarchy(1, Path("/sys/fs/cgroup/cpu"), "/")
    assert parse_hierarchy(both.replace("rw,cpu\n", "rw,blkio\n")) == CpuHierarchy(
        2, Path("/sys/fs/cgroup/unified"), "/"
    )


def test_groups_in_a_container_are_found_below_its_own(tmp_path: Path) -> None:
    """Its own group is mounted there; the others are not visible."""
    machine = MadeUpMachine(tmp_path, 1, "/docker/a1", root="/docker/a1")
    assert CpuQuota.find(0.5, machine.proc).parent == machine.mounted_at
    machine.add_process(7, "/docker/b2")
    hierarchy = parse_hierarchy((machine.proc / "self/mountinfo").read_text())
    assert hierarchy is not None
    assert group_of(hierarchy, 7, machine.proc) is None


@pytest.mark.parametrize(
    ("version", "stat", "unlimited", "limited"),
    [
        (
            1,
            "nr_periods 40\nnr_throttled 30\nthrottled_time 5000",
            {"cpu__cfs_quota_us": "-1"},
            {"cpu__cfs_quota_us": "5"},
        ),
        (
            2,
            "usage_usec 9\nuser_usec 9\nsystem_usec 0\nnr_periods 40\nnr_throttled 30\nthrottled_usec 5",
            {"cpu__max": "max 100000"},
            {"cpu__max": "5 100000"},
        ),
    ],
)
def test_throttling_is_read_of_groups_with_a_quota(
    tmp_path: Path, version: int, stat: str, unlimited: dict[str, str], limited: dict[str, str]
) -> None:
    machine = MadeUpMachine(tmp_path, version, "/own")
    for pid, name, files in ((7, "/free", unlimited), (8, "/held", limited), (9, "/own", limited)):
        machine.add_process(pid, name)
        machine.group(name, cpu__stat=stat, **files)
    held = machine.mounted_at / "held"
    assert [quota_group_of(pid, machine.proc) for pid in (7, 8, 9, 10)] == [None, held, None, None]
    assert read_throttling(held) == Throttling(40, 30, 5_000)
    rows = {row.metric: row.value for row in throttling_rows("b", held)}
    assert rows == {"quota_periods": 40, "throttled_periods": 30, "throttled_ns": 5_000}


@pytest.mark.parametrize("text", [None, "", "usage_usec 9\nuser_usec 9", "nr_periods many"])
def test_without_counters_there_are_no_rows(tmp_path: Path, text: str | None) -> None:
    if text is not None:
        (tmp_path / "cpu.stat").write_text(text)
    assert throttling_rows("b", tmp_path) == []
    assert throttling_rows("b", None) == []


def test_only_groups_of_dead_harnesses_are_cleared(tmp_path: Path) -> None:
    machine = MadeUpMachine(tmp_path, 1, "/")
    dead, living = f"{PREFIX}{GONE_PID}-0a", f"{PREFIX}{os.getpid()}-0a"
    for name in (dead, living, "docker", f"{PREFIX}else-1"):
        machine.group(name)
    assert dead_groups(machine.proc) == [machine.mounted_at / dead]
    clear_dead(machine.proc)
    assert {folder.name for folder in machine.mounted_at.iterdir()} == {living, "docker", f"{PREFIX}else-1"}


# -- the option --------------------------------------------------------------------------------------------------------


@pytest.fixture
def four_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("topologies.runtimes.choice.cores_here", lambda: 4)
    monkeypatch.setattr(cpu_groups, "why_no_quota_here", lambda _cpus: "")


@pytest.mark.usefixtures("four_cores")
def test_shares_that_not_all_brokers_can_have_are_refused() -> None:
    BrokerSetup("processes", broker_cpus=4 / 3).check(build("mesh(brokers=3)"))
    BrokerSetup("containers", broker_cpus=4).check(build("single"))
    with pytest.raises(UserError) as refused:
        BrokerSetup("processes", broker_cpus=1.5).check(build("mesh(brokers=3)"))
    assert str(refused.value) == (
        "--broker-cpus 1.5: 3 brokers would use 4.5 cores, but this machine has 4, so they could not all have their "
        "share; use at most 1.33, or fewer brokers"
    )


@pytest.mark.parametrize("runtime", ["external", "memory"])
def test_brokers_that_the_run_does_not_start_have_no_share(runtime: str) -> None:
    with pytest.raises(UserError, match=f"--broker-cpus 0.5: {why_not(runtime, Capability.LIMITS_CPUS)}"):
        BrokerSetup(runtime, broker_cpus=0.5, brokers_file=Path("b.yaml")).check(build("single"))


# -- real groups -------------------------------------------------------------------------------------------------------

# A harness that starts two busy processes under a guard with a quota, prints the guard's pid, and waits.
HARNESS = """
import subprocess, sys
from pathlib import Path
from topologies.runtimes.processes import guard
from topologies.runtimes.processes.cpu_groups import CpuQuota

group = CpuQuota.find(float(sys.argv[1])).new_group()
busy = [sys.executable, "-c", "import os\\nos.fork()\\nwhile True: pass"]
line = guard.command_line(busy, pid_file=Path(sys.argv[2]), group=group.folder, settings=group.settings)
guarding = subprocess.Popen(line, start_new_session=True)
print(guarding.pid, group.folder, flush=True)
guarding.wait()
"""


class BusyHarness:
    def __init__(self, folder: Path) -> None:
        pid_file = folder / "pid"
        self.harness = subprocess.Popen([sys.executable, "-c", HARNESS, str(CPUS), pid_file], stdout=subprocess.PIPE)
        assert self.harness.stdout is not None
        guard, group = self.harness.stdout.readline().decode().split()
        self.guard, self.group = int(guard), Path(group)
        assert eventually(lambda: pid_file.exists() and len(self.group_pids()) == 2)
        self.busy = psutil.Process(int(pid_file.read_text()))

    def group_pids(self) -> list[int]:
        try:
            return [int(pid) for pid in (self.group / "cgroup.procs").read_text().split()]
        except OSError:
            return []

    def cpu_s(self) -> float:
        return sum(sum(process.cpu_times()[:2]) for process in (self.busy, *self.busy.children()))


@pytest.fixture
def busy(tmp_path: Path) -> Iterator[BusyHarness]:
    started = BusyHarness(tmp_path)
    yield started
    started.harness.kill()
    started.harness.communicate()
    assert eventually(lambda: not started.group_pids())
    clear_dead()
    assert not started.group.exists()


@pytest.mark.quotas
def test_this_machine_permits_quotas() -> None:
    assert why_no_quota_here() == ""


@pytest.mark.quotas
def test_two_busy_processes_use_their_one_share(busy: BusyHarness) -> None:
    """Without the quota they would use up to two cores. Other programs may take some of a share."""
    began_s, used_s, before = time.monotonic(), busy.cpu_s(), read_throttling(busy.group)
    time.sleep(4)
    cores = (busy.cpu_s() - used_s) / (time.monotonic() - began_s)
    after = read_throttling(busy.group)
    assert 0.5 * CPUS < cores < 1.3 * CPUS
    assert before is not None
    assert after is not None
    assert after.throttled_periods - before.throttled_periods >= 0.3 * (after.periods - before.periods) >= 9
    assert quota_group_of(busy.busy.pid) == busy.group


@pytest.mark.quotas
def test_no_group_outlives_a_killed_harness(busy: BusyHarness) -> None:
    busy.harness.kill()
    assert eventually(lambda: not busy.group.exists())
    assert eventually(lambda: gone(busy.guard))


@pytest.mark.quotas
def test_a_group_goes_with_its_processes(busy: BusyHarness) -> None:
    os.killpg(busy.busy.pid, signal.SIGKILL)
    assert eventually(lambda: not busy.group.exists())


@pytest.mark.quotas
def test_a_later_run_clears_the_group_of_a_killed_guard(busy: BusyHarness) -> None:
    """The guard is killed first, so it cannot remove its group. The harness still lives, so its group is left alone."""
    os.kill(busy.harness.pid, signal.SIGSTOP)
    others = [process.pid for process in busy.busy.children()]
    os.kill(busy.guard, signal.SIGKILL)
    assert eventually(lambda: gone(busy.busy.pid))
    for pid in others:  # a broker has no other processes
        os.kill(pid, signal.SIGKILL)
    assert eventually(lambda: not busy.group_pids())
    clear_dead()
    assert busy.group.exists()
    busy.harness.kill()
    busy.harness.wait()
    assert busy.group in dead_groups()
    clear_dead()
    assert not busy.group.exists()


@pytest.mark.quotas
def test_a_command_that_cannot_join_does_not_start(tmp_path: Path) -> None:
    """Such a command would run without its quota."""
    group = CpuQuota.find(CPUS).new_group()
    line = guard.command_line(["touch", tmp_path / "ran"], group=group.folder, settings={"cpu.no_such_file": "1"})
    finished = subprocess.run(line, capture_output=True, text=True, start_new_session=True, timeout=60)
    assert finished.returncode == 126
    assert "guard: cannot start touch: " in finished.stderr
    assert not (tmp_path / "ran").exists()
    assert not group.folder.exists()


@pytest.mark.quotas
def test_a_closing_run_removes_the_group_of_a_killed_guard(tmp_path: Path) -> None:
    """A broker that is killed while it starts is killed with its guard."""
    started = BrokerProcess(
        ["sleep", "600"], {}, log=tmp_path / "log", pid_file=tmp_path / "pid", remove=[], quota=CpuQuota.find(CPUS)
    )
    started.start()
    pid = started.wait_for_pid()
    assert pid is not None
    group = quota_group_of(pid)
    assert group is not None
    assert started._guard is not None
    started._guard.kill()
    assert started.wait(10)
    assert eventually(lambda: gone(pid))
    assert group.exists()
    started.remove_group()
    assert not group.exists()


@pytest.mark.quotas
@pytest.mark.brokers
def test_a_broker_has_its_share_after_each_start(tmp_path: Path) -> None:
    """A JVM reads its group's quota, so no JVM option repeats it."""
    runtime = ProcessRuntime(
        build("single"), RunDirectory.create(tmp_path, "run"), broker_memory_mb=128, broker_cpus=0.5
    )
    try:
        runtime.up(lambda _line: None)
        first = group_with_share_of(runtime)
        runtime.kill("broker-1")
        assert not first.exists()
        runtime.start("broker-1")
        second = group_with_share_of(runtime)
        assert second != first
    finally:
        runtime.close()
    assert eventually(lambda: not second.exists())


def group_with_share_of(runtime: ProcessRuntime) -> Path:
    pid = runtime.pid("broker-1")
    assert pid is not None
    group = quota_group_of(pid)
    assert group is not None
    assert {int(thread.name) for thread in Path(f"/proc/{pid}/task").iterdir()} <= threads_in(group)
    agent = Jolokia(runtime.management("broker-1"), 5.0)
    assert agent.read("java.lang:type=OperatingSystem", "AvailableProcessors") == {"AvailableProcessors": 1}
    rows = {row.metric: row.value for row in throttling_rows("broker-1", group)}
    assert rows["throttled_periods"] > 0, "a JVM uses more than half a core while it starts"
    assert "ActiveProcessorCount" not in json.dumps(psutil.Process(pid).cmdline())
    return group


def threads_in(group: Path) -> set[int]:
    """Return the threads in a group; version 2 lists them in another file."""
    listed = next(group / name for name in ("tasks", "cgroup.threads") if (group / name).exists())
    return set(map(int, listed.read_text().split()))
