"""The contract of a fault: a frozen value that says when it begins and ends and what it does to a runtime.

A fault's own file declares the rest too: how it is written in ``--fault``, what docs/options.md says that it does, what
it needs of a runtime and of a topology. Reports and the analysis know it by its kind, from `records.faults.TRAITS`.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Protocol, Self

from records.declared_types import misfits
from records.faults import traits_of
from topologies.model.topology import Topology
from topologies.runtimes.capabilities import Capability, why_not
from topologies.runtimes.contract import Runtime, RuntimeFailed
from topologies.runtimes.own import proxies_of
from topologies.runtimes.proxies.link_proxies import LinkProxies

MOST_TIMES = 1_000  # each has a thread of its own
FOREVER = math.inf
"""The ``for_s`` of a fault that is never mended. In ``--fault``: ``for=forever``."""


class Probe(Protocol):
    """Measures the state of a broker or a link from outside. No call raises."""

    def gone(self, broker: str) -> bool:
        """Its process has ended, and its ports refuse connections."""

    def frozen(self, broker: str) -> bool:
        """Its process is stopped where it stands."""

    def serves(self, broker: str) -> bool:
        """It accepts a login. A broker of a pair may also stand by while its partner accepts one."""

    def joined(self, broker: str) -> bool:
        """It accepts a login, and each link between it and a running broker is proven at both ends."""

    def link_is_down(self, link: str) -> bool:
        """New connections are refused, and the brokers at its ends show that it is not up."""

    def link_is_silent(self, link: str) -> bool:
        """Connections are taken, and a question over one gets no answer."""

    def link_delays(self, link: str, least_ms: float) -> bool:
        """A question over it is answered no sooner than that; True where none can be asked (ssl, http)."""

    def link_is_up(self, link: str) -> bool:
        """The brokers at both its ends show that it is up."""

    def store_percent(self, broker: str) -> int | None:
        """How much of the limit of its store is used; None if it does not say."""


@dataclass(frozen=True)
class Fault(ABC):
    """The base of faults. Raises ValueError for times that no load has.

    ``at_s`` and ``for_s`` lie on the load's clock: 0 is its start. ``for_s`` None: until the load is over, so it is
    mended before the drain. FOREVER: it is never mended, if it ``may_stay``.
    ``target``: a broker or, if it is ``of_link``, a link. In a scenario it may be a client group: any broker where the
    group enters, the last one for a fault that ``joins``, or any link of such a broker.

    ``kind``: its name. ``takes``: what stands first in its parentheses, as docs/options.md shows it. ``seconds``: the
    settings beside ``at``, each with the field that it sets. ``texts``: settings that `fields_of` reads. ``does``: a
    sentence for docs/options.md.
    ``needs``: what a runtime has to make possible. ``through_proxy``: the links of the run have to go through proxies.
    ``takes_down``: the broker's process is expected to be gone from `begin` until the fault is mended.
    ``joins``: the broker is absent at the start. It is expected to be gone until the fault has its effect, and again
    once it is mended.
    ``may_stay``: it may last FOREVER.
    ``effect_timeout_s``: how long after `begin` the effect may take. ``mended_timeout_s``: the same after `end`.
    ``look_every_s``: how long between two looks at either. ``mended_as`` and ``not_mended_as`` say what is measured
    after `end`, and what was not.
    """

    kind: ClassVar[str]
    takes: ClassVar[str]
    seconds: ClassVar[Mapping[str, str]] = {"for": "for_s"}
    texts: ClassVar[tuple[str, ...]] = ()
    does: ClassVar[str]

    of_link: ClassVar[bool]
    needs: ClassVar[tuple[Capability, ...]] = (Capability.OPERATES_BROKERS,)
    through_proxy: ClassVar[bool] = False
    takes_down: ClassVar[bool] = False
    may_stay: ClassVar[bool] = False
    effect_timeout_s: ClassVar[float] = 10.0
    mended_timeout_s: ClassVar[float] = 60.0
    look_every_s: ClassVar[float] = 0.02
    mended_as: ClassVar[str]
    not_mended_as: ClassVar[str]

    target: str
    at_s: float
    for_s: float | None = None

    def __post_init__(self) -> None:
        if problem := misfits(self):
            raise ValueError(f"fault {self.kind}: {problem}")
        if not _is_time(self.at_s):
            raise ValueError(
                f"fault {self.kind} of {self.target}: at={self.at_s:g} must be 0 or more seconds into the load"
            )
        if self.is_forever and not self.may_stay:
            raise ValueError(
                f"fault {self.kind} of {self.target}: it cannot last forever; write for=SECONDS, or leave for out"
            )
        if self.for_s is not None and not self.is_forever and not _is_time(self.for_s):
            raise ValueError(f"fault {self.kind} of {self.target}: for={self.for_s:g} must be 0 or more seconds")

    @classmethod
    def usage(cls) -> str:
        """``kill(BROKER, at=S, for=S)``"""
        return f"{cls.kind}({', '.join((cls.takes, 'at=S', *(f'{setting}=S' for setting in cls.seconds)))})"

    @classmethod
    def fields_of(cls, argument: str, texts: Mapping[str, str]) -> dict[str, Any]:
        """The fields that are no times. ``argument``: what stands first. Raises ValueError."""
        return {"target": argument}

    @property
    def joins(self) -> bool:
        return traits_of(self.kind).joins

    @property
    def lasts_s(self) -> float:
        """How long it is in effect; infinite until the load is over, or for good."""
        return math.inf if self.for_s is None else self.for_s

    @property
    def is_forever(self) -> bool:
        """Whether it is never mended."""
        return self.for_s == FOREVER

    @property
    def has_end(self) -> bool:
        """Whether there is something to mend then."""
        return not self.is_forever

    @property
    def least_s(self) -> float:
        """How long the load has to go on after it began."""
        return 0.0 if self.for_s is None or self.is_forever else self.for_s

    @property
    def turn_pause_s(self) -> float | None:
        """None, or it begins so many seconds after the fault before it in the plan is over, ``at_s`` at the earliest.

        It does not begin at all if that one failed.
        """
        return None

    def aimed_at(self, target: str) -> Self:
        """The same fault of this broker or link."""
        return replace(self, target=target)

    def later(self, by_s: float) -> Self:
        """The same fault, so many seconds later."""
        return replace(self, at_s=self.at_s + by_s)

    def why_not_on(self, runtime: str) -> str:
        """Why brokers of this runtime cannot have it, with the next step; '' if they can."""
        return next(filter(None, (why_not(runtime, capability) for capability in self.needs)), "")

    def why_not_in(self, topology: Topology, faults: Sequence["Fault"]) -> str:
        """Why its target cannot have it beside the other faults of a run, with the next step; '' if it can. Pure."""
        return ""

    @abstractmethod
    def begin(self, runtime: Runtime) -> None:
        """Make it happen. Raises RuntimeFailed or ManagementFailed if it cannot be done: the run is then invalid."""

    @abstractmethod
    def end(self, runtime: Runtime) -> None:
        """Mend it. Raises RuntimeFailed or ManagementFailed."""

    @abstractmethod
    def in_effect(self, probe: Probe) -> bool:
        """Whether it has taken effect, as measured."""

    @abstractmethod
    def mended(self, probe: Probe) -> bool:
        """Whether its effect is over after `end`, as measured."""


class BrokerFault(Fault):
    """The base of faults of a broker."""

    takes: ClassVar[str] = "BROKER"
    of_link: ClassVar[bool] = False
    mended_as: ClassVar[str] = "takes logins again"
    not_mended_as: ClassVar[str] = "took no login"

    def mended(self, probe: Probe) -> bool:
        return probe.serves(self.target)


class BrokerTakenDown(BrokerFault):
    """The base of faults that end a broker's process. It is started again on the store that it left."""

    takes_down: ClassVar[bool] = True
    may_stay: ClassVar[bool] = True

    def end(self, runtime: Runtime) -> None:
        runtime.start(self.target)

    def in_effect(self, probe: Probe) -> bool:
        return probe.gone(self.target)


class LinkFault(Fault):
    """The base of faults of a link. Unless it says otherwise, every link of the run goes through a proxy."""

    takes: ClassVar[str] = "LINK"
    of_link: ClassVar[bool] = True
    through_proxy: ClassVar[bool] = True
    may_stay: ClassVar[bool] = True
    mended_as: ClassVar[str] = "is up at both ends again"
    not_mended_as: ClassVar[str] = "was not up at both ends"

    def proxies(self, runtime: Runtime) -> LinkProxies:
        """Raises RuntimeFailed where there are none."""
        if (proxies := proxies_of(runtime)) is None:
            raise RuntimeFailed(f"link {self.target!r} goes through no proxy, so nothing can be done to it")
        return proxies

    def mended(self, probe: Probe) -> bool:
        return probe.link_is_up(self.target)


def repeated(fault: Fault, every_s: float, times: int) -> tuple[Fault, ...]:
    """``times`` faults in all, each beginning ``every_s`` seconds after the one before.

    Of a fault that targets a client group, each is aimed anew. Raises ValueError if one would begin before the one
    before it is over.
    """
    if not 1 <= times <= MOST_TIMES:
        raise ValueError(f"fault {fault.kind} of {fault.target}: times={times} must be from 1 to {MOST_TIMES}")
    if times > 1 and math.isinf(fault.lasts_s):
        raise ValueError(f"fault {fault.kind} of {fault.target}: to be repeated it has to end: give it for=SECONDS")
    if times > 1 and not every_s > fault.lasts_s:
        raise ValueError(
            f"fault {fault.kind} of {fault.target}: every={every_s:g} must be longer than it lasts, "
            f"{fault.lasts_s:g} s: each is to be over before the next"
        )
    return tuple(fault.later(number * every_s) for number in range(times))


def _is_time(seconds: float) -> bool:
    return math.isfinite(seconds) and seconds >= 0
