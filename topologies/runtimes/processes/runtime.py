"""Runs brokers as plain processes on this machine: local JVMs on loopback ports, no Docker.

Each broker runs below a guard of its own (processes.guard) in a session of its own: neither the terminal's Ctrl-C nor
the death of the harness leaves it in an unintended state.
"""

import time
from collections.abc import Callable, Iterable
from typing import Any

from records.rundir import RunDirectory
from topologies.model.topology import Topology
from topologies.runtimes.contract import Progress
from topologies.runtimes.own import KILL_TIMEOUT_S, STOP_TIMEOUT_S, OwnBrokers
from topologies.runtimes.prepared import Prepared
from topologies.runtimes.processes.broker import BrokerProcess
from topologies.runtimes.processes.broker_command import prepare
from topologies.runtimes.release import Release, release_of


class ProcessRuntime(OwnBrokers[BrokerProcess]):
    """Brokers as local JVMs. ``release``: the default version if None; further options as `OwnBrokers` has them."""

    name = "processes"

    def __init__(
        self, topology: Topology, directory: RunDirectory, *, release: Release | None = None, **options: Any
    ) -> None:
        super().__init__(topology, directory, **options)
        self._release = release or release_of(topology)

    def _prepare(self, progress: Progress) -> Prepared[BrokerProcess]:
        return prepare(self._topology, self._directory, self._wishes, self._authority, self._release, progress)

    def _end(self, prepared: Prepared[BrokerProcess]) -> None:
        processes = prepared.handles.values()
        if self._wishes.keep_data:
            _end_all(processes, BrokerProcess.terminate, STOP_TIMEOUT_S)
        _end_all(processes, BrokerProcess.kill, KILL_TIMEOUT_S)


def _end_all(processes: Iterable[BrokerProcess], how: Callable[[BrokerProcess], None], timeout_s: float) -> None:
    """All at once, then wait for all within one time limit."""
    ending = list(processes)
    for process in ending:
        how(process)
    end = time.monotonic() + timeout_s
    for process in ending:
        process.wait(max(0.0, end - time.monotonic()))
