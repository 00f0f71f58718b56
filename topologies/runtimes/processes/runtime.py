"""Runs brokers as plain processes on this machine: local JVMs on loopback ports, no Docker.

Each broker runs below a guard of its own (processes.guard) in a session of its own: neither the terminal's Ctrl-C nor
the death of the harness leaves it in an unintended state.
"""

import time
from collections.abc import Callable, Iterable

from topologies.runtimes.contract import Progress
from topologies.runtimes.own import KILL_TIMEOUT_S, STOP_TIMEOUT_S, OwnBrokers
from topologies.runtimes.prepared import Prepared
from topologies.runtimes.processes.broker import BrokerProcess
from topologies.runtimes.processes.broker_command import prepare


class ProcessRuntime(OwnBrokers[BrokerProcess]):
    """Brokers as local JVMs."""

    name = "processes"

    def _prepare(self, progress: Progress) -> Prepared[BrokerProcess]:
        return prepare(self._topology, self._directory, self._wishes, self._authority, progress)

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
