"""Kills a broker, like a crash: it closes nothing gracefully.

Later it is restarted with its old store. While it is down:

    producer ──✗ broker (its process is gone, its ports refuse) ✗── consumer
"""

from dataclasses import dataclass
from typing import ClassVar

from harness.faults.contract import BrokerTakenDown
from topologies.runtimes.contract import Runtime


@dataclass(frozen=True)
class KillBroker(BrokerTakenDown):
    """SIGKILL, then a start."""

    kind: ClassVar[str] = "kill"
    does: ClassVar[str] = (
        "SIGKILL; after `for` seconds the broker is started again with its old store; with `for=forever` it "
        "never comes back"
    )

    def begin(self, runtime: Runtime) -> None:
        runtime.kill(self.target)
