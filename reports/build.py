"""Makes report.html of an analysed run, and other files of it: read, compute, and write each whole or not at all."""

import time
from dataclasses import dataclass
from pathlib import Path

from records.errors import RunUnreadable, RunUnwritable
from records.rundir import RunDirectory
from reports.inputs import Results, read_results, why_changed
from reports.parts.formats import render_page, write_whole
from reports.run.for_ci import junit, run_markdown
from reports.run.page import page


@dataclass(frozen=True)
class OtherFiles:
    """The files to write beside report.html; None: not that one."""

    junit: Path | None = None
    markdown: Path | None = None

    def require_apart(self, run: RunDirectory) -> None:
        """RunUnwritable if one of them would take the place of the other, or of a file that the run itself has."""
        if self.junit is not None and self.markdown is not None and self.junit.resolve() == self.markdown.resolve():
            raise RunUnwritable(f"{self.junit}: --junit and --markdown name one file: give each a name of its own")
        of_run = {path.resolve() for path in (run.run_path, run.summary_path, run.digests_path, run.report_path)}
        folders = {run.path.resolve() / name for name in ("events", "results", "streams")}
        for path in filter(None, (self.junit, self.markdown)):
            if path.resolve() in of_run or folders & set(path.resolve().parents):
                raise RunUnwritable(f"{path}: is a file of the run itself: give the new file a name of its own")

    def rendered(self, results: Results, report: Path) -> list[tuple[Path, str]]:
        """Each path with its text. ``report``: where report.html is."""
        files = []
        if self.junit is not None:
            files.append((self.junit, junit(results.summary)))
        if self.markdown is not None:
            files.append((self.markdown, run_markdown(results, report)))
        return files


NO_OTHERS = OtherFiles()


@dataclass(frozen=True)
class Written:
    """A report and what it cost."""

    path: Path
    size_bytes: int
    took_s: float

    def __str__(self) -> str:
        return f"{self.path}: {self.size_bytes / 1000:,.0f} kB in {self.took_s:.1f} s"


def write_report(run: Path, other_files: OtherFiles = NO_OTHERS) -> Path:
    """Write ``report.html`` into the folder of an analysed run and return its path. Then write ``other_files``.

    RunUnreadable when the run was not analysed or by another version, RunUnwritable when the file cannot be written.
    """
    return write_report_measured(run, other_files).path


def write_report_measured(run: Path, other_files: OtherFiles = NO_OTHERS) -> Written:
    """As `write_report`, and tell size and time."""
    began = time.perf_counter()
    directory = RunDirectory.open(run)
    other_files.require_apart(directory)
    results, path = read_results(run), directory.report_path
    try:
        html, files = render(results), other_files.rendered(results, path)
    except Exception as error:
        if changes := why_changed(directory):  # a file may then hold what no analysis writes
            raise RunUnreadable(f"{run}: no report can be made of it ({type(error).__name__}): {changes}") from error
        raise
    for file, text in ((path, html), *files):
        write_whole(file, text)
    return Written(path, len(html.encode()), time.perf_counter() - began)


def render(results: Results) -> str:
    """The whole page as text: the same results give the same text."""
    return render_page("report.html.j2", page(results))
