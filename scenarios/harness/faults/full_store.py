"""Makes the store of a broker full for a while, like a disk that messages have filled. Later it has its room again.

producer ──► broker (its store is over its limit: it takes no durable message, and holds producers back) ──► consumer
"""

from dataclasses import dataclass
from typing import ClassVar

from scenarios.harness.faults.bases import BrokerFault
from scenarios.harness.faults.contract import Probe
from topologies.runtimes.contract import Runtime
from topologies.runtimes.own import operations_of

FULL_PERCENT = 100


@dataclass(frozen=True)
class FullStore(BrokerFault):
    """Lowers the store's limit by management. Implements `scenarios.harness.faults.contract.Fault`."""

    kind: ClassVar[str] = "full-store"
    by_management: ClassVar[bool] = True
    mended_as: ClassVar[str] = "has room in its store again"
    not_mended_as: ClassVar[str] = "had no room in its store"

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
