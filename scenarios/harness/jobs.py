"""How do the analysis and the report run? As processes of their own, so that Locust never imports Spark.

Each runs under a guard: it ends when the harness does, however that ends.
"""

import os
import re
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

from records.rundir import RunDirectory
from topologies.runtimes import guard, java

TAIL_LINES = 15
JAVA_STACK = re.compile(r"\s+(at |\.\.\. \d+ more)")


class JobFailed(Exception):
    """The analysis or the report could not be made: names the job, its last lines and its log."""


def analyse(run: RunDirectory, master: str | None, progress: Callable[[str], None]) -> int:
    """Analyse a run; returns the exit status of its verdict (records.summary.EXIT_STATUS). Raises JobFailed."""
    arguments = ["-m", "analysis.jobs", str(run.path), *(["--master", master] if master else [])]
    try:
        environment = java.spark_environment(java.find_java(), run.path / "logs" / "java")
    except java.NoJava as error:
        raise JobFailed(f"analysis: {error}") from error
    return _make(run.summary_path, arguments, environment, run.path / "logs" / "analysis.log", progress)


def report(run: RunDirectory, progress: Callable[[str], None]) -> None:
    """Write report.html of an analysed run. Raises JobFailed."""
    _make(run.report_path, ["-m", "reports", str(run.path)], {}, run.path / "logs" / "report.log", progress)


def _make(
    result: Path, arguments: list[str], environment: Mapping[str, str], log: Path, progress: Callable[[str], None]
) -> int:
    """Run a job that writes ``result``. A Python that fails ends with status 1, as a verdict does: the file tells."""
    result.unlink(missing_ok=True)
    status = _run(arguments, environment, log, progress)
    if not result.exists():
        lines = log.read_text(encoding="utf-8", errors="replace").splitlines()
        said = "\n".join([line for line in lines if not JAVA_STACK.match(line)][-TAIL_LINES:])
        raise JobFailed(f"{result.name} was not written, the job for it ended with status {status}:\n{said}\nsee {log}")
    return status


def _run(arguments: list[str], environment: Mapping[str, str], log: Path, progress: Callable[[str], None]) -> int:
    """Run a job, passing its standard output on line by line and keeping all that it says in ``log``."""
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("w", encoding="utf-8") as kept:
        job = subprocess.Popen(
            guard.command_line([sys.executable, *arguments]),
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
