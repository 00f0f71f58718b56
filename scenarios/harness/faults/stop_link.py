"""Stops a network connector or a broker connection, as an operator does in the console, and starts it again.

broker ──► connector (stopped: its bridge ends in order) ✗ broker          clients ──► both brokers
"""

from dataclasses import dataclass
from typing import ClassVar

from scenarios.harness.faults.bases import LinkFault
from scenarios.harness.faults.contract import Probe
from topologies.runtimes.contract import Runtime
from topologies.runtimes.own import operations_of


@dataclass(frozen=True)
class StopLink(LinkFault):
    """By management of the broker that opens the link. Implements `scenarios.harness.faults.contract.Fault`."""

    kind: ClassVar[str] = "stop-link"
    by_management: ClassVar[bool] = True
    through_proxy: ClassVar[bool] = False

    def begin(self, runtime: Runtime) -> None:
        operations_of(runtime).stop_link(self.target)

    def end(self, runtime: Runtime) -> None:
        operations_of(runtime).start_link(self.target)

    def in_effect(self, probe: Probe) -> bool:
        return not probe.link_is_up(self.target)
