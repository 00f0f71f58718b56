"""Lets a broker join the network, like a machine that is added: until then it is absent. Later it may leave again.

    broker-1 ---- broker-2              broker-1 ---- broker-2
                                 ──►           \\        /
      (broker-3 is absent)                      broker-3

A second join of the same broker is a rejoin, on the store that it left.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import ClassVar

from harness.faults.contract import BrokerFault, Fault, Probe
from harness.faults.probe import partners
from topologies.model.topology import Topology
from topologies.runtimes.capabilities import Capability
from topologies.runtimes.contract import Runtime

JOIN_TIMEOUT_S = 60.0  # a link that another broker opens may try again as late as 30 s after the broker is there


@dataclass(frozen=True)
class JoinBroker(BrokerFault):
    """A start; after ``for_s`` an orderly stop, or none.

    ``for_s`` None: the broker stays.
    """

    kind: ClassVar[str] = "join"
    does: ClassVar[str] = (
        "until then the broker is absent: not started, not proven; after `for` seconds in the network it is asked "
        "to shut down, without `for` it stays"
    )
    needs: ClassVar[tuple[Capability, ...]] = (Capability.OPERATES_BROKERS, Capability.LINKS_BROKERS)
    effect_timeout_s: ClassVar[float] = JOIN_TIMEOUT_S
    mended_as: ClassVar[str] = "is gone"
    not_mended_as: ClassVar[str] = "was not gone"

    @property
    def lasts_s(self) -> float:
        """A broker that stays leaves nothing to wait for: the fault is over once the broker has joined."""
        return 0.0 if self.for_s is None else self.for_s

    @property
    def has_end(self) -> bool:
        return self.for_s is not None

    def why_not_in(self, topology: Topology, faults: Sequence[Fault]) -> str:
        if pair := partners(topology, self.target):
            return (
                f"it is one of a pair with {', '.join(pair)}, and which of them serves is decided when they start; "
                "choose a broker without a standby"
            )
        for link in topology.links:
            if self.target in (link.opened_by.name, link.to.name) and not link.starts_by_itself:
                return (
                    f"its link {link.name} does not start by itself (auto_start=False), so nobody would start it then; "
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
    """The brokers that a fault lets join. Pure."""
    return frozenset(fault.target for fault in faults if fault.joins)
