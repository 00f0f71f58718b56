"""Shuts a broker down, like an administrator. It closes its client connections.

Later it is started again. At the shutdown:

    producer ◄── close ── broker (then its process is gone, its ports refuse) ── close ──► consumer
"""

from dataclasses import dataclass
from typing import ClassVar

from harness.faults.contract import BrokerTakenDown
from topologies.runtimes.contract import Runtime


@dataclass(frozen=True)
class StopBroker(BrokerTakenDown):
    """SIGTERM, then a start."""

    kind: ClassVar[str] = "stop"
    does: ClassVar[str] = "the broker is shut down cleanly, and started again after `for` seconds"

    def begin(self, runtime: Runtime) -> None:
        runtime.stop(self.target)
