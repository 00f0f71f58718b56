"""Shows the progress of a command that makes many runs: finished runs, the next run, and the expected end.

A log gets plain lines. A terminal also gets a line about the current run, which is rewritten every second.
"""

import shutil
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from statistics import mean
from typing import TextIO

from records.run import RunInfo
from reports.parts.numbers import counted

EVERY_S = 1.0
CLEAR = "\r\x1b[K"


@dataclass
class RunTimes:
    """Durations of this command's runs, in seconds, by comparison and arm."""

    _took_s: dict[tuple[str, str], list[float]] = field(default_factory=dict)

    def add(self, comparison: str, arm: str, took_s: float) -> None:
        self._took_s.setdefault((comparison, arm), []).append(took_s)

    def expected_s(self, comparison: str, arm: str) -> float | None:
        """Return the mean duration of the arm's runs; without any, of the comparison's or of all runs; else None."""
        of_arm = self._took_s.get((comparison, arm), [])
        of_comparison = [took for (name, _), times in self._took_s.items() if name == comparison for took in times]
        every = [took for times in self._took_s.values() for took in times]
        return next((mean(times) for times in (of_arm, of_comparison, every) if times), None)


def duration_text(seconds: float) -> str:
    """Return ``84 s`` or ``12 min``."""
    return f"{seconds:.0f} s" if seconds < 90 else f"{seconds / 60:.0f} min"


def end_text(left_s: float, now: datetime) -> str:
    """Return ``about 84 s left, until 13:45``, with the date if it is another day."""
    return f"about {duration_text(left_s)} left, until {_clock(left_s, now)}"


def _clock(left_s: float, now: datetime) -> str:
    ends = now + timedelta(seconds=left_s)
    return f"{ends:%H:%M}{'' if ends.date() == now.date() else f' on {ends:%Y-%m-%d}'}"


@dataclass(frozen=True)
class UnderWay:
    """Estimates at the beginning of a run.

    ``expected_s``: the run's duration. ``left_s``: the duration of all missing runs, including this one. Both are None
    before the first run. ``following``: the next run; empty if this is the last one.
    """

    expected_s: float | None
    left_s: float | None
    following: str

    def line(self, this_run: str, passed_s: float) -> str:
        """Return the line about the run on a terminal, after ``passed_s``."""
        of_about = f" of about {duration_text(self.expected_s)}" if self.expected_s else ""
        until = f"; all until {_clock(max(self.left_s - passed_s, 0), datetime.now())}" if self.left_s else ""
        following = f"; next: {self.following}" if self.following else ""
        return f"{this_run}: {passed_s:.0f} s{of_about}{until}{following}"


def first_results(info: RunInfo) -> str:
    """Return the counts of a run before its analysis, and the known reasons why it cannot pass."""
    sent = [process.begun for process in info.processes if process.begun is not None]
    received = [process.received for process in info.processes if process.received is not None]
    counts = [f"{counted(sum(sent), 'message')} sent, {sum(received):,} received"] if sent and received else []
    return "; ".join([*counts, *map(str, info.aborts), *info.problems])


@contextmanager
def live_line(line: Callable[[float], str], stream: TextIO | None = None) -> Iterator[None]:
    """Show ``line`` on a terminal while the block runs, and remove it afterwards. Do nothing if it is not a terminal.

    ``line``: returns the text for the seconds since the beginning. ``stream``: standard output by default.
    """
    terminal = stream or sys.stdout
    if not terminal.isatty():
        yield
        return
    over, began_s = threading.Event(), time.monotonic()

    def keep_writing() -> None:
        while not over.is_set():
            text = line(time.monotonic() - began_s)
            terminal.write(CLEAR + text[: shutil.get_terminal_size().columns - 1])
            terminal.flush()
            over.wait(EVERY_S)

    writer = threading.Thread(target=keep_writing, name="progress", daemon=True)
    writer.start()
    try:
        yield
    finally:
        over.set()
        writer.join()
        terminal.write(CLEAR)
        terminal.flush()
