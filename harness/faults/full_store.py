"""Makes a broker's store full for a while, as if messages had filled the disk.

Later the old limit is restored. While the store is full:

    producer ──► broker (its store is over its limit: it accepts no durable messages and blocks producers) ──► consumer
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from harness.faults.contract import BrokerFault, Fault, Probe
from topologies.management.contract import management_of
from topologies.model.topology import Topology
from topologies.runtimes.capabilities import Capability
from topologies.runtimes.contract import Runtime
from topologies.runtimes.managed import operations_of

FULL_PERCENT = 100


@dataclass(frozen=True)
class FullStore(BrokerFault):
    """Lowers the store's limit through the broker's management interface."""

    kind: ClassVar[str] = "full-store"
    does: ClassVar[str] = (
        "the limit of a Classic broker's store is lowered, through management, below the size of the stored "
        "data, and restored after `for` seconds: producer flow control holds durable messages back"
    )
    needs: ClassVar[tuple[Capability, ...]] = (Capability.OPERATES_BROKERS, Capability.MANAGES_BROKERS)
    mended_as: ClassVar[str] = "has room in its store again"
    not_mended_as: ClassVar[str] = "did not have room in its store"

    def why_not_in(self, topology: Topology, faults: Sequence[Fault]) -> str:
        """Reject a standby, too: it stores nothing until another fault has taken its active broker down."""
        if management_of(topology).store_limit is None:
            return (
                f"the store limit of {topology.product.name} brokers cannot be changed while they run; use "
                "freeze, which holds producers back too, or a topology of another product"
            )
        broker = topology.broker(self.target)
        if broker.store is None:
            return (
                "it keeps messages in memory only (persistence: null), so it has no store to fill; "
                "leave persistence out"
            )
        active = broker.standby_of
        earlier = {fault.target for fault in faults if fault.takes_down and fault.at_s < self.at_s}
        if active and active not in earlier:
            return f"it is a standby, so it stores nothing; choose {active}, or kill {active} before"
        return ""

    def begin(self, runtime: Runtime) -> None:
        operations_of(runtime).lower_store_limit(self.target)

    def end(self, runtime: Runtime) -> None:
        operations_of(runtime).restore_store_limit(self.target)

    def in_effect(self, probe: Probe) -> bool:
        percent = probe.store_percent(self.target)
        return percent is not None and percent >= FULL_PERCENT

    def mended(self, probe: Probe) -> bool:
        percent = probe.store_percent(self.target)
        return percent is not None and percent < FULL_PERCENT
