"""Stops a broker in order, like an administrator: it says goodbye to its clients. Later it is started again.

producer ◄── goodbye ── broker (then its process is gone, its ports refuse) ── goodbye ──► consumer
"""

from dataclasses import dataclass
from typing import ClassVar

from scenarios.harness.faults.bases import BrokerTakenDown
from topologies.runtimes.contract import Runtime


@dataclass(frozen=True)
class StopBroker(BrokerTakenDown):
    """SIGTERM, then a start. Implements `scenarios.harness.faults.contract.Fault`."""

    kind: ClassVar[str] = "stop"

    def begin(self, runtime: Runtime) -> None:
        runtime.stop(self.target)
