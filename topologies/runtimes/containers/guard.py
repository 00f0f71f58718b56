"""Ensures that no container outlives its run: a watchdog removes everything with the run's label, however it ends.

    harness ──starts──► guard ──(SIGTERM: the run closes │ the harness is gone)──► engine: remove containers, network

``python guard.py --parent PID --engine unix://… --run TOKEN [--stop-first] [--remove FOLDER]...`` must be started by
process PID itself, before anything is created. On SIGTERM, or once process PID is gone, it removes every container and
network with the label ``brokerbench.run=TOKEN``, then the folders named by ``--remove``. With ``--stop-first`` it lets
the brokers shut down first if the run ends in order. It ignores Ctrl-C and hang-ups: the harness handles them. Exit
status 0: nothing is left; 1: started by another process; 3: the engine did not remove everything.

Standard library only, and no gevent: the guard must not depend on the run that it watches.
"""

import argparse
import http.client
import json
import os
import shutil
import signal
import socket
import sys
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from types import FrameType
from typing import Any
from urllib.parse import quote, urlsplit

RUN_LABEL = "brokerbench.run"
POLL_S = 0.2
ANSWER_TIMEOUT_S = 30.0
STOP_TIMEOUT_S = 15
CLOSING_LIMIT_S = 20.0
ENGINE_GONE_LIMIT_S = 2.0  # an orderly close does not wait longer for an engine that does not answer
QUIET_S = 1.0  # after a crash: containers that the engine was just creating appear within this time
LEFT_OVER = 3
DOCKER_PORT = 2375
READY = "watching"  # printed once signals are handled: the parent process waits for it


class Removal:
    """Removes everything with a run's label from an engine (``unix:///path`` or ``tcp://host:port``)."""

    def __init__(self, engine: str, run: str) -> None:
        self._engine = engine
        self._filters = quote(json.dumps({"label": [f"{RUN_LABEL}={run}"]}))

    def clean_once(self, *, stop_first: bool = False) -> bool:
        """Make one pass; True if nothing was left. Raises OSError if the engine does not answer."""
        containers = [str(part["Id"]) for part in self._ask("GET", f"/containers/json?all=1&filters={self._filters}")]
        if containers:
            with ThreadPoolExecutor(len(containers)) as pool:
                list(pool.map(lambda name: self._remove_container(name, stop_first), containers))
        networks = [str(part["Id"]) for part in self._ask("GET", f"/networks?filters={self._filters}")]
        for network in networks:
            self._ask("DELETE", f"/networks/{network}")
        return not containers and not networks

    def until_nothing_is_left(self, *, quiet_s: float, refusal_limit_s: float, stop_first: bool = False) -> bool:
        """Repeat until nothing was found for ``quiet_s``; False if that takes too long or no engine answers."""
        began = last_seen = answered = time.monotonic()
        while time.monotonic() - began < CLOSING_LIMIT_S + STOP_TIMEOUT_S * stop_first:
            try:
                nothing = self.clean_once(stop_first=stop_first)
                answered = time.monotonic()
                last_seen = last_seen if nothing else answered
                if nothing and answered - last_seen >= quiet_s:
                    return True
            except (OSError, ValueError, http.client.HTTPException):  # no answer, or an invalid one
                if time.monotonic() - answered > refusal_limit_s:
                    return False
            time.sleep(POLL_S / 4)
        return False

    def _remove_container(self, container: str, stop_first: bool) -> None:
        if stop_first:
            self._ask("POST", f"/containers/{container}/stop?t={STOP_TIMEOUT_S}")
        self._ask("DELETE", f"/containers/{container}?force=1&v=1")

    def _ask(self, method: str, path: str) -> Any:
        """Return the answer's JSON; None for requests other than GET. The next pass retries failed removals."""
        with closing(connection_to(self._engine, ANSWER_TIMEOUT_S)) as connection:
            connection.request(method, path)
            response = connection.getresponse()
            body = response.read()
        if method == "GET" and response.status != http.HTTPStatus.OK:
            raise OSError(f"{path}: {response.status} {body[:200]!r}")
        return json.loads(body) if method == "GET" else None


class UnixConnection(http.client.HTTPConnection):
    """HTTP over a socket file."""

    def __init__(self, path: str, timeout_s: float) -> None:
        super().__init__("localhost", timeout=timeout_s)
        self._path, self._timeout_s = path, timeout_s

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self._timeout_s)
        self.sock.connect(self._path)


def connection_to(engine: str, timeout_s: float) -> http.client.HTTPConnection:
    """Return a connection to an engine at ``unix:///path`` or ``tcp://host:port``, not yet opened."""
    where = urlsplit(engine)
    if where.scheme == "unix":
        return UnixConnection(where.path, timeout_s)
    return http.client.HTTPConnection(where.hostname or "127.0.0.1", where.port or DOCKER_PORT, timeout=timeout_s)


def command_line(engine: str, run: str, *, stop_first: bool = False, remove: Sequence[Path] = ()) -> list[str]:
    """Return the arguments of a guard for the calling process; start it with ``start_new_session=True``."""
    line = [sys.executable, "-I", "-S", str(Path(__file__).resolve()), "--parent", str(os.getpid())]
    line += ["--engine", engine, "--run", run, *(["--stop-first"] if stop_first else [])]
    for folder in remove:
        line += ["--remove", str(folder)]
    return line


def main(arguments: Sequence[str]) -> int:
    options = _parse(arguments)
    closing_time = _signals()
    print(READY, flush=True)
    if os.getppid() != options.parent:
        print(f"container guard: process {options.parent} is gone or did not start this guard", file=sys.stderr)
        return 1
    while os.getppid() == options.parent and not closing_time():
        time.sleep(POLL_S)
    removal = Removal(options.engine, options.run)
    if os.getppid() == options.parent:
        gone = removal.until_nothing_is_left(
            quiet_s=0, refusal_limit_s=ENGINE_GONE_LIMIT_S, stop_first=options.stop_first
        )
    else:
        gone = removal.until_nothing_is_left(quiet_s=QUIET_S, refusal_limit_s=CLOSING_LIMIT_S)
    for folder in options.remove:
        shutil.rmtree(folder, ignore_errors=True)
    return 0 if gone else LEFT_OVER


def _parse(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="container_guard", description="Remove a run's containers when it ends.")
    parser.add_argument("--parent", type=int, required=True, metavar="PID", help="the process that starts this guard")
    parser.add_argument("--engine", required=True, metavar="URL", help="unix:///path or tcp://host:port")
    parser.add_argument("--run", required=True, metavar="TOKEN", help=f"value of the label {RUN_LABEL}")
    parser.add_argument("--stop-first", action="store_true", help="let brokers shut down when the run closes in order")
    parser.add_argument("--remove", type=Path, action="append", default=[], metavar="FOLDER")
    return parser.parse_args(arguments)


def _signals() -> Callable[[], bool]:
    """Return a function that reports whether SIGTERM was received. Signals from a terminal are ignored."""
    received: list[int] = []

    def note(number: int, _frame: FrameType | None) -> None:
        received.append(number)

    signal.signal(signal.SIGTERM, note)
    for number in (signal.SIGINT, signal.SIGHUP, signal.SIGQUIT):
        signal.signal(number, signal.SIG_IGN)
    return lambda: bool(received)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
