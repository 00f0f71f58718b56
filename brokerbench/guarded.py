"""Runs a command that may not outlive this process, and ends it in order when this process is interrupted."""

import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO

from topologies.runtimes.processes import guard

TEAR_DOWN_S = 60.0


def run_guarded(
    command: Sequence[str],
    *,
    output: IO[str] | None = None,
    env: Mapping[str, str] | None = None,
    remove: Sequence[Path] = (),
) -> int:
    """The exit status. ``output``: where its standard output and error go; None: where ours go.

    What it leaves behind is killed as it ends. A KeyboardInterrupt is passed on as SIGTERM, and raised again once the
    command has ended. ``remove``: folders that go if this process is killed.
    """
    child = subprocess.Popen(
        guard.command_line(command, remove=remove),
        env=None if env is None else dict(env),
        stdin=subprocess.DEVNULL,
        stdout=output,
        stderr=None if output is None else subprocess.STDOUT,
        start_new_session=True,
    )
    try:
        return child.wait()
    finally:
        if child.poll() is None:
            _end(child)


def _end(child: "subprocess.Popen[bytes]") -> None:
    child.terminate()
    try:
        child.wait(TEAR_DOWN_S)
    except subprocess.TimeoutExpired:
        child.kill()  # the guard's end is that of the command, and of all that it started
        child.wait()
