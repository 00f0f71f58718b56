"""Compares recorded pauses of a JVM with the log of its garbage collector, which does not need Java Flight Recorder.

A JVM takes the time of each pause twice, once for the recording and once for the log. On a busy machine it may be
suspended in between, so single durations may differ.
"""

import re
import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from records.figures.profiles import Pause
from records.units import NS_PER_MS

LOG_OPTION = "-Xlog:gc:file={file}:timenanos"
"""Option of a JVM. The times in the log are those of the monotonic clock, like the events of a run."""

LINE = re.compile(r"^\[([0-9]+)ns\] .*Pause .* ([0-9.]+)ms$", re.MULTILINE)
SAME_TIME_NS = 100 * NS_PER_MS
FEWEST = 5
"""Fewer pauses prove little."""


@dataclass(frozen=True)
class LoggedPause:
    ended_ns: int
    lasted_ms: float

    def is_at(self, pause: Pause) -> bool:
        return abs(self.ended_ns - pause.began_ns - pause.duration_ns) < SAME_TIME_NS

    def lasted_like(self, pause: Pause) -> bool:
        recorded_ms = pause.duration_ns / NS_PER_MS
        return abs(self.lasted_ms - recorded_ms) <= 0.2 + 0.1 * self.lasted_ms


def logged_pauses(log: Path) -> list[LoggedPause]:
    return [LoggedPause(int(at), float(ms)) for at, ms in LINE.findall(log.read_text(encoding="utf-8"))]


def require_same_pauses(recorded: Sequence[Pause], processes: Iterable[Sequence[LoggedPause]]) -> None:
    """Assert that the recording has the pauses of each process. ``processes``: the logged pauses of each process.

    A recording begins a second after its process, and a kill loses the last second, so half of a log must be recorded.
    A fifth of the durations may differ.
    """
    logged = [pause for process in processes for pause in process]
    assert FEWEST <= len(recorded) <= len(logged), (recorded, logged)
    for process in processes:
        kept = [line for line in process if any(line.is_at(pause) for pause in recorded)]
        assert 2 * len(kept) >= len(process) > 0, (recorded, process)
    pairs = [(pause, line) for pause in recorded for line in logged if line.is_at(pause)]
    alike = {pause for pause, line in pairs if line.lasted_like(pause)}
    assert 5 * len(alike) >= 4 * len(recorded), (recorded, logged)
    ratios = [pause.duration_ns / NS_PER_MS / line.lasted_ms for pause, line in pairs if line.lasted_like(pause)]
    assert 0.5 < statistics.median(ratios) < 2, (recorded, logged)  # a short pause is like zero
