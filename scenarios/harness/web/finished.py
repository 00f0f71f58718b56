"""Lists the reports in the folder of runs, newest first."""

import json
from dataclasses import asdict, dataclass
from pathlib import Path

from records.rundir import RunDirectory

SHOWN_AT_MOST = 100


@dataclass(frozen=True)
class FinishedRun:
    """A run with a report. ``verdict``: empty where summary.json does not tell."""

    run_id: str
    verdict: str

    def as_json(self) -> dict[str, object]:
        return asdict(self)


class ReportFolder:
    """The reports of one folder of runs. Nothing outside of it is ever opened."""

    def __init__(self, runs: Path) -> None:
        self._runs = runs
        self._verdicts: dict[tuple[str, int], str] = {}  # by run and when its summary was written

    def finished(self) -> tuple[FinishedRun, ...]:
        """Newest first: a run's name begins with its time."""
        if not self._runs.is_dir():
            return ()
        names = sorted((path.name for path in self._runs.iterdir()), reverse=True)
        found = [name for name in names if self.report(name)][:SHOWN_AT_MOST]
        return tuple(FinishedRun(name, self._verdict(RunDirectory(self._runs / name))) for name in found)

    def report(self, run_id: str) -> Path | None:
        """The report of a run by the name of its folder, or None: no such run, no report yet, or a way out of here."""
        if Path(run_id).name != run_id or "\0" in run_id:
            return None
        directory = RunDirectory(self._runs / run_id)
        report = directory.report_path
        if not (directory.run_path.is_file() and report.is_file()):
            return None
        real = report.resolve()
        return real if real.is_relative_to(self._runs.resolve()) else None

    def _verdict(self, directory: RunDirectory) -> str:
        try:
            written_ns = directory.summary_path.stat().st_mtime_ns
            key = (directory.path.name, written_ns)
            if key not in self._verdicts:
                summary = json.loads(directory.summary_path.read_text(encoding="utf-8"))
                self._verdicts[key] = str(summary["verdict"])
        except (OSError, ValueError, KeyError, TypeError):
            return ""
        return self._verdicts[key]
