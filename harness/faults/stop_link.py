"""Stops a network connector or a broker connection, as an operator does in the console, and starts it again.

While it is stopped:

    broker ──► connector (stopped: its bridge shuts down) ✗ broker          clients ──► both brokers
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from harness.faults.contract import Fault, LinkFault, Probe
from topologies.model.topology import Topology
from topologies.runtimes.capabilities import Capability
from topologies.runtimes.contract import Runtime
from topologies.runtimes.managed import operations_of


@dataclass(frozen=True)
class StopLink(LinkFault):
    """Stops and starts the link through the management interface of the broker that opens it."""

    kind: ClassVar[str] = "stop-link"
    does: ClassVar[str] = (
        "the network connector or AMQP connection is stopped through the management interface of the broker that opens "
        "it, and started again after `for` seconds"
    )
    needs: ClassVar[tuple[Capability, ...]] = (Capability.OPERATES_BROKERS, Capability.MANAGES_BROKERS)
    through_proxy: ClassVar[bool] = False

    def why_not_in(self, topology: Topology, faults: Sequence[Fault]) -> str:
        return self.why_down(topology) or self.why_not_in_cluster(topology, "stop", "use cut")

    def begin(self, runtime: Runtime) -> None:
        operations_of(runtime).stop_link(self.target)

    def end(self, runtime: Runtime) -> None:
        operations_of(runtime).start_link(self.target)

    def in_effect(self, probe: Probe) -> bool:
        return not probe.link_is_up(self.target)
