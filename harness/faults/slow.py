"""Makes a link slow for a while, like a line that is full or goes the long way round. Later it is as before.

broker ──► door of the link (every byte later, or fewer a second, both ways) ──► broker        clients ──► both brokers
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

from harness.faults.contract import LinkFault, Probe
from topologies.model.impairment import SETTINGS, Impairment, parse_impairment
from topologies.runtimes.contract import Runtime


@dataclass(frozen=True)
class SlowLink(LinkFault):
    """Overrides the link's impairment of ``--link``.

    ``impairment``: at least one of delay and bandwidth; ValueError if there is none.
    """

    kind: ClassVar[str] = "slow"
    does: ClassVar[str] = (
        "the link is delayed, limited or both, in place of what `--link` set; also `jitter=5ms` and `bandwidth=500kB/s`"
    )
    texts: ClassVar[tuple[str, ...]] = tuple(SETTINGS)

    impairment: Impairment = field(default_factory=Impairment)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.impairment == Impairment():
            raise ValueError(f"fault slow of {self.target}: how slow? Add delay=40ms or bandwidth=500kB/s, or both")

    @classmethod
    def usage(cls) -> str:
        return f"{super().usage()[:-1]}, delay=40ms)"

    @classmethod
    def fields_of(cls, argument: str, texts: Mapping[str, str]) -> dict[str, Any]:
        given = ",".join(f"{name}={texts[name]}" for name in SETTINGS if name in texts)
        return {"target": argument, "impairment": parse_impairment(given)}

    def begin(self, runtime: Runtime) -> None:
        self.proxies(runtime).shape(self.target, self.impairment)

    def end(self, runtime: Runtime) -> None:
        self.proxies(runtime).shape(self.target, None)

    def in_effect(self, probe: Probe) -> bool:
        """A delay is measured. A bandwidth counts once Toxiproxy has confirmed it: no short question shows it."""
        least_ms = 2 * (self.impairment.delay_ms - self.impairment.jitter_ms)
        return least_ms == 0 or probe.link_delays(self.target, least_ms)
