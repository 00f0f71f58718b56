"""Controls a broker in a container: Testcontainers creates it once; later the engine sends it signals."""

import re
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil
from docker.errors import APIError, NotFound
from testcontainers.core.container import DockerContainer
from testcontainers.core.exceptions import ContainerConnectException, ContainerStartException
from testcontainers.core.network import Network

from topologies.model.launch import ProductLaunch, Programs
from topologies.runtimes.containers import engine as docker_engine
from topologies.runtimes.containers.engine import FAILURES, Engine, EngineTrouble, explain_failure
from topologies.runtimes.containers.image import Image
from topologies.runtimes.handle import BrokerLog, pause
from topologies.runtimes.ports import port_in_use

EVERYWHERE = "0.0.0.0"  # inside a container; its ports are published only on chosen addresses of this machine


@dataclass(frozen=True)
class ContainerContext:
    """What all containers of a run share. ``labels``: the run's guard finds by them what to remove."""

    engine: Engine
    image: Image
    launch: ProductLaunch
    programs: Programs
    network: Network
    names: Mapping[str, str]  # broker -> its host name on the network
    labels: Mapping[str, str]

    def options(self, log_file: Path, *labels: tuple[str, str]) -> dict[str, Any]:
        """Return the settings of every container. ``log_file``: its path inside. ``labels``: additional labels."""
        return {
            "entrypoint": ["/bin/sh", "-c", log_redirect(log_file), "broker"],
            "labels": {**self.labels, **dict(labels)},
            "user": self.engine.user,
            "userns_mode": self.engine.userns_mode,
            "security_opt": ["label=disable"],  # files are mounted from folders with SELinux labels of other programs
        }


def log_redirect(log_file: Path) -> str:
    """Return the shell line that makes the container write its log, so that the log is complete if the harness dies."""
    return f'exec "$@" >>{log_file} 2>&1'


ASK_AGAIN_S = 1.0
NOTICE_LIMIT_S = 5.0  # time for the engine to notice what happened to a process

CONTAINER_INIT = "init"
"""The last argument of `runc init` and similar programs, before they become the container's command."""

PORT_REFUSED = re.compile(r"(\d+\.\d+\.\d+\.\d+):(\d+).*(?:already in use|already allocated)")


class BrokerContainer:
    """A broker of a run; each start reuses the same container, with its ports, data and log.

    ``description`` is the broker's name in errors. ``command`` is the end of the process's command line, which confirms
    that a pid on this machine is the right process.
    """

    def __init__(
        self, description: str, container: DockerContainer, command: Sequence[str], *, log: Path, host: str
    ) -> None:
        self._description, self._container, self._command, self._host = description, container, list(command), host
        self._created = self._asked_to_end = False
        self._process: psutil.Process | None = None  # None if the engine's processes are not visible from here
        self._asked_s, self._answered = 0.0, True
        self._log = BrokerLog(log)
        self.log = log

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {self._description} pid={self.pid} alive={self.alive}>"

    def start(self) -> None:
        """Return once the engine has started it; the log and `alive` show what happens to the broker."""
        self._log.mark_start()
        self._asked_to_end = False
        try:
            if self._created:
                self._await_engine()
                self._engine_container.start()
            else:
                self._container.start()
                self._created = True
            self._process = self._process_here()
        except (*FAILURES, ContainerConnectException, ContainerStartException) as error:
            if not self._created:
                self.discard()
            raise EngineTrouble(f"{self._description} cannot be started: {self._why(error)}") from error

    @property
    def alive(self) -> bool:
        """False also if the engine is gone, so that the state is unknown."""
        if not self._created or not self.engine_answers:
            return False
        if self._process is not None:
            return _runs(self._process)
        return bool(self._state().get("Running"))

    @property
    def engine_answers(self) -> bool:
        """Checked at most once per second, because `alive` is called often."""
        if time.monotonic() - self._asked_s >= ASK_AGAIN_S:
            self._asked_s = time.monotonic()
            self._answered = docker_engine.answers(self._host)
        return self._answered

    @property
    def pid(self) -> int | None:
        """Its pid on this machine, if the engine runs its processes here."""
        return self._process.pid if self._process is not None and _runs(self._process) else None

    @property
    def exit_status(self) -> int | None:
        self._await_engine()
        state = self._state()
        return None if state.get("Running") or "ExitCode" not in state else int(state["ExitCode"])

    @property
    def is_leaving(self) -> bool:
        """Whether it was asked to shut down and has not been started since."""
        return self._asked_to_end

    def terminate(self) -> None:
        """Send SIGTERM to the broker. A frozen broker is thawed first, so that it receives the signal."""
        if self.thaw():
            self._asked_to_end = True
            self._signal("SIGTERM")

    def kill(self) -> None:
        """Send SIGKILL, also to a frozen broker. Does not wait."""
        if self._created:
            self._signal("SIGKILL")

    def freeze(self) -> bool:
        """Freeze the broker and return True; return False if it is not running.

        Sends a signal to its only process, because the engine's own pause fails on busy machines.
        """
        return self.alive and self._signal("SIGSTOP")

    def thaw(self) -> bool:
        return self.alive and self._signal("SIGCONT")

    def wait(self, timeout_s: float) -> bool:
        """Wait until it is gone, also for the engine; False if it is still there after ``timeout_s``."""
        end = time.monotonic() + timeout_s
        while self.alive or self._state().get("Running"):
            if time.monotonic() >= end:
                return False
            pause()
        return True

    def discard(self) -> None:
        """Remove the container at once, whether it is running, incomplete or already gone."""
        with suppress(*FAILURES, ContainerStartException):
            self._container.get_wrapped_container().remove(force=True, v=True)

    def kill_process(self) -> None:
        """Kill it without the engine if possible: its processes belong to this user."""
        if self._process is not None:
            with suppress(psutil.Error):
                self._process.kill()

    def log_lines(self, *, of_this_start: bool = False) -> list[str]:
        lines = self._log.lines(of_this_start=of_this_start)
        if not self._answered:
            lines.append(f"the Docker engine at {self._host} no longer answers: start it again, then repeat the run")
        return lines

    @property
    def _engine_container(self) -> Any:
        return self._container.get_wrapped_container()

    def _state(self) -> dict[str, Any]:
        """Return the engine's data on the container; empty once the container or the engine is gone."""
        try:
            self._engine_container.reload()
        except FAILURES:
            return {}
        return dict(self._engine_container.attrs["State"])

    def _process_here(self) -> psutil.Process | None:
        """Return the broker's process. At first the engine may report one of the engine's processes, so this waits."""
        end = time.monotonic() + NOTICE_LIMIT_S
        with suppress(psutil.Error):
            process = psutil.Process(int(self._state().get("Pid") or 0))
            while time.monotonic() < end:
                line = process.cmdline()
                if line[-len(self._command) :] == self._command:
                    return process
                if line and line[-1] != CONTAINER_INIT:
                    return None
                pause()
        return None

    def _await_engine(self) -> None:
        """Wait until the engine has noticed the end of the process; until then it does not start it again."""
        end = time.monotonic() + NOTICE_LIMIT_S
        while not self.alive and self._state().get("Running") and time.monotonic() < end:
            pause()

    def _why(self, error: Exception) -> str:
        if refused := PORT_REFUSED.search(str(error)):
            return f"{port_in_use(int(refused.group(2)), refused.group(1))}. End that process or choose other ports"
        return explain_failure(error, self._host)

    def _signal(self, name: str) -> bool:
        """Send a signal; return False without a process. Raises EngineTrouble if the engine fails."""
        try:
            self._engine_container.kill(name)
        except FAILURES as error:
            if isinstance(error, NotFound) or (isinstance(error, APIError) and "is not running" in str(error)):
                return False
            raise EngineTrouble(f"{self._description}: {explain_failure(error, self._host)}") from error
        return True


def _runs(process: psutil.Process) -> bool:
    """Return whether it is still the same process, and not a zombie."""
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.Error:
        return False
