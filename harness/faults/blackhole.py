"""Discards everything that a link carries, like a firewall that drops packets.

Neither end is notified:

    broker ──► link's proxy (accepts all bytes, forwards none, both ways) ──► broker      clients ──► both brokers
"""

from dataclasses import dataclass
from typing import ClassVar

from harness.faults.contract import LinkFault, Probe
from topologies.runtimes.contract import Runtime


@dataclass(frozen=True)
class BlackholeLink(LinkFault):
    """Discards the link's bytes, then ends its connections."""

    kind: ClassVar[str] = "blackhole"
    does: ClassVar[str] = (
        "the link's connections stay open and everything sent over them is discarded, both ways; after `for` "
        "seconds they are closed, and new connections work again"
    )

    def begin(self, runtime: Runtime) -> None:
        self.proxies(runtime).swallow(self.target)

    def end(self, runtime: Runtime) -> None:
        self.proxies(runtime).stop_swallowing(self.target)

    def in_effect(self, probe: Probe) -> bool:
        return probe.link_is_silent(self.target)
