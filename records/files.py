"""Writes files atomically, and provides locks between processes."""

import errno
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from fcntl import LOCK_EX, LOCK_NB, flock
from pathlib import Path
from time import sleep

from records.errors import RunUnwritable, explained

LOCK_POLL_S = 0.1


def replace_whole(path: Path, write: Callable[[Path], object], *, make_folder: bool = False) -> None:
    """Replace a file with the draft that ``write`` makes at the path it receives. Raises RunUnwritable.

    A reader sees the old file or the new one, never a part of one. A symbolic link stays: the file that it points to is
    replaced. A device, such as /dev/stdout, is written to.
    """
    try:
        if is_device(path):
            write(path)
            return
        place = _behind_links(path)
        if make_folder:
            place.parent.mkdir(parents=True, exist_ok=True)
        unfinished = place.with_name(f".{place.name}.{os.getpid()}")
        try:
            write(unfinished)
            unfinished.replace(place)
        finally:
            unfinished.unlink(missing_ok=True)
    except OSError as error:
        why, next_step = explained(error)
        raise RunUnwritable(f"{path}: cannot be written: {why}; {next_step}") from None


def is_device(path: Path) -> bool:
    """Whether the path is a device, such as a terminal or a pipe, which must not be replaced or removed."""
    of_the_system = path.is_absolute() and path.parts[1:2] in (("dev",), ("proc",)) and path.parts[2:3] != ("shm",)
    return of_the_system or (path.exists() and not path.is_file() and not path.is_dir())


def _behind_links(path: Path) -> Path:
    """Return the file that a symbolic link points to. Raises OSError for links that point to themselves."""
    try:
        return path.resolve() if path.is_symlink() else path
    except RuntimeError:
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP)) from None


def remove_file(path: Path) -> None:
    """Remove the file if it exists, or the file that a link points to; a device stays. Raises RunUnwritable."""
    try:
        if not is_device(path):
            _behind_links(path).unlink(missing_ok=True)
    except OSError as error:
        why, next_step = explained(error)
        raise RunUnwritable(f"{path}: cannot be replaced: {why}; {next_step}") from None


@contextmanager
def locked(file: Path) -> Iterator[None]:
    """Let one process at a time in. Polls, as a lock awaited in the kernel would stop every greenlet of this
    process."""
    file.parent.mkdir(parents=True, exist_ok=True)
    with file.open("w") as lock:
        while True:
            try:
                flock(lock, LOCK_EX | LOCK_NB)
                break
            except BlockingIOError:
                sleep(LOCK_POLL_S)
        yield  # closing the file releases the lock


@contextmanager
def exclusive_lock(folder: Path, doing: str) -> Iterator[None]:
    """Hold the folder's lock, which this process's end releases. RunUnwritable if another process is ``doing`` the
    same."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        try:
            flock(descriptor, LOCK_EX | LOCK_NB)
        except BlockingIOError:
            raise RunUnwritable(f"{folder}: another process is {doing} it now: wait until it ends") from None
        except OSError:
            pass  # a file system without locks only loses the guard
        yield
    finally:
        os.close(descriptor)
