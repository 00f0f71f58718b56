"""Gives each broker a separate disk whose power can be cut: an ext4 file system on a loop device.

    brokers/<name>/disk.img ──► /dev/loopN ──► ext4, mounted at brokers/<name>/data

A killed process loses nothing that it has written: the kernel still writes its page cache to the disk. If the power of
a disk is cut, only flushed data survives. The loop device keeps all data that it receives, so disks that lose unflushed
writes of their own write cache are not simulated.

Each image is locked while its run lives (flock). A later run cleans up after runs that were killed together with their
guards: it clears all mounts and loop devices of this machine, and the images in its own folder of runs.
"""

import fcntl
import os
import shutil
import subprocess
import tempfile
import threading
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from topologies.model.launch import BrokerFolders
from topologies.model.topology import Topology
from topologies.runtimes.capabilities import Capability, why_not
from topologies.runtimes.contract import RuntimeFailed
from topologies.runtimes.handle import pause
from topologies.runtimes.processes import mounts
from topologies.runtimes.processes.mounts import IMAGE, KEPT_IMAGE, Loop

MIB = 1024**2
LEAST_MB, DEFAULT_MB = 256, 4096
TRIAL_MB = 16
UNMOUNT_TIMEOUT_S = 20.0
PROGRAMS = "mkfs.ext4", "mount"


def mkfs_line(image: Path) -> list[str]:
    """Return the command that makes the file system.

    It writes everything at once, so that no kernel thread writes later.
    """
    settings = "lazy_itable_init=0,lazy_journal_init=0"
    return ["mkfs.ext4", "-q", "-F", "-E", settings, "-i", "65536", str(image)]


def mount_line(image: Path, at: Path) -> list[str]:
    return ["mount", "-t", "ext4", "-o", "loop", str(image), str(at)]


class Disk:
    """A file system in a sparse file."""

    def __init__(self, image: Path, at: Path, size_mb: int) -> None:
        self._image = image.parent.resolve() / image.name  # the kernel's name for it
        self._at, self._size_mb = at, size_mb
        self._lock: int | None = None
        self.mounted = False

    def make(self) -> None:
        """Create and mount the disk. Raises RuntimeFailed."""
        try:
            self._lock = os.open(self._image, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            os.ftruncate(self._lock, self._size_mb * MIB)  # locked first: empty images are left alone
        except OSError as error:
            raise RuntimeFailed(
                f"disk {self._image} cannot be created: {error.strerror}; choose another --runs"
            ) from error
        _run(mkfs_line(self._image))
        self.mount()

    def mount(self) -> None:
        """Mount the disk. The file system's journal is replayed, as after a power failure. Raises RuntimeFailed."""
        if not self.mounted:
            self._await_release()
            _run(mount_line(self._image, self._at))
            self.mounted = True

    def cut_power(self) -> None:
        """Cut the power of the disk. Raises OSError."""
        if self.mounted:
            mounts.cut_power(self._at)

    def unmount(self) -> None:
        """Unmount the disk. Safe to call from anywhere. Raises OSError if processes still use it."""
        if self.mounted:
            mounts.unmount(self._at, UNMOUNT_TIMEOUT_S, pause)
            self.mounted = False

    def remove(self, keep: bool) -> None:
        """Unmount the disk; its content is lost unless ``keep``. Safe to call from anywhere. Raises OSError."""
        if not keep:
            with suppress(OSError):
                self.cut_power()
        self.unmount()
        if not keep:
            self._image.unlink(missing_ok=True)
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def _await_release(self) -> None:
        """Wait until the kernel has released the loop device of an unmounted image, which takes a moment."""
        for _ in range(round(UNMOUNT_TIMEOUT_S / mounts.POLL_S)):
            if self._image not in {loop.image for loop in mounts.current_loops()}:
                return
            pause(mounts.POLL_S)


class Disks:
    """The disks of a run's brokers, by broker. ``stores``: standbys that share a store, with their active broker."""

    def __init__(
        self, folders: Mapping[str, BrokerFolders], stores: Mapping[str, str], *, size_mb: int, keep: bool
    ) -> None:
        self._folders, self._stores, self._keep = folders, stores, keep
        self._disks = {
            name: Disk(below.root / (KEPT_IMAGE if keep else IMAGE), below.data, size_mb)
            for name, below in folders.items()
        }
        self._off: set[str] = set()
        self._changing = threading.RLock()
        self._closed = False
        self._guard: subprocess.Popen[bytes] | None = None

    def make(self) -> None:
        """Create and mount all disks; a guard removes them if this process ends. Raises RuntimeFailed."""
        below = next(iter(self._folders.values())).root.parent
        clear_dead(below)
        self._guard = subprocess.Popen(
            mounts.command_line(below, self._keep), stdin=subprocess.DEVNULL, start_new_session=True
        )
        for name, disk in self._disks.items():
            disk.make()
            self._folders[name].make()  # the mount hides what was there

    def is_off(self, broker: str) -> bool:
        return broker in self._off

    def cut_power(self, brokers: Collection[str]) -> None:
        """Cut the power of these brokers' machines at the same time. Raises RuntimeFailed.

        A shared store is on a separate machine. It stays up unless all brokers that use it lose their power.
        """
        with self._changing:
            self._off.update(brokers)
            try:
                for name in disks_without_power(brokers, self._stores):
                    self._disks[name].cut_power()
            except OSError as error:
                raise RuntimeFailed(f"the power of {', '.join(brokers)} cannot be cut: {error.strerror}") from error

    def unmount(self, broker: str) -> None:
        """Unmount the disks of a broker that have no power. No process may be using them. Raises RuntimeFailed."""
        with self._changing:
            for name in disks_without_power(self._off, self._stores):
                if name == broker or name == self._stores.get(broker):
                    try:
                        self._disks[name].unmount()
                    except OSError as error:
                        raise RuntimeFailed(f"the disk of {name!r} cannot be unmounted: {error.strerror}") from error

    def power_on(self, broker: str) -> None:
        """Mount the disks that the broker needs; mounted disks are left alone. Raises RuntimeFailed."""
        with self._changing:
            for name in {broker, self._stores.get(broker, broker)}:
                if not self._closed:
                    self._disks[name].mount()
            self._off.discard(broker)

    def close(self) -> None:
        """Unmount all disks, and remove those that are not kept. Brokers have ended. Safe to call from anywhere."""
        self._closed = True
        for disk in self._disks.values():
            with suppress(OSError):  # the guard tries again
                disk.remove(self._keep)
        if self._guard is not None:
            with suppress(ProcessLookupError):
                self._guard.terminate()  # it ends once nothing is left


def disks_without_power(brokers: Collection[str], stores: Mapping[str, str]) -> list[str]:
    """Return the disks that fail with the machines of these brokers, identified by broker name. Pure.

    ``stores``: each standby that shares a store, with its active broker.
    """
    sharing = {active: {active, *(b for b, store in stores.items() if store == active)} for active in stores.values()}
    return sorted(broker for broker in brokers if sharing.get(broker, {broker}) <= {*brokers})


def shared_stores(topology: Topology) -> dict[str, str]:
    """Return each standby that shares a store, with its active broker. Pairs with replication share none. Pure."""
    return {
        broker.name: broker.standby_of for broker in topology.brokers if broker.standby_of and not broker.copies_store
    }


def clear_dead(brokers: Path) -> None:
    """Unmount and remove the disks of dead runs. Disks in use by another run are left alone.

    ``brokers``: a run's folder of brokers. Images without a loop device are found in runs next to this run.
    """
    for device, image in dead_loops():
        for mount in reversed(mounts.current_mounts()):
            if mount.device == device:
                with suppress(OSError):
                    mounts.unmount(mount.at, UNMOUNT_TIMEOUT_S, pause)
        if image.name == IMAGE:
            image.unlink(missing_ok=True)
    for image in brokers.parent.parent.glob(f"*/{brokers.name}/*/{IMAGE}"):
        with suppress(OSError):  # removed by another run
            if image.stat().st_size and _is_free(image):
                image.unlink()


def dead_loops() -> list[Loop]:
    """Return the loop devices of disks whose run has ended."""
    return [loop for loop in mounts.current_loops() if loop.image.name in (IMAGE, KEPT_IMAGE) and _is_free(loop.image)]


def _is_free(image: Path) -> bool:
    """Return whether no process holds the lock of an image; True if the file is gone."""
    try:
        file = os.open(image, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return True
    except OSError:
        return False
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    finally:
        os.close(file)
    return True


def why_no_disks(runtime: str) -> str:
    """Return why brokers of a runtime cannot have disks on this machine, with the next step; '' if they can."""
    return why_not(runtime, Capability.OWNS_DISKS) or why_no_disks_here()


def why_no_disks_here() -> str:
    """Return why brokers cannot have disks on this machine, with the next step; '' if they can.

    Creates a small disk, cuts its power and mounts it again, which takes some hundredths of a second.
    """
    for program in PROGRAMS:
        if shutil.which(program) is None:
            return f"{program} is not on PATH; install the packages e2fsprogs and mount"
    if os.geteuid() != 0:
        return "mounting loop devices requires root; run as root"
    folder = Path(tempfile.mkdtemp(prefix="brokerbench-disk-"))
    disk = Disk(folder / IMAGE, folder / "data", TRIAL_MB)
    try:
        (folder / "data").mkdir()
        disk.make()
        disk.cut_power()
        disk.unmount()
        disk.mount()
    except (RuntimeFailed, OSError) as error:
        return f"cannot mount ext4 on a loop device here ({error}); use a machine or a container that permits mounts"
    finally:
        with suppress(OSError):
            disk.remove(keep=False)
        shutil.rmtree(folder, ignore_errors=True)
    return ""


def _run(line: Sequence[str]) -> None:
    """Run a command. Raises RuntimeFailed, with the command's output."""
    try:
        finished = subprocess.run(line, capture_output=True, text=True, check=False, timeout=60)
    except (OSError, subprocess.SubprocessError) as error:
        raise RuntimeFailed(f"{line[0]} cannot be run: {error}") from error
    if finished.returncode:
        printed = " ".join(finished.stderr.split()) or f"exit status {finished.returncode}"
        raise RuntimeFailed(f"{line[0]} failed: {printed}")
