"""Defines how a run handles a broker, or Toxiproxy, in a process and in a container alike."""

from pathlib import Path
from typing import Protocol


class Handle(Protocol):
    """One program, however it is run. `start` returns at once; `alive` and the log tell what becomes of it."""

    @property
    def log(self) -> Path: ...
    @property
    def alive(self) -> bool: ...
    @property
    def pid(self) -> int | None: ...
    @property
    def exit_status(self) -> int | None: ...
    def start(self) -> None: ...
    def terminate(self) -> None: ...
    def kill(self) -> None:
        """Does not wait. May be called at any moment, anywhere, and for one that is gone."""

    def freeze(self) -> bool:
        """False when it does not run."""

    def thaw(self) -> bool: ...
    def wait(self, timeout_s: float) -> bool:
        """Wait until it is gone; False when it still is there after ``timeout_s``."""

    def discard(self) -> None:
        """It was started while the run closed: end it at once."""

    def log_lines(self, *, of_this_start: bool = False) -> list[str]: ...
