"""How is a stored run analysed from the command line? By Spark, in a process of its own that talks to this terminal."""

import os
import subprocess
import sys
from pathlib import Path

from records.rundir import RunDirectory
from records.summary import EXIT_STATUS
from topologies.runtimes.java import find_java, spark_environment

UNUSABLE = 2  # the analysis has said why


class AnalysisFailed(RuntimeError):
    """The analysis ended without a verdict."""


def command(run: Path, master: str | None) -> list[str]:
    return [sys.executable, "-m", "analysis.jobs", str(run), *(["--master", master] if master else [])]


def analyse(run: RunDirectory, master: str | None) -> int:
    """The exit status of the verdict, or 2 when the run could not be analysed. Raises AnalysisFailed or NoJava."""
    java = spark_environment(find_java(), run.path / "logs" / "java")
    before = _written_ns(run.summary_path)
    status = subprocess.run(command(run.path, master), env={**os.environ, **java}, stdin=subprocess.DEVNULL).returncode
    if status != UNUSABLE and (status not in EXIT_STATUS.values() or _written_ns(run.summary_path) == before):
        raise AnalysisFailed(
            f"{run.path}: the analysis ended with status {status} and no verdict: what it said is above"
        )
    return status


def _written_ns(path: Path) -> int | None:
    """A Python that fails ends with status 1, as a failed check does: only the file tells them apart."""
    return path.stat().st_mtime_ns if path.exists() else None
