"""Cuts a link between brokers, like an unplugged cable whose ends notice it.

Later the link is mended. While it is cut:

    broker ──► link's proxy ✗ (its connections are closed, new ones refused) ✗ broker      clients ──► both brokers
"""

from dataclasses import dataclass
from typing import ClassVar

from harness.faults.contract import LinkFault, Probe
from topologies.runtimes.contract import Runtime


@dataclass(frozen=True)
class CutLink(LinkFault):
    """Closes the link's proxy, then opens it."""

    kind: ClassVar[str] = "cut"
    does: ClassVar[str] = (
        "the link's connections are closed and new connections are refused; after `for` seconds they are accepted again"
    )

    def begin(self, runtime: Runtime) -> None:
        self.proxies(runtime).cut(self.target)

    def end(self, runtime: Runtime) -> None:
        self.proxies(runtime).mend(self.target)

    def in_effect(self, probe: Probe) -> bool:
        return probe.link_is_down(self.target)
