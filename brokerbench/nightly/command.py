"""Runs a night: makes its runs, updates the history and writes files.

After an interruption, the same command continues.
"""

import sys
from dataclasses import dataclass
from pathlib import Path

from brokerbench.compare.answer import require_folders
from brokerbench.compare.making import PrintLine
from brokerbench.compare.session import lock_session, progress
from brokerbench.errors import sentence
from brokerbench.interrupts import signals_interrupt
from brokerbench.nightly.making import OWN_NIGHT, begin, make_cells, require_own, sessions
from brokerbench.nightly.plan import NightlyPlan
from records.errors import RunUnwritable
from records.verdicts import EXIT_STATUS
from reports.nightly import history
from reports.nightly.build import NightFiles, write
from reports.nightly.judging import Night, NightlyCell, answer, night


@dataclass(frozen=True)
class NightRequest:
    """The request on the command line. ``name``: the night's name. ``history``: the folder of earlier nights."""

    path: Path
    plan: NightlyPlan
    name: str
    runs: Path
    history: Path
    junit: Path | None
    markdown: Path | None

    @property
    def folder(self) -> Path:
        return self.runs / f"nightly-{self.name}"


def run_night(request: NightRequest, print_line: PrintLine) -> Night:
    """Make the missing runs, check all gates, and write the files. Ctrl-C ends the process with status 130."""
    _check(request)
    planned = sessions(request.plan, request.folder)
    require_own(request.folder, planned)
    try:
        with signals_interrupt():
            begin(request.path, request.plan, planned, print_line)
            with lock_session(request.folder, OWN_NIGHT):
                return _judge(request, make_cells(planned, print_line), print_line)
    except KeyboardInterrupt:
        made_so_far = progress([comparison.session for comparison in planned])
        print_line(f"stopped: {made_so_far}; the same command with --night {request.name} continues from here")
        sys.exit(EXIT_STATUS["interrupted"])


def _check(request: NightRequest) -> None:
    if Path(request.name).name != request.name or not request.name.isprintable() or request.folder == request.history:
        raise ValueError(
            f"--night {request.name}: must be the name of a folder, without slashes, but not the history's folder"
        )
    if request.runs.exists() and not request.runs.is_dir():
        raise ValueError(f"--runs {request.runs}: is a file: name a folder")
    if request.history.exists() and not request.history.is_dir():
        raise ValueError(f"--history {request.history}: is a file: name a folder")
    if (
        request.junit is not None
        and request.markdown is not None
        and request.junit.resolve() == request.markdown.resolve()
    ):
        raise ValueError(f"{request.junit}: --junit and --markdown name the same file: give each a different name")
    require_folders(filter(None, (request.junit, request.markdown)))


def _judge(request: NightRequest, cells: list[NightlyCell], print_line: PrintLine) -> Night:
    runs = [run for cell in cells if cell.comparison for arm in cell.comparison.design.arms for run in arm.runs]
    environment = history.environment(runs[0].info) if runs else ""
    judged = night(request.name, request.path.name, cells, environment)
    past_nights = (
        _history(request, cells, environment, print_line)
        if runs
        else history.NightlyHistory(history.SCHEMA.empty_table())
    )
    for path in write(judged, past_nights, NightFiles(request.folder, request.junit, request.markdown)):
        print_line(str(path))
    print_line(f"{judged.color}: {answer(judged)}")
    return judged


def _history(
    request: NightRequest, cells: list[NightlyCell], environment: str, print_line: PrintLine
) -> history.NightlyHistory:
    """Return the history including this night. An unreadable history costs the trend, not the answer."""
    folder = request.history / environment
    try:
        before = history.read(folder)
        for path in before.damaged:
            print_line(f"{path}: this file of the history could not be read; it stays there and is not used")
        if (added := history.append(folder, request.name, cells, before)) is not None:
            print_line(str(added))
        return history.NightlyHistory(history.read(folder).table, before.damaged)
    except (OSError, RunUnwritable) as error:
        print_line(f"no history, so no trend: {sentence(error)}")
        return history.NightlyHistory(history.SCHEMA.empty_table())
