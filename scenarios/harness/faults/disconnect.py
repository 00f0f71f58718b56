"""Ends the connections of all clients of a broker, like a firewall that was restarted. The broker itself goes on.

client ✗ broker          the clients connect again: to this broker or, as their failover URI says, to another
"""

from dataclasses import dataclass, field
from typing import ClassVar

from scenarios.harness.faults.bases import BrokerFault
from scenarios.harness.faults.contract import Probe
from topologies.runtimes.contract import Runtime
from topologies.runtimes.own import operations_of


@dataclass(frozen=True)
class DisconnectClients(BrokerFault):
    """By the broker's management. Implements `scenarios.harness.faults.contract.Fault`. Nothing is left to mend."""

    kind: ClassVar[str] = "disconnect"
    by_management: ClassVar[bool] = True

    for_s: float | None = field(default=0.0, init=False)

    def begin(self, runtime: Runtime) -> None:
        """Returns once the broker shows none of these connections any more."""
        operations_of(runtime).disconnect_clients(self.target)

    def end(self, runtime: Runtime) -> None:
        pass

    def in_effect(self, probe: Probe) -> bool:
        return True
