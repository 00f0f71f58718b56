"""Makes runs for a benchmark with Locust, without their analysis, and opens their events."""

import subprocess
import sys
from collections.abc import Collection, Sequence
from pathlib import Path

from records.store.reader import seal
from records.store.rundir import RunDirectory
from records.verdicts import EXIT_STATUS

LOCUST = Path(sys.executable).with_name("locust")


def make_run(locustfile: str, options: Sequence[str], runs: Path) -> tuple[RunDirectory, str]:
    """Make a run on broker processes in the folder ``runs``. Return the run and its output.

    An invalid run is returned, too. If the run fails, raises RuntimeError with the end of its output.
    """
    before = set(runs.glob("*"))
    run_options = ["--headless", "--runtime", "processes", "--analyse-later", "--runs", str(runs)]
    command = [str(LOCUST), "-f", locustfile, *run_options, *options]
    process = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    if process.returncode not in (EXIT_STATUS["pass"], EXIT_STATUS["invalid"]):
        raise RuntimeError(f"the run failed with status {process.returncode}:\n{process.stdout[-2_000:]}")
    return opened(runs, before), process.stdout


def opened(runs: Path, before: Collection[Path] = ()) -> RunDirectory:
    """Return the only new run in the folder, after sealing its events for reading."""
    (run,) = set(runs.iterdir()).difference(before)
    directory = RunDirectory.open(run)
    seal(directory)
    return directory


def load_ns(directory: RunDirectory) -> tuple[int, int]:
    """Return the times when the load of a finished run began and ended."""
    phases = directory.read_run().phases
    assert phases.load_began_ns is not None
    assert phases.load_ended_ns is not None
    return phases.load_began_ns, phases.load_ended_ns
