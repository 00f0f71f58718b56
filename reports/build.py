"""Makes report.html and other files for an analyzed run. Each file is written atomically."""

import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from records.errors import RunUnreadable
from records.store.rundir import RunDirectory
from reports.inputs import Results, read_results, why_changed
from reports.other_files import NO_FILES, OTHER_FILES, require_apart
from reports.parts.formats import render_page, write_whole
from reports.run.page import page


@dataclass(frozen=True)
class Written:
    """A report, its size and the time it took."""

    path: Path
    size_bytes: int
    took_s: float

    def __str__(self) -> str:
        return f"{self.path}: {self.size_bytes / 1000:,.0f} kB in {self.took_s:.1f} s"


def write_report(run: Path, other_files: Mapping[str, Path] = NO_FILES) -> Path:
    """Write ``report.html`` into the folder of an analyzed run and return its path. Then write ``other_files``, each
    by its name in OTHER_FILES.

    RunUnreadable if the run was not analyzed, or by another version; RunUnwritable if the file cannot be written.
    """
    return write_report_measured(run, other_files).path


def write_report_measured(run: Path, other_files: Mapping[str, Path] = NO_FILES) -> Written:
    """Write the report as `write_report` does, and return its size and time."""
    began = time.perf_counter()
    directory = RunDirectory.open(run)
    require_apart(other_files, directory)
    results, path = read_results(run), directory.report_path
    try:
        html = render(results)
        files = [(file, OTHER_FILES[name].render(results, path)) for name, file in other_files.items()]
    except Exception as error:
        if changes := why_changed(directory):  # a changed file may have contents that no analysis writes
            raise RunUnreadable(f"{run}: no report can be made of it ({type(error).__name__}): {changes}") from error
        raise
    for file, text in ((path, html), *files):
        write_whole(file, text)
    return Written(path, len(html.encode()), time.perf_counter() - began)


def render(results: Results) -> str:
    """Return the page as text. Equal results give equal text."""
    return render_page("report.html.j2", page(results))
