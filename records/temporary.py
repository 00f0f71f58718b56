"""Makes temporary folders that go with their process: what a killed one left, the next one clears.

A folder holds a file that its process keeps locked. The system lets go of the lock however the process ends, so a
folder whose file is there and not locked belongs to nobody.
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
"""An empty folder may be just being made; after such a time its process was killed as it began."""

_locks: dict[Path, int] = {}


def make_folder(prefix: str, parent: Path | None = None) -> Path:
    """A new folder of mode 700, until this process ends or `remove_folder`. First clears those of dead processes.

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
    with suppress(OSError):  # a file system without locks: there nobody finds the folder free either
        flock(_locks[folder], LOCK_EX | LOCK_NB)
    draft.rename(folder / LOCK)  # locked before anybody can see it


def remove_folder(folder: Path) -> None:
    """Remove a folder of `make_folder`, if it is still there."""
    shutil.rmtree(folder, ignore_errors=True)
    if (lock := _locks.pop(folder, None)) is not None:
        os.close(lock)


@contextmanager
def temporary_folder(prefix: str, parent: Path | None = None) -> Iterator[Path]:
    """A folder of `make_folder` that is removed at the end."""
    folder = make_folder(prefix, parent)
    try:
        yield folder
    finally:
        remove_folder(folder)


def remove_stale(prefix: str, parent: Path) -> None:
    """Remove this user's folders of that prefix whose processes no longer run."""
    for folder in parent.glob(f"{prefix}*"):
        with suppress(OSError):
            about = folder.lstat()
            if stat.S_ISDIR(about.st_mode) and about.st_uid == os.getuid():
                _remove_if_stale(folder, about.st_mtime)


def _remove_if_stale(folder: Path, changed_s: float) -> None:
    """OSError if it is in use, or not made by `make_folder`, or removed by another process at this moment."""
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
