"""Starts a broker that was absent, as if a machine were added to the network. With ``for``, the broker leaves again.

    broker-1 ---- broker-2              broker-1 ---- broker-2
                                 ──►           \\        /
      (broker-3 is absent)                      broker-3

A second join of the same broker is a rejoin with its old store.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import ClassVar

from harness.faults.contract import BrokerFault, Fault, Probe
from harness.faults.probe import partners
from topologies.model.topology import Topology
from topologies.runtimes.capabilities import Capability
from topologies.runtimes.contract import Runtime

JOIN_TIMEOUT_S = 60.0  # another broker may wait 30 s before it retries its link to the new broker


@dataclass(frozen=True)
class JoinBroker(BrokerFault):
    """A start, followed by an orderly stop after ``for_s`` seconds. If ``for_s`` is None, the broker stays."""

    kind: ClassVar[str] = "join"
    does: ClassVar[str] = (
        "the broker is absent until `at`: it is not started, and its links are not proven; after `for` seconds in the "
        "network, it is shut down cleanly; without `for`, it stays"
    )
    needs: ClassVar[tuple[Capability, ...]] = (Capability.OPERATES_BROKERS, Capability.LINKS_BROKERS)
    effect_timeout_s: ClassVar[float] = JOIN_TIMEOUT_S
    mended_as: ClassVar[str] = "is gone"
    not_mended_as: ClassVar[str] = "was not gone"

    @property
    def lasts_s(self) -> float:
        """The duration in seconds; 0 for a broker that stays, as the fault is over once the broker has joined."""
        return 0.0 if self.for_s is None else self.for_s

    @property
    def has_end(self) -> bool:
        return self.for_s is not None

    def why_not_in(self, topology: Topology, faults: Sequence[Fault]) -> str:
        if pair := partners(topology, self.target):
            return (
                f"it is in a pair with {', '.join(pair)}, and brokers of a pair decide at their start which of them is "
                "active; choose a broker without a standby"
            )
        for link in topology.links:
            if self.target in (link.opened_by.name, link.to.name) and not link.starts_by_itself:
                return (
                    f"its link {link.name} does not start automatically (auto_start=False), so it would stay down; "
                    "leave auto_start out"
                )
        return ""

    def begin(self, runtime: Runtime) -> None:
        runtime.start(self.target)

    def end(self, runtime: Runtime) -> None:
        runtime.stop(self.target)

    def in_effect(self, probe: Probe) -> bool:
        return probe.joined(self.target)

    def mended(self, probe: Probe) -> bool:
        return probe.gone(self.target)


def absent_at_start(faults: Iterable[Fault]) -> frozenset[str]:
    """Return the brokers that join during the run. Pure."""
    return frozenset(fault.target for fault in faults if fault.joins)
