"""Makes a real run as a user does: starts `locust` as a separate process, then reads the run folder."""

import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil
import pyarrow.parquet as pq

REPOSITORY = Path(__file__).resolve().parents[2]
LOCUST = Path(sys.executable).with_name("locust")
TIMEOUT_S = 240


@dataclass(frozen=True)
class RunOutcome:
    """The result of a finished `locust` process: exit status, output, and the folder of its (only) run.

    ``earlier``: what was in ``runs`` before, such as the run of a test that failed and is tried again.
    """

    status: int
    output: str
    runs: Path
    earlier: frozenset[Path] = frozenset()

    @property
    def run(self) -> Path:
        folders = sorted(_entries(self.runs) - self.earlier)
        assert len(folders) == 1, f"{len(folders)} run folders\n{self.output}"
        return folders[0]

    @property
    def summary(self) -> dict[str, Any]:
        path = self.run / "summary.json"
        assert path.exists(), self.output
        summary: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        return summary

    @property
    def info(self) -> dict[str, Any]:
        info: dict[str, Any] = json.loads((self.run / "run.json").read_text(encoding="utf-8"))
        return info

    def events(self, table: str) -> list[dict[str, Any]]:
        return list(pq.read_table(self.run / "events" / table).to_pylist())

    def results(self, table: str) -> list[dict[str, Any]]:
        return list(pq.read_table(self.run / "results" / table).to_pylist())


class LocustRun:
    """One `locust` process while it runs. ``arguments``: without ``--headless`` and ``--runs``, which are added.

    Brokers are processes, even with a Docker engine, unless the arguments have a runtime, an image or memory.
    """

    def __init__(
        self,
        locustfile: str,
        *arguments: str,
        runs: Path,
        env: Mapping[str, str] | None = None,
        headless: bool = True,
        wrapper: Sequence[str] = (),
    ) -> None:
        self.runs, self._earlier = runs, _entries(runs)
        self._log = runs.with_name(f"{runs.name}.log")
        self._output = self._log.open("w", encoding="utf-8")
        named = {"--runtime", "--image", "memory"} & {*arguments}
        runtime = () if named else ("--runtime", "processes")
        all_arguments = (*arguments, *runtime, "--runs", str(runs))
        command = [*wrapper, str(LOCUST), "-f", str(REPOSITORY / locustfile), *all_arguments]
        self.process = subprocess.Popen(
            [*command, "--headless"] if headless else command,
            cwd=runs.parent,
            env={**as_a_user_has_it(), **(env or {})},
            stdin=subprocess.DEVNULL,
            stdout=self._output,
            stderr=subprocess.STDOUT,
        )

    @property
    def output(self) -> str:
        return self._log.read_text(encoding="utf-8", errors="replace")

    def wait_for(self, pattern: str, timeout_s: float = 120) -> None:
        """Wait until a line of the output matches."""
        deadline_s = time.monotonic() + timeout_s
        while not re.search(pattern, self.output):
            assert self.process.poll() is None, f"ended before {pattern!r} was printed:\n{self.output}"
            assert time.monotonic() < deadline_s, f"{pattern!r} was not printed in {timeout_s} s:\n{self.output}"
            time.sleep(0.1)

    def send(self, number: signal.Signals) -> None:
        self.process.send_signal(number)

    def outcome(self, timeout_s: float = TIMEOUT_S) -> RunOutcome:
        """Wait for the end of the process."""
        try:
            status = self.process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            self.process.kill()
            raise AssertionError(f"still running after {timeout_s} s:\n{self.output}") from None
        self._output.close()
        return RunOutcome(status, self.output, self.runs, self._earlier)


def _entries(folder: Path) -> frozenset[Path]:
    return frozenset(folder.iterdir()) if folder.is_dir() else frozenset()


def as_a_user_has_it() -> dict[str, str]:
    """Return the environment without the settings of tests/conftest.py; modules come from this repository."""
    environment = {name: value for name, value in os.environ.items() if name != "LOCUST_SKIP_MONKEY_PATCH"}
    return {**environment, "PYTHONPATH": os.pathsep.join(filter(None, (str(REPOSITORY), os.environ.get("PYTHONPATH"))))}


def make_run(locustfile: str, *arguments: str, runs: Path, env: Mapping[str, str] | None = None) -> RunOutcome:
    """Make a run, and wait for its end."""
    return LocustRun(locustfile, *arguments, runs=runs, env=env).outcome()


def free_port() -> int:
    """Return a free loopback port."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return int(listener.getsockname()[1])


def processes_of(runs: Path) -> list[str]:
    """Return the command lines of all processes for a folder of runs: brokers, guards, analysis, Locust."""
    command_lines = []
    for process in psutil.process_iter(["cmdline", "pid"]):
        line = " ".join(process.info["cmdline"] or ())
        if str(runs) in line and process.pid != os.getpid():
            command_lines.append(f"{process.pid} {line}")
    return command_lines


def nothing_left(runs: Path, within_s: float = 30.0) -> bool:
    """Whether all processes of the runs are gone in time."""
    deadline_s = time.monotonic() + within_s
    while processes_of(runs):
        if time.monotonic() > deadline_s:
            return False
        time.sleep(0.1)
    return True
