"""Unmounts brokers' disks, cuts their power, and guards them against the end of the harness.

``python mounts.py --parent PID [--keep] FOLDER`` must be started by process PID itself. Once PID is gone, or on SIGTERM
it unmounts everything below FOLDER and removes the images there, then exits. It also finds a mount that another process
is just making: it exits only after two checks, `SETTLED_S` apart, have found nothing.

Standard library only, and system calls instead of commands: it waits for no other process, so that a run can be closed
from anywhere, and it does not depend on the harness that it guards.
"""

import argparse
import ctypes
import errno
import fcntl
import os
import re
import signal
import struct
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from types import FrameType
from typing import NamedTuple

IMAGE, KEPT_IMAGE = "disk.img", "kept-disk.img"
"""File name of an image next to the folder where it is mounted. A kept image is not removed after its run."""

EXT4_IOC_SHUTDOWN = 0x8004587D
NO_LOG_FLUSH = struct.pack("I", 2)
MNT_DETACH = 2
POLL_S = 0.1
SETTLED_S = 1.0
BUSY_FOR_S = 30.0  # a killed JVM still has its files open for a moment
MOUNTS, LOOPS = Path("/proc/self/mounts"), Path("/sys/block")


class Mount(NamedTuple):
    """A mounted file system: its device and the folder where it is mounted."""

    device: str
    at: Path


class Loop(NamedTuple):
    """A loop device and the file behind it."""

    device: str
    image: Path


def parse_mounts(text: str) -> list[Mount]:
    """Parse the text of /proc/self/mounts, which escapes blanks in paths as octal numbers. Pure."""
    fields = [line.split(" ") for line in text.splitlines()]
    return [Mount(_unescaped(line[0]), Path(_unescaped(line[1]))) for line in fields if len(line) >= 2]


def _unescaped(word: str) -> str:
    return re.sub(r"\\([0-7]{3})", lambda match: chr(int(match[1], 8)), word)


def mounts_below(folder: Path, mounts: Iterable[Mount]) -> list[Mount]:
    """Return the mounts in a folder, the latest first, because one may hide another. Pure."""
    return [mount for mount in mounts if mount.at.is_relative_to(folder)][::-1]


def current_mounts() -> list[Mount]:
    with suppress(OSError):
        return parse_mounts(MOUNTS.read_text(encoding="utf-8", errors="surrogateescape"))
    return []


def current_loops() -> list[Loop]:
    """Return the loop devices in use."""
    loops = []
    for entry in LOOPS.glob("loop*/loop/backing_file"):
        with suppress(OSError):  # released in between
            backing_file = entry.read_text(encoding="utf-8", errors="surrogateescape").rstrip("\n")
            loops.append(Loop(f"/dev/{entry.parts[-3]}", Path(backing_file.removesuffix(" (deleted)"))))
    return loops


def cut_power(at: Path) -> None:
    """Shut down an ext4 file system like a power failure: nothing more reaches its device. Raises OSError.

    Takes some milliseconds. Has no effect on a file system without power.
    """
    folder = os.open(at, os.O_RDONLY)
    try:
        fcntl.ioctl(folder, EXT4_IOC_SHUTDOWN, NO_LOG_FLUSH)
    finally:
        os.close(folder)


def unmount(at: Path, timeout_s: float, pause: Callable[[float], None] = time.sleep) -> None:
    """Unmount a folder. Waits while it is busy. Folders without a mount are ignored. Raises OSError."""
    end = time.monotonic() + timeout_s
    while (number := _umount2(at, 0)) == errno.EBUSY and time.monotonic() < end:
        pause(POLL_S)
    if number not in (0, errno.EINVAL, errno.ENOENT):
        raise OSError(number, os.strerror(number), str(at))


def _umount2(at: Path, flags: int) -> int:
    """Unmount, and return the error number; 0 on success."""
    libc = ctypes.CDLL(None, use_errno=True)
    return ctypes.get_errno() if libc.umount2(os.fsencode(at), flags) else 0


def clear(folder: Path, keep: bool) -> bool:
    """Unmount everything in a folder, and remove its images. Returns whether anything was found.

    ``keep``: write the page cache to the disks first, and keep kept images.
    """
    mounts = mounts_below(folder, current_mounts())
    for mount in mounts:
        with suppress(OSError):
            if not keep:
                cut_power(mount.at)  # its data is discarded anyway
        try:
            unmount(mount.at, BUSY_FOR_S)
        except OSError:
            _umount2(mount.at, MNT_DETACH)  # unmounted when the last process closes it
    images = [image for image in folder.glob(f"*/{IMAGE}") if image.is_file()]
    for image in images:
        image.unlink(missing_ok=True)
    return bool(mounts or images)


def command_line(folder: Path, keep: bool) -> list[str]:
    """Return the arguments of a guard for the calling process. Start it with ``start_new_session=True``."""
    line = [sys.executable, "-I", "-S", str(Path(__file__).resolve()), "--parent", str(os.getpid())]
    return [*line, *(["--keep"] if keep else []), str(folder.resolve())]


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="mounts", description="Unmount disks once the parent process is gone.")
    parser.add_argument("--parent", type=int, required=True, metavar="PID", help="the process that starts this guard")
    parser.add_argument("--keep", action="store_true", help="keep the content of the disks")
    parser.add_argument("folder", type=Path)
    options = parser.parse_args(arguments)
    asked: list[int] = []

    def asks(number: int, _frame: FrameType | None) -> None:
        asked.append(number)

    signal.signal(signal.SIGTERM, asks)
    for number in (signal.SIGINT, signal.SIGHUP, signal.SIGQUIT):
        signal.signal(number, signal.SIG_IGN)
    while os.getppid() == options.parent and not asked:
        time.sleep(POLL_S)
    clear(options.folder, options.keep)
    while True:
        time.sleep(SETTLED_S)
        if not clear(options.folder, options.keep):
            return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
