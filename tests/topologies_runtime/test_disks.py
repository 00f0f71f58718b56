"""Checks the brokers' disks: the data that survives a power failure, and that runs leave nothing behind."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.disks import left_in
from tests.support.runtimes import eventually, gone
from topologies.catalogue.lookup import build
from topologies.runtimes.capabilities import RUNTIMES
from topologies.runtimes.contract import RuntimeFailed
from topologies.runtimes.processes import disks, mounts
from topologies.runtimes.processes.disks import Disk, Disks, disks_without_power, shared_stores
from topologies.runtimes.processes.mounts import IMAGE, KEPT_IMAGE, Mount, mounts_below, parse_mounts

SMALL_MB = 16

# A harness that makes the disks of two brokers, cuts the power of the second, prints its guard's pid and waits.
HARNESS = """
import json, sys, time
from pathlib import Path
from topologies.model.launch import BrokerFolders
from topologies.runtimes.processes.disks import Disks

folders = {name: BrokerFolders(Path(sys.argv[1]) / "brokers" / name) for name in ("broker-1", "broker-2", "broker-3")}
for broker in folders.values():
    broker.make()
made = Disks(folders, {}, size_mb=16, keep=False)
made.make()
made.cut_power(["broker-2", "broker-3"])
made.unmount("broker-3")
print(json.dumps(made._guard.pid), flush=True)
time.sleep(600)
"""


# -- pure --------------------------------------------------------------------------------------------------------------


@given(st.text(st.characters(exclude_characters="\0", exclude_categories=("Cs",)), min_size=1))
def test_mounted_folders_of_any_name_are_read(name: str) -> None:
    """The kernel writes blanks, backslashes and # as octal numbers."""
    escaped = "".join(f"\\{ord(letter):03o}" if letter in " \t\n\\#" else letter for letter in f"/runs/{name}")
    if "\r" in name or len(f"{escaped}\n".splitlines()) > 1:
        return  # other line ends of str.splitlines, which the kernel does not escape
    text = f"/dev/loop3 {escaped} ext4 rw,relatime 0 0\n"
    assert parse_mounts(text) == [Mount("/dev/loop3", Path(f"/runs/{name}"))]


def test_mounts_in_a_folder_come_latest_first() -> None:
    listed = [Mount("a", Path("/runs/x/data")), Mount("b", Path("/runs2/x")), Mount("c", Path("/runs/x/data"))]
    assert mounts_below(Path("/runs"), listed) == [listed[2], listed[0]]


def test_a_shared_store_fails_with_all_its_brokers() -> None:
    pair = {"standby": "active"}
    assert disks_without_power(["active"], pair) == []
    assert disks_without_power(["standby"], pair) == ["standby"]
    assert disks_without_power(["active", "standby", "other"], pair) == ["active", "other", "standby"]
    assert disks_without_power(["active"], {}) == ["active"]


NAMES = st.sampled_from(["a", "b", "c", "d"])


@given(
    st.sets(NAMES), st.sets(NAMES), st.dictionaries(NAMES, NAMES).filter(lambda d: all(k != v for k, v in d.items()))
)
def test_more_failing_brokers_fail_more_disks(few: set[str], more: set[str], stores: dict[str, str]) -> None:
    assert {*disks_without_power(few, stores)} <= {*disks_without_power(few | more, stores)} <= few | more


@pytest.mark.parametrize(
    ("topology", "shared"),
    [("single", {}), ("active-standby", {"broker-2": "broker-1"}), ("live-backup", {"broker-2": "broker-1"})],
)
def test_pairs_share_the_disk_of_their_active(topology: str, shared: dict[str, str]) -> None:
    assert len(shared_stores(build(topology))) == len(shared)
    assert {*shared_stores(build(topology)).values()} <= {broker.name for broker in build(topology).brokers}


def test_pairs_that_copy_their_store_share_no_disk() -> None:
    assert shared_stores(build("live-backup(ha='replication')")) == {}


@pytest.mark.parametrize("runtime", [name for name in RUNTIMES if name != "processes"])
def test_other_runtimes_have_no_disks(runtime: str) -> None:
    assert "use --runtime processes" in disks.why_no_disks(runtime)


def test_a_machine_without_the_tools_has_no_disks() -> None:
    """Tests without the marker do not find mkfs.ext4."""
    assert disks.why_no_disks_here() == "mkfs.ext4 is not on PATH; install the packages e2fsprogs and mount"


@pytest.mark.disks
def test_users_without_root_have_no_disks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    assert disks.why_no_disks_here() == "mounting loop devices requires root; run as root"


# -- real disks --------------------------------------------------------------------------------------------------------


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Disk]:
    (tmp_path / "data").mkdir()
    made = Disk(tmp_path / IMAGE, tmp_path / "data", SMALL_MB)
    made.make()
    yield made
    made.remove(keep=False)
    assert left_in(tmp_path) == []


def power_cycle(disk: Disk) -> None:
    disk.cut_power()
    disk.unmount()
    disk.mount()


def append(path: Path, text: bytes, sync: bool) -> None:
    file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    os.write(file, text)
    if sync:
        os.fsync(file)
    os.close(file)


@pytest.mark.disks
def test_power_loss_keeps_synced_writes_only(disk: Disk, tmp_path: Path) -> None:
    append(tmp_path / "data/log", b"synced", sync=True)
    append(tmp_path / "data/log", b" and not", sync=False)
    append(tmp_path / "data/never", b"x", sync=False)
    power_cycle(disk)
    assert (tmp_path / "data/log").read_bytes() == b"synced"
    assert not (tmp_path / "data/never").exists()


@pytest.mark.disks
def test_an_orderly_unmount_keeps_every_write(disk: Disk, tmp_path: Path) -> None:
    """This shows that the writes in the test above are lost by the power failure, not by the unmount."""
    append(tmp_path / "data/log", b"not synced", sync=False)
    disk.unmount()
    disk.mount()
    assert (tmp_path / "data/log").read_bytes() == b"not synced"


@pytest.mark.disks
def test_a_disk_without_power_takes_no_write(disk: Disk, tmp_path: Path) -> None:
    disk.cut_power()
    with pytest.raises(OSError, match="Input/output error"):
        append(tmp_path / "data/log", b"x", sync=False)
    disk.cut_power()  # repeating it changes nothing


@pytest.mark.disks
def test_an_image_is_as_large_as_its_contents(disk: Disk, tmp_path: Path) -> None:
    assert (tmp_path / IMAGE).stat().st_size == SMALL_MB << 20
    assert (tmp_path / IMAGE).stat().st_blocks * 512 < SMALL_MB << 19


@pytest.mark.disks
def test_a_second_disk_of_an_image_is_refused(disk: Disk, tmp_path: Path) -> None:
    with pytest.raises(RuntimeFailed, match="cannot be created: File exists"):
        Disk(tmp_path / IMAGE, tmp_path / "data", SMALL_MB).make()


@pytest.mark.disks
def test_this_machine_has_disks() -> None:
    assert disks.why_no_disks("processes") == ""


@pytest.mark.disks
def test_a_busy_disk_goes_with_its_last_process(tmp_path: Path) -> None:
    """The guard waits for `BUSY_FOR_S`, then detaches the mount, which ends with the process that uses it."""
    (tmp_path / "broker-1/data").mkdir(parents=True)
    made = Disk(tmp_path / "broker-1" / IMAGE, tmp_path / "broker-1/data", SMALL_MB)
    made.make()
    with subprocess.Popen(["sleep", "600"], cwd=tmp_path / "broker-1/data") as holder:
        with pytest.raises(OSError, match="busy"):
            mounts.unmount(tmp_path / "broker-1/data", 0.2)
        holder.kill()
    assert mounts.clear(tmp_path.resolve(), keep=False)
    assert eventually(lambda: left_in(tmp_path) == [])
    assert not mounts.clear(tmp_path.resolve(), keep=False)


# -- the end of the harness --------------------------------------------------------------------------------------------


@pytest.fixture
def harness(tmp_path: Path) -> Iterator[tuple[subprocess.Popen[bytes], int]]:
    """Start a harness with a mounted disk, one without power and an unmounted one. Returns it and its guard's pid."""
    with subprocess.Popen([sys.executable, "-c", HARNESS, tmp_path], stdout=subprocess.PIPE) as started:
        assert started.stdout is not None
        yield started, json.loads(started.stdout.readline())
        started.kill()


@pytest.mark.disks
def test_no_disk_outlives_a_killed_harness(harness: tuple[subprocess.Popen[bytes], int], tmp_path: Path) -> None:
    process, guard = harness
    assert len(left_in(tmp_path)) == 2 + 2 + 3  # mounts, loop devices, images
    process.kill()
    assert eventually(lambda: left_in(tmp_path) == []), left_in(tmp_path)
    assert eventually(lambda: gone(guard))


@pytest.mark.disks
def test_signals_of_the_terminal_leave_disks_alone(
    harness: tuple[subprocess.Popen[bytes], int], tmp_path: Path
) -> None:
    _, guard = harness
    for number in (signal.SIGINT, signal.SIGHUP, signal.SIGQUIT):
        os.kill(guard, number)
    assert not eventually(lambda: len(left_in(tmp_path)) != 7, within_s=1.0)


@pytest.mark.disks
def test_a_later_run_clears_what_dead_ones_left(harness: tuple[subprocess.Popen[bytes], int], tmp_path: Path) -> None:
    """The harness and its guard are killed, and one of its disks is not mounted."""
    process, guard = harness
    brokers = tmp_path.with_name("another-run") / "brokers"
    empty = brokers.parent / "brokers/broker-1" / IMAGE
    empty.parent.mkdir(parents=True)
    empty.touch()
    disks.clear_dead(brokers)
    assert len(left_in(tmp_path)) == 7, "disks in use are left alone"
    os.kill(guard, signal.SIGKILL)
    process.kill()
    process.wait()
    assert len(disks.dead_loops()) == 2
    disks.clear_dead(brokers)
    assert eventually(lambda: left_in(tmp_path) == []), left_in(tmp_path)
    assert empty.exists(), "its run may be about to lock it"


@pytest.mark.disks
def test_a_guard_of_a_closed_run_ends(tmp_path: Path) -> None:
    folders = build_folders(tmp_path)
    made = Disks(folders, {}, size_mb=SMALL_MB, keep=False)
    made.make()
    assert made._guard is not None
    made.close()
    assert left_in(tmp_path) == []
    assert eventually(lambda: gone(made._guard.pid if made._guard else 0))
    made.power_on("broker-1")  # too late: nothing is mounted anymore
    assert left_in(tmp_path) == []


@pytest.mark.disks
def test_kept_disks_hold_unsynced_writes(tmp_path: Path) -> None:
    made = Disks(build_folders(tmp_path), {}, size_mb=SMALL_MB, keep=True)
    made.make()
    append(tmp_path / "brokers/broker-1/data/log", b"kept", sync=False)
    made.close()
    image = tmp_path / "brokers/broker-1" / KEPT_IMAGE
    assert left_in(tmp_path) == [str(image)]
    subprocess.run(["mount", "-o", "loop,ro", image, tmp_path / "brokers/broker-1/data"], check=True)
    assert (tmp_path / "brokers/broker-1/data/log").read_bytes() == b"kept"
    mounts.unmount(tmp_path / "brokers/broker-1/data", 5.0)


def build_folders(tmp_path: Path) -> "dict[str, disks.BrokerFolders]":
    folders = {"broker-1": disks.BrokerFolders(tmp_path / "brokers/broker-1")}
    for broker in folders.values():
        broker.make()
    return folders
