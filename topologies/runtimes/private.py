"""Keeps a run's passwords in one folder outside the run's, readable by its owner only, and gone with the run.

Passwords are new for every run. Brokers and agents are told the path of a file, never a password. If the harness is
killed, the guards of its brokers remove the folder. At the latest the next run removes it when it makes its own.
"""

import os
import secrets
import shutil
import tempfile
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import psutil

PREFIX = "brokerbench-private-"
OWNER = "owner"  # file with the pid and the start time of the process that made the folder
PASSWORD_BYTES = 24


def new_password() -> str:
    """Letters, digits, '-' and '_' only: it means the same in a properties file, in XML and in a STOMP header."""
    return secrets.token_urlsafe(PASSWORD_BYTES)


@dataclass(frozen=True)
class PrivateFolder:
    """A folder of mode 700 with files of mode 600."""

    path: Path

    @classmethod
    def create(cls, parent: Path | None = None) -> "PrivateFolder":
        """Make a new one in the system's folder for temporary files. First remove those of dead processes."""
        parent = Path(tempfile.gettempdir()) if parent is None else parent
        remove_stale(parent)
        folder = cls(Path(tempfile.mkdtemp(prefix=PREFIX, dir=parent)))  # mkdtemp makes it for the owner only
        folder.write(OWNER, f"{os.getpid()} {psutil.Process().create_time()}")
        return folder

    def write(self, name: str, content: str | bytes) -> Path:
        """Write a file that only its owner can open at any time. ``name`` may begin with a folder of its own."""
        path = self.path / name
        path.parent.mkdir(mode=0o700, exist_ok=True)
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            file.write(content.encode("utf-8") if isinstance(content, str) else content)
        return path

    def remove(self) -> None:
        shutil.rmtree(self.path, ignore_errors=True)


def remove_stale(parent: Path) -> None:
    """Remove this user's private folders of processes that no longer run."""
    for folder in parent.glob(f"{PREFIX}*"):
        with suppress(OSError):
            if folder.stat().st_uid == os.getuid() and _abandoned(folder):
                shutil.rmtree(folder, ignore_errors=True)


def _abandoned(folder: Path) -> bool:
    """A folder without its owner's file may be just being made: it is left alone."""
    try:
        pid, began = (folder / OWNER).read_text(encoding="ascii").split()
        return psutil.Process(int(pid)).create_time() != float(began)
    except psutil.NoSuchProcess:
        return True
    except (OSError, ValueError):
        return False
