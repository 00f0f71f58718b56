"""Declares the files that can be written in addition to a report: their options and the functions that render them.

A renderer is imported when its file is made, so commands that take the options start quickly.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING

from records.errors import RunUnwritable
from records.store.rundir import RunDirectory

if TYPE_CHECKING:
    from reports.inputs import Results


def _junit(results: "Results", report: Path) -> str:
    from reports.run.for_ci import junit

    return junit(results.summary)


def _markdown(results: "Results", report: Path) -> str:
    from reports.run.for_ci import run_markdown

    return run_markdown(results, report)


@dataclass(frozen=True)
class OtherFile:
    """A kind of file. ``help``: help text of the option of `brokerbench report`.

    ``render``: its text, from the results and the path of report.html.
    """

    help: str
    render: Callable[["Results", Path], str]


OTHER_FILES: Mapping[str, OtherFile] = {
    "junit": OtherFile("Also write the checks as JUnit XML.", _junit),
    "markdown": OtherFile("Also write a summary in Markdown.", _markdown),
}
"""By the option that names the file, without the dashes before it. `harness.options.declarations` has them too."""

NO_FILES: Mapping[str, Path] = {}


def named_files(arguments: Mapping[str, Path | None]) -> dict[str, Path]:
    """Return the files that a parsed command line names, in the order of OTHER_FILES.

    ``arguments``: None for options that were not given.
    """
    return {name: path for name in OTHER_FILES if (path := arguments[field_of(name)]) is not None}


def field_of(name: str) -> str:
    """Return the name of a file's option in a parsed command line and in run.json."""
    return name.replace("-", "_")


def require_apart(files: Mapping[str, Path], run: RunDirectory) -> None:
    """Raise RunUnwritable if a file would replace another one, or a file of the run itself.

    ``files``: by their names in OTHER_FILES.
    """
    for (name, path), (further_name, further_path) in combinations(files.items(), 2):
        if path.resolve() == further_path.resolve():
            raise RunUnwritable(f"{path}: --{name} and --{further_name} name the same file: give each a different name")
    files_of_run = {path.resolve() for path in (run.run_path, run.summary_path, run.digests_path, run.report_path)}
    folders = {run.path.resolve() / name for name in ("events", "results", "streams")}
    for path in files.values():
        if path.resolve() in files_of_run or folders & set(path.resolve().parents):
            raise RunUnwritable(f"{path}: is a file of the run itself: give the new file another name")
