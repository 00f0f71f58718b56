"""Finds stored runs by name, and analyzes them with Spark in a separate process."""

import os
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import IO

from brokerbench.interrupts import run_guarded
from records.analysis_command import SCRATCH, analysis_command, is_local, is_uri, java_folder, why_no_master
from records.environment import for_job
from records.errors import RunUnreadable, RunUnwritable, UserError, explained
from records.store.reader import require_begun
from records.store.rundir import RunDirectory
from records.temporary import temporary_folder
from records.verdicts import CANNOT_ANALYSE, EXIT_STATUS, GRAVEST_FIRST
from topologies.jvm.java import find_java, spark_environment
from topologies.runtimes.processes import guard

LATEST = "latest"
S3 = re.compile("^s3://")


def find_runs(names: Sequence[str], parent: Path) -> list[RunDirectory | str]:
    """Return the runs with these names. Raises RunUnreadable.

    URIs are returned unchanged, except that s3:// becomes s3a://, which is the name of Spark's file system.
    """
    return [S3.sub("s3a://", name) if is_uri(name) else find_run(name, parent) for name in names]


def find_run(text: str, parent: Path) -> RunDirectory:
    """Return the run that ``text`` names. Raises RunUnreadable."""
    if text == LATEST:
        return latest(parent)
    below = parent / text
    return RunDirectory.open(below if below.is_dir() and not Path(text).is_dir() else Path(text))


def latest(parent: Path) -> RunDirectory:
    """Return the newest run below ``parent``, as run ids begin with the time. RunUnreadable if there is none."""
    runs = sorted(file.parent for file in parent.glob("*/run.json"))
    if not runs:
        raise RunUnreadable(f"{parent}: has no runs yet: make one with `make bench`, or name the folder with --runs")
    return RunDirectory(runs[-1])


def analyse(runs: Sequence[RunDirectory | str], master: str | None, output: IO[str] | None = None) -> int:
    """Analyse runs in one Spark session.

    ``runs``: folders, or URIs of folders. ``output``: where to write the progress; None: standard output.

    Returns the exit status of the worst verdict, or 2 if a run could not be analyzed. Raises ValueError, also for a
    single run that never began, and for an invalid master.
    """
    if master and (why := why_no_master(master)):
        raise ValueError(f"--master {master}: {why}")
    folders = [run for run in runs if isinstance(run, RunDirectory)]
    stored = len(folders) < len(runs)
    if not stored and len(runs) == 1:  # with several runs, the others are analyzed
        require_begun(folders[0])  # before the start of Spark, which takes seconds
    before = [_written_ns(run.digests_path) for run in folders]
    command = analysis_command([run if isinstance(run, str) else run.path for run in runs], master)
    with temporary_folder(SCRATCH) as scratch:
        java = _java(folders[0]) if folders else spark_environment(find_java(), scratch / "java")
        environment = for_job(os.environ, local=is_local(master) and not stored) | java | {"TMPDIR": str(scratch)}
        environment["PYTHONIOENCODING"] = f"{sys.stdout.encoding}:backslashreplace"  # it writes to our terminal
        status = run_guarded(command, output=output, env=environment, remove=[scratch])
    if status == CANNOT_ANALYSE:  # the analysis has printed the reason
        return status
    for run, earlier_ns in zip(folders, before, strict=True):
        if _written_ns(run.digests_path) == earlier_ns:
            raise UserError(
                f"{run.path}: the analysis {guard.ending(status)}, before it had written all results: see its output "
                "above, and repeat this command"
            )
    if stored:  # it ends with the status of the gravest verdict, and with CANNOT_ANALYSE after an error
        if status not in EXIT_STATUS.values():
            raise UserError(f"the analysis {guard.ending(status)}: see its output above, and repeat this command")
        return status
    return min((EXIT_STATUS[run.read_verdict()] for run in folders), key=GRAVEST_FIRST.index)


def _java(run: RunDirectory) -> dict[str, str]:
    """Return the environment variables that select Spark's Java."""
    try:
        return spark_environment(find_java(), java_folder(run.path))
    except OSError as error:
        why, next_step = explained(error)
        raise RunUnwritable(
            f"{run.path}: the analysis writes there, and cannot ({why}): {next_step}, such as a copy of it"
        ) from None


def _written_ns(path: Path) -> int | None:
    """Return when the file was written: an analysis writes its list of digests last.

    A crash and a failed check both exit with 1: only the file shows which.
    """
    return path.stat().st_mtime_ns if path.exists() else None
