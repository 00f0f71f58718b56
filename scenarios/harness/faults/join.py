"""Lets a broker join the network, like a machine that is added: until then it is absent. Later it may leave again.

    broker-1 ---- broker-2              broker-1 ---- broker-2
                                 ──►           \\        /
      (broker-3 is absent)                      broker-3

A second join of the same broker is a rejoin, on the store that it left.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar

from scenarios.harness.faults.bases import BrokerFault
from scenarios.harness.faults.contract import Fault, Probe
from topologies.runtimes.contract import Runtime

JOIN_TIMEOUT_S = 60.0  # a link that another broker opens may try again as late as 30 s after the broker is there


@dataclass(frozen=True)
class JoinBroker(BrokerFault):
    """A start; after ``for_s`` an orderly stop, or none. Implements `scenarios.harness.faults.contract.Fault`.

    ``for_s`` None: the broker stays.
    """

    kind: ClassVar[str] = "join"
    joins: ClassVar[bool] = True
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
