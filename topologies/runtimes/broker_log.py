"""Reads what a broker logged, in all or since it was last started."""

import os
from pathlib import Path

TAIL_BYTES = 256 * 1024


class BrokerLog:
    """A file that a broker appends to over all its starts."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._began = 0  # where in the file the latest start begins

    def mark_start(self) -> None:
        self._began = self.path.stat().st_size if self.path.exists() else 0

    def lines(self, *, of_this_start: bool = False) -> list[str]:
        """The last lines, at most some TAIL_BYTES of them; none if there is no such file."""
        try:
            with self.path.open("rb") as file:
                size = file.seek(0, os.SEEK_END)
                file.seek(max(self._began if of_this_start else 0, size - TAIL_BYTES))
                return file.read().decode("utf-8", errors="replace").splitlines()
        except OSError:
            return []
