"""Ends the connections of all clients of a broker, like a firewall that was restarted. The broker itself goes on.

client ✗ broker          the clients connect again: to this broker or, as their failover URI says, to another
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

from harness.faults.contract import BrokerFault, Fault, Probe
from topologies.model.topology import Topology
from topologies.runtimes.capabilities import Capability
from topologies.runtimes.contract import Runtime
from topologies.runtimes.own import operations_of


@dataclass(frozen=True)
class DisconnectClients(BrokerFault):
    """By the broker's management. Nothing is left to mend."""

    kind: ClassVar[str] = "disconnect"
    does: ClassVar[str] = "the broker ends the connections of all its clients, by its management, and goes on"
    seconds: ClassVar[Mapping[str, str]] = {}
    needs: ClassVar[tuple[Capability, ...]] = (Capability.OPERATES_BROKERS, Capability.MANAGES_BROKERS)

    for_s: float | None = field(default=0.0, init=False)

    def why_not_in(self, topology: Topology, faults: Sequence[Fault]) -> str:
        entries = list(dict.fromkeys(broker.name for group in topology.groups for broker in group.enter_at))
        return "" if self.target in entries else f"no client enters there; clients enter at {', '.join(entries)}"

    def begin(self, runtime: Runtime) -> None:
        """Returns once the broker shows none of these connections any more."""
        operations_of(runtime).disconnect_clients(self.target)

    def end(self, runtime: Runtime) -> None:
        pass

    def in_effect(self, probe: Probe) -> bool:
        return True
