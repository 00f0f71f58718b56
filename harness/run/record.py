"""Keeps the record of a run, which grows step by step and is written to the run's folder."""

import logging
import time
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from records.run import RunInfo
from records.store.rundir import RunDirectory

log = logging.getLogger("brokerbench")


class RunRecord:
    """The record of one run. ``info`` is a frozen value: earlier readers keep the earlier value."""

    def __init__(self, directory: RunDirectory, info: RunInfo) -> None:
        self.directory = directory
        self.info = replace(info, run_id=directory.path.name)
        self.began_ns = time.perf_counter_ns()
        self.step_ends_ns: Mapping[str, int] = {}  # monotonic time of the end of each step, in order
        self._step_began_s = time.monotonic()

    @property
    def step_s(self) -> float:
        """Duration of the current step so far."""
        return time.monotonic() - self._step_began_s

    def update(self, **changes: Any) -> None:
        """Set fields of `records.run.RunInfo`."""
        self.info = replace(self.info, **changes)

    def phases(self, **moments_ns: int) -> None:
        """Set timestamps of `records.run.Phases`."""
        self.update(phases=replace(self.info.phases, **moments_ns))

    def ended(self, step: str) -> None:
        """Record the duration of a step. The next step begins now."""
        self.lasted(step, self.step_s)
        self.step_ends_ns = {**self.step_ends_ns, step: time.perf_counter_ns()}
        self._step_began_s = time.monotonic()

    def lasted(self, step: str, duration_s: float) -> None:
        self.update(durations_s={**self.info.durations_s, step: duration_s})

    def problem(self, text: str) -> None:
        """Record a reason that makes the run invalid. Each reason is reported once."""
        if text not in self.info.problems:
            self.update(problems=(*self.info.problems, text))
            log.error("%s", text)

    def unknown(self, *texts: str) -> None:
        """Record facts that could not be established."""
        self.update(unknowns=(*self.info.unknowns, *texts))

    def unsearched(self, *texts: str) -> None:
        """Record places that could not be searched for messages. Missing messages then do not count as lost."""
        self.update(unsearched=(*self.info.unsearched, *texts))

    def unread(self, whys: Mapping[str, str]) -> None:
        """Record durable subscriptions of the run's users that could not be read completely, by their queue names.

        Their own missing messages then do not count as lost.
        """
        self.update(unread={**self.info.unread, **whys})

    def warning(self, text: str) -> None:
        """Record a fact for readers that does not change the verdict."""
        self.update(warnings=(*self.info.warnings, text))

    def write(self) -> None:
        """Write run.json. Raises RunUnwritable."""
        self.directory.write_run(self.info)
