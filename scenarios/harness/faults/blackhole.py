"""Swallows all that a link carries, like a firewall that drops packets: neither end is told. Later it is mended.

broker ──► door of the link (takes every byte, passes none on, both ways) ──► broker        clients ──► both brokers
"""

from dataclasses import dataclass
from typing import ClassVar

from scenarios.harness.faults.bases import LinkFault
from scenarios.harness.faults.contract import Probe
from topologies.runtimes.contract import Runtime


@dataclass(frozen=True)
class BlackholeLink(LinkFault):
    """Discards the link's bytes, then ends its connections. Implements `scenarios.harness.faults.contract.Fault`."""

    kind: ClassVar[str] = "blackhole"

    def begin(self, runtime: Runtime) -> None:
        self.proxies(runtime).swallow(self.target)

    def end(self, runtime: Runtime) -> None:
        self.proxies(runtime).swallow_no_more(self.target)

    def in_effect(self, probe: Probe) -> bool:
        return probe.link_is_silent(self.target)
