"""Cuts a link between brokers, like an unplugged cable whose ends notice it. Later it is mended.

broker ──► door of the link ✗ (its connections end, new ones are refused) ✗ broker          clients ──► both brokers
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
        "the link's connections end and new ones are refused; after `for` seconds they are let through again"
    )

    def begin(self, runtime: Runtime) -> None:
        self.proxies(runtime).cut(self.target)

    def end(self, runtime: Runtime) -> None:
        self.proxies(runtime).mend(self.target)

    def in_effect(self, probe: Probe) -> bool:
        return probe.link_is_down(self.target)
