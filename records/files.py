"""Writes files whole or not at all, and lets one process at a time do something."""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from fcntl import LOCK_EX, LOCK_NB, flock
from pathlib import Path
from time import sleep

from records.errors import RunUnwritable, explained

LOCK_POLL_S = 0.1


def replace_whole(path: Path, write: Callable[[Path], object], *, make_folder: bool = False) -> None:
    """``write`` gets the place of a draft. A reader sees the old file or the new one, never a part. RunUnwritable."""
    unfinished = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        if make_folder:
            path.parent.mkdir(parents=True, exist_ok=True)
        try:
            write(unfinished)
            unfinished.replace(path)
        finally:
            unfinished.unlink(missing_ok=True)
    except OSError as error:
        why, next_step = explained(error)
        raise RunUnwritable(f"{path}: cannot be written: {why}; {next_step}") from None


def remove_file(path: Path) -> None:
    """Remove a file that may be there. RunUnwritable."""
    try:
        path.unlink(missing_ok=True)
    except OSError as error:
        why, next_step = explained(error)
        raise RunUnwritable(f"{path}: cannot be removed: {why}; {next_step}") from None


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
