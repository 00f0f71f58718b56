"""Writes files whole or not at all, and lets one process at a time do something."""

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
    """``write`` gets the place of a draft. A reader sees the old file or the new one, never a part. RunUnwritable.

    A link stays a link: the file that it leads to is replaced. A device, such as /dev/stdout, is written to.
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
    """Whether it is no place for a file but a terminal, a pipe or the like, which nobody may replace or remove."""
    of_the_system = path.is_absolute() and path.parts[1:2] in (("dev",), ("proc",)) and path.parts[2:3] != ("shm",)
    return of_the_system or (path.exists() and not path.is_file() and not path.is_dir())


def _behind_links(path: Path) -> Path:
    """Raises OSError for links that lead to themselves."""
    try:
        return path.resolve() if path.is_symlink() else path
    except RuntimeError:
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP)) from None


def remove_file(path: Path) -> None:
    """Remove a file that may be there, or the one that a link leads to; a device stays. RunUnwritable."""
    try:
        if not is_device(path):
            _behind_links(path).unlink(missing_ok=True)
    except OSError as error:
        why, next_step = explained(error)
        raise RunUnwritable(f"{path}: cannot be replaced: {why}; {next_step}") from None


@contextmanager
def locked(file: Path) -> Iterator[None]:
    """One process at a time, polled: a lock waited for in the kernel would stop every greenlet of this process."""
    file.parent.mkdir(parents=True, exist_ok=True)
    with file.open("w") as lock:
        while True:
            try:
                flock(lock, LOCK_EX | LOCK_NB)
                break
            except BlockingIOError:
                sleep(LOCK_POLL_S)
        yield  # the lock goes with its file


@contextmanager
def alone_in(folder: Path, doing: str) -> Iterator[None]:
    """Holds the folder's lock, which goes with this process. RunUnwritable if another process is ``doing`` the same."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        try:
            flock(descriptor, LOCK_EX | LOCK_NB)
        except BlockingIOError:
            raise RunUnwritable(f"{folder}: another process is {doing} it at this moment: wait for its end") from None
        except OSError:
            pass  # a file system without locks costs only the guard
        yield
    finally:
        os.close(descriptor)
