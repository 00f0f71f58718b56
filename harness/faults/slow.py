"""Makes a link slow for a while, like a congested line or a longer route.

Later the old settings are restored. While the link is slow:

    broker ──► link's proxy (adds delay or limits bandwidth, both ways) ──► broker        clients ──► both brokers
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

    ``impairment``: a delay, a bandwidth or both. Raises ValueError if it has neither.
    """

    kind: ClassVar[str] = "slow"
    does: ClassVar[str] = (
        "the link gets a delay, a bandwidth limit or both, instead of the settings of `--link`; also `jitter=5ms` and "
        "`bandwidth=500kB/s`"
    )
    texts: ClassVar[tuple[str, ...]] = tuple(SETTINGS)

    impairment: Impairment = field(default_factory=Impairment)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.impairment == Impairment():
            raise ValueError(
                f"fault slow of {self.target}: it has neither a delay nor a bandwidth; add delay=40ms or "
                "bandwidth=500kB/s, or both"
            )

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
        """Measure the delay. A bandwidth counts once Toxiproxy has confirmed it, as a short request cannot show it."""
        least_ms = 2 * (self.impairment.delay_ms - self.impairment.jitter_ms)
        return least_ms == 0 or probe.link_delays(self.target, least_ms)
