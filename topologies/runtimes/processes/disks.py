"""Gives brokers disks of their own, whose power can be cut: ext4 file systems on loop devices.

    brokers/<name>/disk.img ──► /dev/loopN ──► ext4, mounted at brokers/<name>/data

A killed process loses nothing that it has written: the kernel still writes its page cache to the disk. If the power of
a disk is cut, only what was flushed to it is there afterwards. The loop device keeps what it was given, so a disk whose
own write cache loses unflushed writes is not simulated.

Each image is locked while its run lives (flock). A later run clears what runs that were killed, and whose guards were
killed too, left behind.
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
    """The command that makes the file system. Everything is written at once: no kernel thread writes meanwhile."""
    settings = "lazy_itable_init=0,lazy_journal_init=0"
    return ["mkfs.ext4", "-q", "-F", "-E", settings, "-i", "65536", str(image)]


def mount_line(image: Path, at: Path) -> list[str]:
    return ["mount", "-t", "ext4", "-o", "loop", str(image), str(at)]


class Disk:
    """One file system in a sparse file."""

    def __init__(self, image: Path, at: Path, size_mb: int) -> None:
        self._image = image.parent.resolve() / image.name  # as the kernel names it
        self._at, self._size_mb = at, size_mb
        self._lock: int | None = None
        self.mounted = False

    def make(self) -> None:
        """Raises RuntimeFailed."""
        try:
            self._lock = os.open(self._image, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            os.ftruncate(self._lock, self._size_mb * MIB)
        except OSError as error:
            raise RuntimeFailed(
                f"disk {self._image} cannot be made: {error.strerror}; choose another --runs"
            ) from error
        _run(mkfs_line(self._image))
        self.mount()

    def mount(self) -> None:
        """Raises RuntimeFailed. The journal of the file system is replayed, as after a power failure."""
        if not self.mounted:
            self._await_release()
            _run(mount_line(self._image, self._at))
            self.mounted = True

    def cut_power(self) -> None:
        """Raises OSError."""
        if self.mounted:
            mounts.cut_power(self._at)

    def unmount(self) -> None:
        """Raises OSError if processes still hold it. May be called from anywhere."""
        if self.mounted:
            mounts.unmount(self._at, UNMOUNT_TIMEOUT_S, pause)
            self.mounted = False

    def remove(self, keep: bool) -> None:
        """Unmount it; what it holds is lost unless ``keep``. May be called from anywhere. Raises OSError."""
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
        """The kernel releases the loop device of an unmounted image a moment later."""
        for _ in range(round(UNMOUNT_TIMEOUT_S / mounts.POLL_S)):
            if self._image not in {loop.image for loop in mounts.current_loops()}:
                return
            pause(mounts.POLL_S)


class Disks:
    """The disks of a run's brokers, by broker. ``stores``: of the standbys that share the store of their active."""

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
        """Make and mount all disks, guarded against the end of this process. Raises RuntimeFailed."""
        clear_dead()
        below = next(iter(self._folders.values())).root.parent
        self._guard = subprocess.Popen(
            mounts.command_line(below, self._keep), stdin=subprocess.DEVNULL, start_new_session=True
        )
        for name, disk in self._disks.items():
            disk.make()
            self._folders[name].make()  # what was there is hidden

    def is_off(self, broker: str) -> bool:
        return broker in self._off

    def cut_power(self, brokers: Collection[str]) -> None:
        """Cut the power of the machines of these brokers at once. Raises RuntimeFailed.

        A shared store is on a machine of its own. It stays up unless all brokers that use it lose their power.
        """
        with self._changing:
            self._off.update(brokers)
            try:
                for name in disks_without_power(brokers, self._stores):
                    self._disks[name].cut_power()
            except OSError as error:
                raise RuntimeFailed(f"the power of {', '.join(brokers)} cannot be cut: {error.strerror}") from error

    def unmount(self, broker: str) -> None:
        """Unmount the disks of a broker that have no power. No process may hold them. Raises RuntimeFailed."""
        with self._changing:
            for name in disks_without_power(self._off, self._stores):
                if name == broker or name == self._stores.get(broker):
                    try:
                        self._disks[name].unmount()
                    except OSError as error:
                        raise RuntimeFailed(f"the disk of {name!r} cannot be unmounted: {error.strerror}") from error

    def power_on(self, broker: str) -> None:
        """Mount what the broker needs. Does nothing to disks that are mounted. Raises RuntimeFailed."""
        with self._changing:
            for name in {broker, self._stores.get(broker, broker)}:
                if not self._closed:
                    self._disks[name].mount()
            self._off.discard(broker)

    def close(self) -> None:
        """Unmount and remove all disks, unless they are kept. Brokers have ended. May be called from anywhere."""
        self._closed = True
        for disk in self._disks.values():
            with suppress(OSError):  # the guard tries again
                disk.remove(self._keep)
        if self._guard is not None:
            with suppress(ProcessLookupError):
                self._guard.terminate()  # it ends once nothing is left


def disks_without_power(brokers: Collection[str], stores: Mapping[str, str]) -> list[str]:
    """The disks that fail with the machines of these brokers, by the brokers that they are named after. Pure.

    ``stores``: by standby, the active whose store it shares.
    """
    sharing = {active: {active, *(b for b, store in stores.items() if store == active)} for active in stores.values()}
    return sorted(broker for broker in brokers if sharing.get(broker, {broker}) <= {*brokers})


def shared_stores(topology: Topology) -> dict[str, str]:
    """By standby: the active whose store it shares. Pairs that copy their store share none. Pure."""
    return {
        broker.name: broker.standby_of for broker in topology.brokers if broker.standby_of and not broker.copies_store
    }


def clear_dead() -> None:
    """Unmount the disks of runs that are gone, and remove them. Disks in use by another run are left alone."""
    for device, image in dead_loops():
        for mount in reversed(mounts.current_mounts()):
            if mount.device == device:
                with suppress(OSError):
                    mounts.unmount(mount.at, UNMOUNT_TIMEOUT_S, pause)
        if image.name == IMAGE:
            image.unlink(missing_ok=True)


def dead_loops() -> list[Loop]:
    """The loop devices of disks whose run is gone."""
    return [loop for loop in mounts.current_loops() if loop.image.name in (IMAGE, KEPT_IMAGE) and _is_free(loop.image)]


def _is_free(image: Path) -> bool:
    """Whether nobody holds the lock of an image; True if the file is gone."""
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


def no_disks(runtime: str) -> str:
    """Why brokers of a runtime cannot have disks here, with the next step; empty if they can."""
    return why_not(runtime, Capability.OWNS_DISKS) or why_no_disks()


def why_no_disks() -> str:
    """Why brokers cannot have disks on this machine, with the next step; empty if they can.

    Makes a small disk, cuts its power and mounts it again, which takes some hundredths of a second.
    """
    for program in PROGRAMS:
        if shutil.which(program) is None:
            return f"{program} is not on PATH; install the packages e2fsprogs and mount"
    if os.geteuid() != 0:
        return "loop devices are mounted for them, which needs root; run as root"
    folder = Path(tempfile.mkdtemp(prefix="brokerbench-disk-"))
    disk = Disk(folder / IMAGE, folder / "data", TRIAL_MB)
    try:
        (folder / "data").mkdir()
        disk.make()
        disk.cut_power()
        disk.unmount()
        disk.mount()
    except (RuntimeFailed, OSError) as error:
        return f"no ext4 file system on a loop device here ({error}); use a machine or a container that permits mounts"
    finally:
        with suppress(OSError):
            disk.remove(keep=False)
        shutil.rmtree(folder, ignore_errors=True)
    return ""


def _run(line: Sequence[str]) -> None:
    """Raises RuntimeFailed, with what the command printed."""
    try:
        finished = subprocess.run(line, capture_output=True, text=True, check=False, timeout=60)
    except (OSError, subprocess.SubprocessError) as error:
        raise RuntimeFailed(f"{line[0]} cannot be run: {error}") from error
    if finished.returncode:
        printed = " ".join(finished.stderr.split()) or f"exit status {finished.returncode}"
        raise RuntimeFailed(f"{line[0]} failed: {printed}")
