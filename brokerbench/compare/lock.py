"""Keeps two commands from making the runs of one session at once: each would make those that the other is making."""

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

ANOTHER_SESSION = "name another session by --session"


def require_free(folder: Path, instead: str = ANOTHER_SESSION) -> None:
    """ValueError if another process is inside. ``folder`` need not exist."""
    if folder.is_dir():
        with only_one(folder, instead):
            pass


@contextmanager
def only_one(folder: Path, instead: str = ANOTHER_SESSION) -> Iterator[None]:
    """ValueError if another process is inside. The kernel lets go of it when a process ends, however it ends."""
    with (folder / ".lock").open("w", encoding="utf-8") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise ValueError(
                f"{folder}: another command makes these runs at this moment: wait for its end, or {instead}"
            ) from None
        yield
