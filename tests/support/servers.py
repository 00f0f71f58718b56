"""Runs a server program on loopback for as long as a test needs it."""

import os
import socket
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from tests.support.waiting import until
from topologies.runtimes.processes import guard

START_S = 60.0
STOP_S = 20.0


@contextmanager
def running(
    command: Sequence[str | Path], log: Path, serves: Callable[[], bool], environment: Mapping[str, str] | None = None
) -> Iterator[None]:
    """Start a program and wait until it serves. It has ended after the block, and ends with this process.

    ``environment``: variables in addition to the variables of this process.
    """
    with log.open("w") as output:
        process = subprocess.Popen(
            guard.command_line(command),
            env={**os.environ, **(environment or {})},
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    try:
        until(serves, START_S)
        yield
    finally:
        process.terminate()
        try:
            process.wait(STOP_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def listens(port: int) -> bool:
    """Whether a server accepts connections at a port of the loopback interface."""
    try:
        socket.create_connection(("127.0.0.1", port), 1.0).close()
    except OSError:
        return False
    return True
