"""How is a stored run analysed from the command line? By Spark, in a process of its own that talks to this terminal."""

import os
import subprocess
from pathlib import Path

from records.analysis_command import analysis_command, java_folder
from records.rundir import RunDirectory
from records.summary import EXIT_STATUS
from topologies.runtimes.java import find_java, spark_environment

UNUSABLE = 2  # the analysis has said why


class AnalysisFailed(RuntimeError):
    """The analysis ended without a verdict."""


def analyse(run: RunDirectory, master: str | None) -> int:
    """The exit status of the verdict, or 2 when the run could not be analysed. Raises AnalysisFailed or NoJava."""
    java = spark_environment(find_java(), java_folder(run.path))
    before = _written_ns(run.summary_path)
    status = subprocess.run(
        analysis_command(run.path, master), env={**os.environ, **java}, stdin=subprocess.DEVNULL
    ).returncode
    if status != UNUSABLE and (status not in EXIT_STATUS.values() or _written_ns(run.summary_path) == before):
        raise AnalysisFailed(
            f"{run.path}: the analysis ended with status {status} and no verdict: what it said is above"
        )
    return status


def _written_ns(path: Path) -> int | None:
    """A Python that fails ends with status 1, as a failed check does: only the file tells them apart."""
    return path.stat().st_mtime_ns if path.exists() else None
