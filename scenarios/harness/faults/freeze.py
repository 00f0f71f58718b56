"""What does a broker that hangs do to its clients?

producer ──► broker (stopped where it stands: sockets open, nobody answers) ──► consumer
"""

from dataclasses import dataclass
from typing import ClassVar

from topologies.runtimes.contract import Runtime


@dataclass(frozen=True)
class FreezeBroker:
    """SIGSTOP for a while, then SIGCONT. Implements `scenarios.harness.faults.contract.Fault`."""

    kind: ClassVar[str] = "freeze"

    target: str
    at_s: float
    for_s: float

    def begin(self, runtime: Runtime) -> None:
        runtime.pause(self.target)

    def end(self, runtime: Runtime) -> None:
        runtime.resume(self.target)
