"""Removes containers and networks: a run's guard removes the run's, and the next run removes those of dead harnesses.

Everything that a run creates on the engine is labeled with the run and with the process that created it. A process is
identified by the machine's boot id, its pid namespace, its pid, and its start time in clock ticks since the boot:
unlike a time of day, this does not change when the clock is set.
"""

import os
import subprocess
import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from topologies.runtimes.containers import guard as container_guard
from topologies.runtimes.containers.engine import FAILURES, Engine, EngineTrouble, client_of, explain_failure
from topologies.runtimes.containers.guard import LEFT_OVER, RUN_LABEL, Removal
from topologies.runtimes.contract import Progress
from topologies.runtimes.handle import has_ended, pause

PROC = Path("/proc")
START_FIELD = 19  # in /proc/PID/stat after the name: the 22nd field of the line


@dataclass(frozen=True)
class Owner:
    """A process. ``boot`` and ``namespace`` identify the machine and the pid namespace of ``pid``."""

    boot: str
    namespace: str
    pid: int
    started_ticks: int

    def __str__(self) -> str:
        return f"{self.boot}/{self.namespace}/{self.pid}/{self.started_ticks}"

    @classmethod
    def parse(cls, text: str) -> "Owner":
        """Parse the text of an owner. Raises ValueError."""
        boot, namespace, pid, started = text.split("/")
        return cls(boot, namespace, int(pid), int(started))


def this_process(proc: Path = PROC) -> Owner:
    boot = (proc / "sys" / "kernel" / "random" / "boot_id").read_text(encoding="ascii").strip()
    namespace = str((proc / "self" / "ns" / "pid").readlink()).strip("pid:[]")
    return Owner(boot, namespace, os.getpid(), started_ticks(os.getpid(), proc) or 0)


def started_ticks(pid: int, proc: Path = PROC) -> int | None:
    """Return the start time of a process; None if no process has that pid, or if it is a zombie."""
    with suppress(OSError, ValueError, IndexError):
        stat = (proc / str(pid) / "stat").read_text(encoding="utf-8", errors="replace")
        fields = stat.rpartition(")")[2].split()  # the name before it may contain anything
        return None if fields[0] in "ZX" else int(fields[START_FIELD])
    return None


def is_dead(owner: Owner, here: Owner, proc: Path = PROC) -> bool:
    """Return whether ``owner`` has certainly ended, seen from the process ``here`` on the engine's machine.

    After a reboot every owner has ended. Processes in another namespace are not visible, so they count as alive.
    """
    if owner.boot != here.boot:
        return True
    return owner.namespace == here.namespace and started_ticks(owner.pid, proc) != owner.started_ticks


OWNER_LABEL = "brokerbench.owner"
RUN_ID_LABEL = "brokerbench.run-id"
BROKER_LABEL = "brokerbench.broker"
ENGINE_GONE_LIMIT_S = 2.0
STATUS_LIMIT_S = 1.0


def labels(token: str, run_id: str) -> dict[str, str]:
    """Return the labels of a run's objects. ``token`` is unique on every engine; ``run_id`` names the run folder."""
    return {RUN_LABEL: token, RUN_ID_LABEL: run_id, OWNER_LABEL: str(this_process())}


class ContainerWatchdog:
    """The watchdog process of a run's containers, ready on return. ``remove``: folders to remove after the run."""

    def __init__(self, engine: Engine, token: str, *, stop_first: bool, remove: Sequence[Path]) -> None:
        self.engine, self.token = engine, token
        self._process = subprocess.Popen(
            container_guard.command_line(engine.host, token, stop_first=stop_first, remove=remove),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            cwd="/",
            start_new_session=True,
        )
        assert self._process.stdout is not None
        self._process.stdout.readline()  # before this line it would miss a request to remove anything
        self._process.stdout.close()

    def finish(self) -> bool:
        """Remove everything and wait for it; False if the engine does not do it.

        May be called again, from any thread or handler.
        """
        if not has_ended(self._process.pid):
            with suppress(ProcessLookupError):
                self._process.terminate()
        while not has_ended(self._process.pid):  # it has its own time limit
            pause()
        end = time.monotonic() + STATUS_LIMIT_S
        while self._process.poll() is None and time.monotonic() < end:
            pause()
        if self._process.returncode in (0, None, LEFT_OVER):  # None: in a signal handler the status is unknown
            return self._process.returncode != LEFT_OVER
        own = Removal(self.engine.host, self.token)  # the guard was killed: do its work here
        return own.until_nothing_is_left(quiet_s=0, refusal_limit_s=ENGINE_GONE_LIMIT_S)


def explain_lost_engine(host: str) -> str:
    """Return a sentence about an engine that went away while its brokers were in use."""
    return f"the Docker engine at {host} no longer answers, so this run's brokers are lost: start it, then run again"


def left_behind(host: str, token: str) -> str:
    """Return a sentence about containers and networks that the engine did not remove."""
    label = f"label={RUN_LABEL}={token}"
    return (
        f"this run's containers and network are left on the Docker engine at {host}, which did not remove them: "
        f"the next run in containers removes them if the engine answers (docker ps --all --filter {label} lists them)"
    )


def remove_leftovers(engine: Engine, progress: Progress) -> None:
    """Remove the containers and networks of dead harnesses. Raises EngineTrouble."""
    for token in sorted(abandoned(_labels_on(engine), this_process())):
        progress(f"removing the containers that run {token} left when its harness was killed")
        if not Removal(engine.host, token).until_nothing_is_left(quiet_s=0, refusal_limit_s=ENGINE_GONE_LIMIT_S):
            raise EngineTrouble(
                f"containers of an earlier run on the Docker engine cannot be removed; "
                f"docker ps --all --filter label={RUN_LABEL}={token} lists them: remove them by hand"
            )


def abandoned(all_labels: Iterable[Mapping[str, str]], here: Owner) -> set[str]:
    """Return the tokens of runs with a dead harness, from the labels of containers and networks on the engine."""
    tokens = set()
    for labels in all_labels:
        with suppress(KeyError, ValueError):  # not ours, or from a version with other labels
            token, owner = labels[RUN_LABEL], Owner.parse(labels[OWNER_LABEL])
            if is_dead(owner, here):
                tokens.add(token)
    return tokens


def _labels_on(engine: Engine) -> list[dict[str, str]]:
    """Return the labels of all containers and networks that brokerbench created."""
    ours = {"label": [OWNER_LABEL]}
    try:
        with client_of(engine.host) as client:
            parts = [*client.api.containers(all=True, filters=ours), *client.api.networks(filters=ours)]
    except FAILURES as error:
        raise EngineTrouble(explain_failure(error, engine.host)) from error
    return [dict(part.get("Labels") or {}) for part in parts]
