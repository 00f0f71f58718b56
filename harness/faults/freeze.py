"""Freezes a broker for a while, like a broker that hangs.

While it is frozen:

    producer ──► broker (process stopped: its sockets stay open, nothing answers) ──► consumer
"""

from dataclasses import dataclass
from typing import ClassVar

from harness.faults.contract import BrokerFault, Probe
from topologies.runtimes.contract import Runtime


@dataclass(frozen=True)
class FreezeBroker(BrokerFault):
    """SIGSTOP for a while, then SIGCONT."""

    kind: ClassVar[str] = "freeze"
    does: ClassVar[str] = "SIGSTOP, then SIGCONT: the sockets stay open and the broker does not answer"

    def begin(self, runtime: Runtime) -> None:
        runtime.pause(self.target)

    def end(self, runtime: Runtime) -> None:
        runtime.resume(self.target)

    def in_effect(self, probe: Probe) -> bool:
        return probe.frozen(self.target)
