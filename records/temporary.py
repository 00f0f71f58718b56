"""Makes temporary folders, and removes the folders of processes that have ended.

A folder contains a file that its process keeps locked. The system releases the lock however the process ends, so a
folder whose file exists and is not locked belongs to no process. If a process ends without removing its folder, the
next process that makes a folder with the same prefix removes it.
"""

import os
import shutil
import stat
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from fcntl import LOCK_EX, LOCK_NB, flock
from pathlib import Path

LOCK = "lock"
UNFINISHED_FOR_S = 3600.0
"""An empty folder may have just been created; after this time, its process was killed as it began."""

_locks: dict[Path, int] = {}


def make_folder(prefix: str, parent: Path | None = None) -> Path:
    """Make a new folder of mode 700, which lasts until this process ends or calls `remove_folder`. First removes stale
    ones.

    ``parent``: None is the system's folder for temporary files.
    """
    parent = Path(tempfile.gettempdir()) if parent is None else parent
    remove_stale(prefix, parent)
    folder = Path(tempfile.mkdtemp(prefix=prefix, dir=parent))
    try:
        _lock(folder)
    except BaseException:
        remove_folder(folder)
        raise
    return folder


def _lock(folder: Path) -> None:
    draft = folder / f".{LOCK}"
    _locks[folder] = os.open(draft, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
    with suppress(OSError):  # on a file system without locks, no process finds the folder unlocked either
        flock(_locks[folder], LOCK_EX | LOCK_NB)
    draft.rename(folder / LOCK)  # locked before other processes can see it


def remove_folder(folder: Path) -> None:
    """Remove a folder made by `make_folder`, if it still exists."""
    shutil.rmtree(folder, ignore_errors=True)
    if (lock := _locks.pop(folder, None)) is not None:
        os.close(lock)


@contextmanager
def temporary_folder(prefix: str, parent: Path | None = None) -> Iterator[Path]:
    """Make a folder with `make_folder`, and remove it at the end."""
    folder = make_folder(prefix, parent)
    try:
        yield folder
    finally:
        remove_folder(folder)


def remove_stale(prefix: str, parent: Path) -> None:
    """Remove this user's folders with that prefix whose processes no longer run."""
    for folder in parent.glob(f"{prefix}*"):
        with suppress(OSError):
            about = folder.lstat()
            if stat.S_ISDIR(about.st_mode) and about.st_uid == os.getuid():
                _remove_if_stale(folder, about.st_mtime)


def _remove_if_stale(folder: Path, changed_s: float) -> None:
    """Raise OSError if the folder is in use, was not made by `make_folder`, or is just being removed by another
    process."""
    try:
        lock = os.open(folder / LOCK, os.O_RDWR | os.O_NOFOLLOW)
    except FileNotFoundError:
        if time.time() - changed_s > UNFINISHED_FOR_S:
            (folder / f".{LOCK}").unlink(missing_ok=True)
            folder.rmdir()
        return
    try:
        flock(lock, LOCK_EX | LOCK_NB)
        shutil.rmtree(folder, ignore_errors=True)
    finally:
        os.close(lock)
