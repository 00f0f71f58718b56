"""Closes all client connections of a broker, like a firewall that was restarted.

The broker keeps running:

    client ✗ broker          the clients reconnect to this broker or to another one of their failover URI
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

from harness.faults.contract import BrokerFault, Fault, Probe
from topologies.model.topology import Topology
from topologies.runtimes.capabilities import Capability
from topologies.runtimes.contract import Runtime
from topologies.runtimes.managed import operations_of


@dataclass(frozen=True)
class DisconnectClients(BrokerFault):
    """Closes the connections through the broker's management interface. There is nothing to mend."""

    kind: ClassVar[str] = "disconnect"
    does: ClassVar[str] = (
        "the broker closes all client connections, through its management interface, and keeps running"
    )
    seconds: ClassVar[Mapping[str, str]] = {}
    needs: ClassVar[tuple[Capability, ...]] = (Capability.OPERATES_BROKERS, Capability.MANAGES_BROKERS)

    for_s: float | None = field(default=0.0, init=False)

    def why_not_in(self, topology: Topology, faults: Sequence[Fault]) -> str:
        entries = list(dict.fromkeys(broker.name for group in topology.groups for broker in group.enter_at))
        return "" if self.target in entries else f"no client connects there; clients connect to {', '.join(entries)}"

    def begin(self, runtime: Runtime) -> None:
        """Return once the broker no longer lists any of these connections."""
        operations_of(runtime).disconnect_clients(self.target)

    def end(self, runtime: Runtime) -> None:
        pass

    def in_effect(self, probe: Probe) -> bool:
        return True
