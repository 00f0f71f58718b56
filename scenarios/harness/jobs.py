"""How do the analysis and the report run? As processes of their own, so that Locust never imports Spark.

Each runs under a guard: it ends when the harness does, however that ends.
"""

import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

from topologies.runtimes import guard, java

TAIL_LINES = 15


class JobFailed(Exception):
    """The analysis or the report could not be made: names the job, its last lines and its log."""


def analyse(run: Path, master: str | None, progress: Callable[[str], None]) -> int:
    """Analyse a run; returns the exit status of its verdict (records.summary.EXIT_STATUS). Raises JobFailed."""
    arguments = ["-m", "analysis.jobs", str(run), *(["--master", master] if master else [])]
    folder = run / "logs" / "java"
    environment = java.spark_environment(java.find_java(), folder)
    return _run("analysis", arguments, environment, run / "logs" / "analysis.log", progress)


def report(run: Path, progress: Callable[[str], None]) -> None:
    """Write report.html of an analysed run. Raises JobFailed."""
    if _run("report", ["-m", "reports.build", str(run)], {}, run / "logs" / "report.log", progress) != 0:
        raise JobFailed(f"report: not written; see {run / 'logs' / 'report.log'}")


def _run(
    name: str, arguments: list[str], environment: Mapping[str, str], log: Path, progress: Callable[[str], None]
) -> int:
    """Run a job, passing its standard output on line by line and keeping all of it in ``log``."""
    log.parent.mkdir(parents=True, exist_ok=True)
    command = guard.command_line([sys.executable, *arguments])
    with log.open("w", encoding="utf-8") as kept:
        job = subprocess.Popen(
            command,
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
            progress(f"{name}: {line.rstrip()}")
        status = job.wait()
    if status == 2 or status not in (0, 1, 3, 4, 130):
        raise JobFailed(f"{name}: ended with status {status}\n{_tail(log)}\nAll of it is in {log}")
    return status


def _tail(log: Path) -> str:
    return "\n".join(log.read_text(encoding="utf-8", errors="replace").splitlines()[-TAIL_LINES:])
