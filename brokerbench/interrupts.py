"""Stops child processes gracefully when this process is interrupted.

Signals that end a program raise one KeyboardInterrupt. It is passed on to a command that must not outlive this process.
"""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import IO

from topologies.runtimes.processes import guard

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
TEAR_DOWN_S = 60.0
LEFT_OUT = ("LOCUST_SKIP_MONKEY_PATCH", "PYTHONINSPECT")
"""Environment variables that keep Locust from making a run."""


@contextmanager
def signals_interrupt() -> Iterator[None]:
    """Raise KeyboardInterrupt at the first signal. Later signals are ignored, so nothing interrupts the shutdown."""

    def interrupt(number: int, frame: FrameType | None) -> None:
        for later in SIGNALS:
            signal.signal(later, signal.SIG_IGN)
        raise KeyboardInterrupt

    _let_gevent_pass_it_on()
    before = {number: signal.signal(number, interrupt) for number in SIGNALS}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _let_gevent_pass_it_on() -> None:
    """Keep gevent's hub from printing a stack trace for the interrupt. After Locust's import, waiting uses this hub."""
    if "gevent" in sys.modules:
        from gevent import get_hub

        hub = get_hub()
        hub.NOT_ERROR = (*hub.NOT_ERROR, KeyboardInterrupt)


def run_guarded(
    command: Sequence[str],
    *,
    output: IO[str] | None = None,
    env: Mapping[str, str] | None = None,
    remove: Sequence[Path] = (),
) -> int:
    """Run a command and return its exit status. ``output``: destination of standard output and error; None: inherit.

    When the command ends, processes that it left behind are killed. A KeyboardInterrupt is passed on as SIGTERM, and
    raised again once the command has ended. ``env``: None: inherit. ``remove``: folders that are deleted if this
    process is killed.
    """
    child = subprocess.Popen(
        guard.command_line(command, remove=remove),
        env={name: value for name, value in (env or os.environ).items() if name not in LEFT_OUT},
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
        child.kill()  # the end of the guard also ends the command and all its processes
        child.wait()
