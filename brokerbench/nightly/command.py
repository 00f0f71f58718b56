"""Runs a night: its runs, its history and its files. What one stop left out, the same command makes."""

import sys
from dataclasses import dataclass
from pathlib import Path

from brokerbench.compare.answer import require_folders
from brokerbench.compare.making import Say
from brokerbench.compare.session import kept, only_one
from brokerbench.errors import sentence
from brokerbench.interrupts import signals_interrupt
from brokerbench.nightly.making import OWN_NIGHT, begin, made, require_own, sessions
from brokerbench.nightly.plan import Plan
from records.errors import RunUnwritable
from records.summary import EXIT_STATUS
from reports.nightly import history
from reports.nightly.build import NightFiles, write
from reports.nightly.judging import Cell, Night, answer, night


@dataclass(frozen=True)
class Asked:
    """What the command line asks for. ``name``: of the night; ``history``: the folder of earlier nights."""

    path: Path
    plan: Plan
    name: str
    runs: Path
    history: Path
    junit: Path | None
    markdown: Path | None

    @property
    def folder(self) -> Path:
        return self.runs / f"nightly-{self.name}"


def a_night(asked: Asked, say: Say) -> Night:
    """Makes the runs that are missing, judges all of them, writes the files. Ends with status 130 at Ctrl-C."""
    _check(asked)
    planned = sessions(asked.plan, asked.folder)
    require_own(asked.folder, planned)
    try:
        with signals_interrupt():
            begin(asked.path, asked.plan, planned, say)
            with only_one(asked.folder, OWN_NIGHT):
                return _told(asked, made(planned, say), say)
    except KeyboardInterrupt:
        made_so_far = kept([each.session for each in planned])
        say(f"stopped: {made_so_far}; the same command with --night {asked.name} goes on from there")
        sys.exit(EXIT_STATUS["interrupted"])


def _check(asked: Asked) -> None:
    if Path(asked.name).name != asked.name or not asked.name.isprintable() or asked.folder == asked.history:
        raise ValueError(f"--night {asked.name}: must be the name of a folder, without slashes, and not the history's")
    if asked.runs.exists() and not asked.runs.is_dir():
        raise ValueError(f"--runs {asked.runs}: is a file: name a folder")
    if asked.history.exists() and not asked.history.is_dir():
        raise ValueError(f"--history {asked.history}: is a file: name a folder")
    if asked.junit is not None and asked.markdown is not None and asked.junit.resolve() == asked.markdown.resolve():
        raise ValueError(f"{asked.junit}: --junit and --markdown name one file: give each a name of its own")
    require_folders(filter(None, (asked.junit, asked.markdown)))


def _told(asked: Asked, cells: list[Cell], say: Say) -> Night:
    runs = [run for cell in cells if cell.comparison for arm in cell.comparison.design.arms for run in arm.runs]
    environment = history.environment(runs[0].info) if runs else ""
    found = night(asked.name, asked.path.name, cells, environment)
    known = _history(asked, cells, environment, say) if runs else history.History(history.SCHEMA.empty_table())
    for path in write(found, known, NightFiles(asked.folder, asked.junit, asked.markdown)):
        say(str(path))
    say(f"{found.colour}: {answer(found)}")
    return found


def _history(asked: Asked, cells: list[Cell], environment: str, say: Say) -> history.History:
    """The history with this night in it. One that cannot be had costs the trend, not the answer."""
    folder = asked.history / environment
    try:
        before = history.read(folder)
        for path in before.damaged:
            say(f"{path}: a file of the history that could not be read; it is kept under this name, and not used")
        if (added := history.append(folder, asked.name, cells, before)) is not None:
            say(str(added))
        return history.History(history.read(folder).table, before.damaged)
    except (OSError, RunUnwritable) as error:
        say(f"no history, so no trend: {sentence(error)}")
        return history.History(history.SCHEMA.empty_table())
