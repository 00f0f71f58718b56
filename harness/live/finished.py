"""Lists the reports in the folder of runs, newest first, with their verdicts.

A verdict is read once per analysis, together with all files that the analysis listed. Only a few runs are read at a
time, as this process may be running a load.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from records.figures.summary import SUMMARY_VERSION
from records.store.digests import changed_after_analysis
from records.store.rundir import RunDirectory

SHOWN_AT_MOST = 100
READ_AT_ONCE = 5
CHANGED = "changed after the analysis"


@dataclass(frozen=True)
class FinishedRun:
    """A run with a report. ``verdict``: empty if summary.json does not have it, or was not read yet."""

    run_id: str
    verdict: str


class ReportFolder:
    """The reports in one folder of runs. Files outside the folder are never opened."""

    def __init__(self, runs: Path) -> None:
        self._runs = runs
        self._verdicts: dict[tuple[str, ...], str] = {}  # by run, and the times when its files were written

    def finished(self) -> tuple[FinishedRun, ...]:
        """Return the runs, newest first, as a run's name begins with its time."""
        if not self._runs.is_dir():
            return ()
        names = sorted((path.name for path in self._runs.iterdir()), reverse=True)
        run_ids = [name for name in names if self.report(name)][:SHOWN_AT_MOST]
        keys = {name: (name, *_written(RunDirectory(self._runs / name))) for name in run_ids}
        for name in [name for name in run_ids if keys[name] not in self._verdicts][:READ_AT_ONCE]:
            self._verdicts[keys[name]] = _verdict(RunDirectory(self._runs / name))
        return tuple(FinishedRun(name, self._verdicts.get(keys[name], "")) for name in run_ids)

    def report(self, run_id: str) -> Path | None:
        """Return the report of a run by its folder's name; None if it does not exist or is outside the folder."""
        if Path(run_id).name != run_id or "\0" in run_id:
            return None
        directory = RunDirectory(self._runs / run_id)
        report = directory.report_path
        if not (directory.run_path.is_file() and report.is_file()):
            return None
        real = report.resolve()
        return real if real.is_relative_to(self._runs.resolve()) else None


def _written(directory: RunDirectory) -> Iterator[str]:
    """Yield the times when the files next to the tables were written; '' for a missing file."""
    for path in (directory.run_path, directory.summary_path, directory.digests_path):
        try:
            yield str(path.stat().st_mtime_ns)
        except OSError:
            yield ""


def _verdict(directory: RunDirectory) -> str:
    try:
        summary = json.loads(directory.summary_path.read_text(encoding="utf-8"))
        verdict = str(summary["verdict"])
        listed = summary.get("summary_version") == SUMMARY_VERSION or directory.digests_path.exists()
        return CHANGED if listed and changed_after_analysis(directory) else verdict
    except (OSError, ValueError, KeyError, TypeError):
        return ""
