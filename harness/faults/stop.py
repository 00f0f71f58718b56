"""Stops a broker in order, like an administrator: it says goodbye to its clients. Later it is started again.

producer ◄── goodbye ── broker (then its process is gone, its ports refuse) ── goodbye ──► consumer
"""

from dataclasses import dataclass
from typing import ClassVar

from harness.faults.contract import BrokerTakenDown
from topologies.runtimes.contract import Runtime


@dataclass(frozen=True)
class StopBroker(BrokerTakenDown):
    """SIGTERM, then a start."""

    kind: ClassVar[str] = "stop"
    does: ClassVar[str] = "the broker is asked to shut down, and started again after `for` seconds"

    def begin(self, runtime: Runtime) -> None:
        runtime.stop(self.target)
