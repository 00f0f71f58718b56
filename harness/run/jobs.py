"""Runs the analysis and the report in separate processes, so that Locust never imports Spark.

Each runs under a guard, which ends the job whenever the harness ends.
"""

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from records.analysis_command import LAST_LINE, SCRATCH, analysis_command, is_local, java_folder
from records.environment import for_job
from records.errors import RunUnreadable, RunUnwritable, UserError, about, explained
from records.files import remove_file
from records.store.run_store import CHECK, STORE, StoreAddress, store_command
from records.store.rundir import RunDirectory
from records.temporary import temporary_folder
from records.verdicts import EXIT_STATUS
from topologies.jvm import java
from topologies.runtimes.processes import guard

TAIL_LINES = 15
DISK_IS_FULL = "; the disk of {} is full: free some space there"
DISK_IS_FULL_BYTES = 1_000_000
JAVA_STACK = re.compile(r"\s+(at |\.\.\. \d+ more)")


class _Follower:
    """Passes the lines of an analysis on, and calls ``written`` once: as soon as all results are written."""

    def __init__(self, results: Sequence[Path], progress: Callable[[str], None], written: Callable[[], None]) -> None:
        self._results, self._progress, self._written = results, progress, written
        self._called = False
        self._error: Exception | None = None

    def line(self, line: str) -> None:
        self._progress(line)
        if line.startswith(LAST_LINE) and all(result.exists() for result in self._results):
            self._call()

    def end(self) -> None:
        """Call ``written`` if no line did, after the analysis has ended. Raises its error, also of the earlier call."""
        self._call()
        if self._error:
            raise self._error

    def _call(self) -> None:
        if not self._called:
            self._called = True
            try:
                self._written()
            except Exception as error:  # the analysis must end first
                self._error = error


def analyse(
    run: RunDirectory,
    master: str | None,
    progress: Callable[[str], None],
    written: Callable[[], None] = lambda: None,
) -> int:
    """Analyse a run, and return the verdict's exit status (`records.verdicts.EXIT_STATUS`). Raises UserError.

    ``written``: called once all results are written, while Spark takes most of a second to stop. Its UserError is
    raised after that.
    """
    with about("analysis: "), _writing(run):
        environment = for_job(os.environ, local=is_local(master))
        environment |= java.spark_environment(java.find_java(), java_folder(run.path))
    command = analysis_command([run.path], master)
    with _writing(run), temporary_folder(SCRATCH) as scratch:
        environment["TMPDIR"] = str(scratch)
        log = run.path / "logs" / "analysis.log"
        again = f"`brokerbench analyse {run.path}` analyzes the run again"
        results = [run.summary_path, run.digests_path]  # in the order in which they are written
        follower = _Follower(results, progress, written)
        status = _make(results, command, environment, log, follower.line, again, remove=[scratch])
    follower.end()
    expected = EXIT_STATUS[run.read_verdict()]
    if status != expected:
        progress(f"analysis: its job wrote all results, but {guard.ending(status)}; see {log}")
    return expected


def report(run: RunDirectory, other_files: Mapping[str, Path], progress: Callable[[str], None]) -> None:
    """Write report.html of an analyzed run, and the files that options name. Raises UserError."""
    arguments = [word for option, path in other_files.items() for word in (option, str(path))]
    with _writing(run):
        _make(
            [run.report_path, *other_files.values()],
            [sys.executable, "-m", "reports", str(run.path), *arguments],
            for_job(os.environ, local=True),
            run.path / "logs" / "report.log",
            progress,
            f"`brokerbench report {run.path}` makes it again",
        )


def require_store(address: StoreAddress) -> None:
    """Raise UserError if S3 does not accept objects there. Takes about a second."""
    why = _use_store(store_command(CHECK, address))
    if why:
        raise UserError(f"--runs {address}: {why}")


def store(run: RunDirectory, address: StoreAddress) -> str:
    """Copy a finished run to S3, and return its URI. Raises UserError; the folder then has everything."""
    if why := _use_store(store_command(STORE, address, [run.path])):
        raise UserError(
            f"the run was not stored at {address}: {why}; {run.path} is complete, and `brokerbench store {run.path} "
            f"{address}` stores it"
        )
    return f"{address}/{run.path.name}"


def _use_store(command: list[str]) -> str:
    """Return the last line of a failed job, or '' if it succeeded."""
    job = subprocess.run(
        guard.command_line(command),
        env=for_job(os.environ, local=True),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        start_new_session=True,
        check=False,
    )
    if job.returncode == 0:
        return ""
    return next(reversed(job.stdout.splitlines()), f"its job {guard.ending(job.returncode)}")


@contextmanager
def _writing(run: RunDirectory) -> Iterator[None]:
    """Raise RunUnwritable for errors of the disk, which may have filled during the load."""
    try:
        yield
    except UserError:
        raise
    except OSError as error:
        why, next_step = explained(error)
        next_step = next_step.replace("run again", f"run `brokerbench analyse {run.path}`")
        raise RunUnwritable(f"{run.path}: its results cannot be written: {why}; {next_step}") from error


def final_lines(run: RunDirectory) -> list[str]:
    """Return the last lines for the terminal: the verdict, its reasons and the path of the report, if any."""
    lines = [f"Run:     {run.path}"]
    try:
        lines += _results(run)
    except RunUnreadable as error:
        lines.append(f"No results: {error}")
    except (OSError, ValueError, KeyError, TypeError):
        lines.append(f"No results: {run.summary_path} cannot be read: run `brokerbench analyse {run.path}`")
    if run.report_path.exists():
        lines.append(f"Report:  {run.report_path}")
    return lines


def _results(run: RunDirectory) -> Iterator[str]:
    if run.summary_path.exists():
        summary = json.loads(run.summary_path.read_text(encoding="utf-8"))
        yield f"Verdict: {summary['verdict']}"
        yield from (f"         {reason}" for reason in summary["reasons"])
        if rate := summary["offered_rate"]["note"]:
            yield f"Rate:    {rate}"
    elif run.read_run().phases.load_began_ns is not None:
        yield f"No results yet: brokerbench analyse {run.path}"


def remove_earlier(files: Iterable[Path]) -> None:
    """Remove files of an earlier run, so that they are not mistaken for this run's. Raises RunUnwritable."""
    for file in files:
        remove_file(file)


def _make(
    results: Sequence[Path],
    command: list[str],
    environment: Mapping[str, str],
    log: Path,
    progress: Callable[[str], None],
    again: str,
    remove: Sequence[Path] = (),
) -> int:
    """Run a job that writes ``results``, and return its exit status. Raises UserError if a result is missing.

    ``again``: how to repeat the job, for that error. ``remove``: folders that the guard removes if this process is
    killed.
    """
    remove_earlier(results)
    status = _run(guard.command_line(command, remove=remove), environment, log, progress)
    missing = [result.name for result in results if not result.exists()]
    if missing:
        lines = log.read_text(encoding="utf-8", errors="replace").splitlines()
        last_lines = "\n".join([line for line in lines if not JAVA_STACK.match(line)][-TAIL_LINES:])
        full = DISK_IS_FULL.format(log.parent) if shutil.disk_usage(log.parent).free < DISK_IS_FULL_BYTES else ""
        what = f"{missing[0]} was not written; its job {guard.ending(status)}{full}"
        raise UserError(f"{what}:\n{last_lines}\nsee {log}; {again}")
    return status


def _run(command: list[str], environment: Mapping[str, str], log: Path, progress: Callable[[str], None]) -> int:
    """Run a job. Its standard output goes line by line to ``progress``; ``log`` gets standard output and error."""
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("w", encoding="utf-8") as log_file:
        job = subprocess.Popen(
            command,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=log_file,
            encoding="utf-8",
            errors="replace",
            start_new_session=True,
        )
        assert job.stdout is not None
        for line in job.stdout:
            log_file.write(line)
            log_file.flush()
            progress(line.rstrip())
        return job.wait()
