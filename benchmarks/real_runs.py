"""Makes runs of this project for a benchmark, by Locust and without their analysis, and opens their events."""

import subprocess
import sys
from collections.abc import Collection, Sequence
from pathlib import Path

from records.reader import seal
from records.rundir import RunDirectory
from records.summary import EXIT_STATUS

LOCUST = Path(sys.executable).with_name("locust")


def make_run(locustfile: str, options: Sequence[str], runs: Path) -> tuple[RunDirectory, str]:
    """Make a run on processes, in a folder of runs. Returns it, and what it printed.

    An invalid run is returned too. Raises RuntimeError with the end of what it printed if it could not be made.
    """
    before = set(runs.glob("*"))
    run_options = ["--headless", "--runtime", "processes", "--analyse-later", "--runs", str(runs)]
    command = [str(LOCUST), "-f", locustfile, *run_options, *options]
    process = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    if process.returncode not in (EXIT_STATUS["pass"], EXIT_STATUS["invalid"]):
        raise RuntimeError(f"the run failed with status {process.returncode}:\n{process.stdout[-2_000:]}")
    return opened(runs, before), process.stdout


def opened(runs: Path, before: Collection[Path] = ()) -> RunDirectory:
    """The one run in a folder that was not there before, with its events in the form that is read."""
    (run,) = set(runs.iterdir()).difference(before)
    directory = RunDirectory.open(run)
    seal(directory)
    return directory


def load_ns(directory: RunDirectory) -> tuple[int, int]:
    """When the load of a run that is over began and ended."""
    phases = directory.read_run().phases
    assert phases.load_began_ns is not None
    assert phases.load_ended_ns is not None
    return phases.load_began_ns, phases.load_ended_ns
