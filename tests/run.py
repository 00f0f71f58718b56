"""Runs the tests of a tier: `python -m tests.run TIER [ARGUMENTS OF PYTEST]`.

TIER is ``test``, ``rest``, ``all`` or ``nightly``: see `tests.support.tiers.is_of`. Tests that neither start brokers
nor measure run first, on all cores (pytest-xdist). The others follow, one after the other. A test that fails runs once
more (pytest-rerunfailures); if it then passes, pytest's summary lists it as rerun, with its first failure.
"""

import argparse
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from tests.support.tiers import TIERS

DURATIONS = Path(__file__).parent / "support" / "nightly_durations.json"
INTERRUPTED, NOTHING_TO_RUN = 2, 5  # pytest's exit statuses
ALWAYS = ("-v", "-raR", "--durations=30", "--reruns=1", "--rerun-show-tracebacks", "--rerun-except=from pytest-timeout")
PARALLEL = ("-m", "not serial", "--numprocesses=logical", "--dist=loadfile", "--no-loadscope-reorder")
"""The tests of a file stay in one process, so tests that share a Spark session start at most one per process.

Files run in alphabetical order: pytest-xdist would put files with few tests last, but these take longest.
"""
SERIAL = ("-m", "serial")


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.run", description=__doc__.partition("\n")[0])
    parser.add_argument("tier", choices=TIERS)
    parser.add_argument("--part", type=part_options, default=[], help="of the nightly tests: 2/4 is the second of four")
    options, for_pytest = parser.parse_known_args(arguments)
    stages: Sequence[Sequence[str]] = (PARALLEL, SERIAL)
    if options.tier == "nightly":
        stages = ((),)  # nearly all nightly tests start brokers
    statuses = list[int]()
    for stage in stages:
        command = [sys.executable, "-m", "pytest", *ALWAYS, f"--tier={options.tier}", *stage, *options.part]
        statuses.append(subprocess.run([*command, *for_pytest], check=False).returncode)
        if statuses[-1] == INTERRUPTED:
            break
    failed = [status for status in statuses if status not in (0, NOTHING_TO_RUN)]
    if failed and statuses[-1] == 0:
        print("Tests that ran in parallel failed: see the first of the two summaries.", file=sys.stderr)
    return failed[0] if failed else min(statuses)


def part_options(text: str) -> list[str]:
    """What pytest-split takes for ``2/4``, the second of four. Its parts take about equally long, by earlier runs."""
    numbers = re.fullmatch(r"(\d+)/(\d+)", text)
    if not numbers or not 1 <= int(numbers[1]) <= int(numbers[2]):
        raise argparse.ArgumentTypeError(f"{text}: write which part and, after a slash, how many there are: PART=2/4")
    return ["--group", numbers[1], "--splits", numbers[2], "--durations-path", str(DURATIONS)]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
