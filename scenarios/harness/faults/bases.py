"""The parts that faults share: their target and times, what is broken, and how it is seen to be well again."""

import math
from dataclasses import dataclass, replace
from typing import ClassVar, Self

from records.declared_types import misfits
from scenarios.harness.faults.contract import Probe
from topologies.runtimes.contract import Runtime, RuntimeFailed
from topologies.runtimes.own import proxies_of
from topologies.runtimes.proxies.link_proxies import LinkProxies

EFFECT_TIMEOUT_S = 10.0
MENDED_TIMEOUT_S = 60.0
LOOK_EVERY_S = 0.02


@dataclass(frozen=True)
class TimedFault:
    """The base of faults (`scenarios.harness.faults.contract.Fault`). Raises ValueError for times that no load has."""

    kind: ClassVar[str]
    takes_down: ClassVar[bool] = False
    joins: ClassVar[bool] = False
    of_link: ClassVar[bool]
    through_proxy: ClassVar[bool] = False
    by_management: ClassVar[bool] = False
    effect_timeout_s: ClassVar[float] = EFFECT_TIMEOUT_S
    mended_timeout_s: ClassVar[float] = MENDED_TIMEOUT_S
    look_every_s: ClassVar[float] = LOOK_EVERY_S
    mended_as: ClassVar[str]
    not_mended_as: ClassVar[str]

    target: str
    at_s: float
    for_s: float | None = None

    def __post_init__(self) -> None:
        if told := misfits(self):
            raise ValueError(f"fault {self.kind}: {told}")
        if not _is_time(self.at_s):
            raise ValueError(
                f"fault {self.kind} of {self.target}: at={self.at_s:g} must be 0 or more seconds into the load"
            )
        if self.for_s is not None and not _is_time(self.for_s):
            raise ValueError(f"fault {self.kind} of {self.target}: for={self.for_s:g} must be 0 or more seconds")

    @property
    def lasts_s(self) -> float:
        return math.inf if self.for_s is None else self.for_s

    @property
    def has_end(self) -> bool:
        return True

    @property
    def turn_pause_s(self) -> float | None:
        return None

    def aimed_at(self, target: str) -> Self:
        return replace(self, target=target)

    def later(self, by_s: float) -> Self:
        return replace(self, at_s=self.at_s + by_s)


@dataclass(frozen=True)
class BrokerFault(TimedFault):
    """The base of faults of a broker."""

    of_link: ClassVar[bool] = False
    mended_as: ClassVar[str] = "takes logins again"
    not_mended_as: ClassVar[str] = "took no login"

    def mended(self, probe: Probe) -> bool:
        return probe.serves(self.target)


@dataclass(frozen=True)
class BrokerTakenDown(BrokerFault):
    """The base of faults that end a broker's process. It is started again on the store that it left."""

    takes_down: ClassVar[bool] = True

    def end(self, runtime: Runtime) -> None:
        runtime.start(self.target)

    def in_effect(self, probe: Probe) -> bool:
        return probe.gone(self.target)


@dataclass(frozen=True)
class LinkFault(TimedFault):
    """The base of faults of a link. Unless it says otherwise, every link of the run goes through a proxy."""

    of_link: ClassVar[bool] = True
    through_proxy: ClassVar[bool] = True
    mended_as: ClassVar[str] = "is up at both ends again"
    not_mended_as: ClassVar[str] = "was not up at both ends"

    def proxies(self, runtime: Runtime) -> LinkProxies:
        """Raises RuntimeFailed where there are none."""
        if (found := proxies_of(runtime)) is None:
            raise RuntimeFailed(f"link {self.target!r} goes through no proxy, so nothing can be done to it")
        return found

    def mended(self, probe: Probe) -> bool:
        return probe.link_is_up(self.target)


def _is_time(seconds: float) -> bool:
    return math.isfinite(seconds) and seconds >= 0
