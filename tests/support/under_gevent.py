"""Runs tests in a process that gevent has patched, as Locust does before anything else."""

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

PATCHED = "from gevent import monkey; monkey.patch_all(); import pytest, sys; sys.exit(pytest.main(sys.argv[1:]))"
ROOT = Path(__file__).parents[2]


def under_gevent(folder: Path, arguments: Sequence[str], timeout_s: float = 240) -> None:
    """Run pytest on files of ``folder`` in a separate patched process; fails with its last lines."""
    named = [str(folder / argument) if (folder / argument).exists() else argument for argument in arguments]
    command = [sys.executable, "-c", PATCHED, "-q", "-p", "no:cacheprovider", *named]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=timeout_s)
    assert run.returncode == 0, run.stdout[-5_000:] + run.stderr[-2_000:]
    assert " passed" in run.stdout
