"""How do the analysis and the report run? As processes of their own, so that Locust never imports Spark.

Each runs under a guard: it ends when the harness does, however that ends.
"""

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

from records.analysis_command import analysis_command, java_folder
from records.rundir import RunDirectory
from topologies.runtimes import java
from topologies.runtimes.processes import guard

TAIL_LINES = 15
JAVA_STACK = re.compile(r"\s+(at |\.\.\. \d+ more)")


class JobFailed(Exception):
    """The analysis or the report could not be made: names the job, its last lines and its log."""


def analyse(run: RunDirectory, master: str | None, progress: Callable[[str], None]) -> int:
    """Analyse a run; returns the exit status of its verdict (records.summary.EXIT_STATUS). Raises JobFailed."""
    try:
        environment = java.spark_environment(java.find_java(), java_folder(run.path))
    except java.NoJava as error:
        raise JobFailed(f"analysis: {error}") from error
    command = analysis_command(run.path, master)
    return _make(run.summary_path, command, environment, run.path / "logs" / "analysis.log", progress)


def report(run: RunDirectory, progress: Callable[[str], None]) -> None:
    """Write report.html of an analysed run. Raises JobFailed."""
    _make(
        run.report_path,
        [sys.executable, "-m", "reports", str(run.path)],
        {},
        run.path / "logs" / "report.log",
        progress,
    )


def last_words(run: RunDirectory) -> list[str]:
    """What the terminal shows last: the verdict, its reasons and where the report is, as far as there are any."""
    lines = [f"Run:     {run.path}"]
    if run.summary_path.exists():
        summary = json.loads(run.summary_path.read_text(encoding="utf-8"))
        lines += [f"Verdict: {summary['verdict']}", *(f"         {reason}" for reason in summary["reasons"])]
    if run.report_path.exists():
        lines.append(f"Report:  {run.report_path}")
    return lines


def _make(
    result: Path, command: list[str], environment: Mapping[str, str], log: Path, progress: Callable[[str], None]
) -> int:
    """Run a job that writes ``result``. A Python that fails ends with status 1, as a verdict does: the file tells."""
    result.unlink(missing_ok=True)
    status = _run(command, environment, log, progress)
    if not result.exists():
        lines = log.read_text(encoding="utf-8", errors="replace").splitlines()
        said = "\n".join([line for line in lines if not JAVA_STACK.match(line)][-TAIL_LINES:])
        raise JobFailed(f"{result.name} was not written, the job for it ended with status {status}:\n{said}\nsee {log}")
    return status


def _run(command: list[str], environment: Mapping[str, str], log: Path, progress: Callable[[str], None]) -> int:
    """Run a job, passing its standard output on line by line and keeping all that it says in ``log``."""
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("w", encoding="utf-8") as kept:
        job = subprocess.Popen(
            guard.command_line(command),
            env={**os.environ, **environment},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=kept,
            text=True,
            start_new_session=True,
        )
        assert job.stdout is not None
        for line in job.stdout:
            kept.write(line)
            kept.flush()
            progress(line.rstrip())
        return job.wait()
