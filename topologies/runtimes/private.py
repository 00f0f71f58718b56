"""Keeps a run's passwords in one folder outside the run's, readable by its owner only, and gone with the run.

Passwords are new for every run. Brokers and agents are told the path of a file, never a password. If the harness is
killed, the guards of its brokers remove the folder. At the latest the next run removes it when it makes its own.
"""

import os
import secrets
from dataclasses import dataclass
from pathlib import Path

from records.temporary import make_folder, remove_folder

PREFIX = "brokerbench-private-"
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
        return cls(make_folder(PREFIX, parent))

    def write(self, name: str, content: str | bytes) -> Path:
        """Write a file that only its owner can open at any time. ``name`` may begin with a folder of its own."""
        path = self.path / name
        path.parent.mkdir(mode=0o700, exist_ok=True)
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            file.write(content.encode("utf-8") if isinstance(content, str) else content)
        return path

    def remove(self) -> None:
        remove_folder(self.path)
