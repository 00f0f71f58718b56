"""The contract of a fault: a frozen value with its begin, its end, and its effect on a runtime.

The file of a fault declares everything else about it: its syntax in ``--fault``, its description in docs/options.md,
and its requirements on a runtime and a topology. Reports and the analysis identify a fault by its kind, from
`records.figures.faults.TRAITS`.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Protocol, Self

from records.declared_types import misfits
from records.figures.faults import traits_of
from topologies.model.topology import Topology
from topologies.runtimes.capabilities import Capability, why_not
from topologies.runtimes.contract import Runtime, RuntimeFailed
from topologies.runtimes.managed import proxies_of
from topologies.runtimes.proxies.link_proxies import LinkProxies

MOST_TIMES = 1_000  # each repetition runs in its own thread
FOREVER = math.inf
"""The ``for_s`` of a fault that lasts until the end of the run. In ``--fault``: ``for=forever``."""


class Probe(Protocol):
    """Measures the state of a broker or a link from outside. No method raises."""

    def gone(self, broker: str) -> bool:
        """Whether the broker's process has ended and its ports refuse connections."""

    def frozen(self, broker: str) -> bool:
        """Whether the broker's process is stopped (SIGSTOP)."""

    def serves(self, broker: str) -> bool:
        """Whether the broker accepts a login, or is the standby of a partner that accepts one."""

    def joined(self, broker: str) -> bool:
        """Whether the broker accepts a login, and both ends report each link to a running broker as up."""

    def link_is_down(self, link: str) -> bool:
        """Whether the link refuses new connections, and the brokers at both ends show it as not up."""

    def link_is_silent(self, link: str) -> bool:
        """Whether the link accepts connections, but a request over it gets no answer."""

    def link_delays(self, link: str, least_ms: float) -> bool:
        """Whether a request over the link takes at least ``least_ms``; True if none can be sent (ssl, http)."""

    def link_is_up(self, link: str) -> bool:
        """Whether the brokers at both ends of the link show it as up."""

    def store_percent(self, broker: str) -> int | None:
        """Return the used percentage of the broker's store limit; None if the broker does not report it."""


@dataclass(frozen=True)
class Fault(ABC):
    """The base class of faults. Raises ValueError for times that are not valid in a load.

    ``at_s`` counts from the start of the load. If ``for_s`` is None, the fault lasts until the load is over, so it is
    mended before the drain. If it is FOREVER, the fault is never mended; only faults that ``may_stay`` allow this.
    ``target``: a broker or, if ``of_link``, a link. In a scenario it may also be a client group. Then one of the
    group's entry brokers is chosen (the last for a fault that ``joins``), or one of that broker's links.

    ``kind``: the fault's name. ``takes``: the first argument in its parentheses, as docs/options.md shows it.
    ``seconds``: the settings besides ``at``, each with the field that it sets. ``texts``: settings that `fields_of`
    reads. ``does``: a sentence for docs/options.md.
    ``needs``: the capabilities that the runtime must have. ``through_proxy``: the links of the run must go through
    proxies.
    ``takes_down``: the broker's process is expected to be gone from `begin` until the fault is mended.
    ``joins``: the broker is absent at the start. It is expected to be gone until the fault is in effect, and again
    once it is mended.
    ``may_stay``: the fault may last FOREVER.
    ``changes_state``: the effect must not be there before `begin`; if it is, the run is invalid.
    ``effect_timeout_s``: time limit for the effect after `begin`. ``mended_timeout_s``: time limit for recovery after
    `end`. ``look_every_s``: time between two measurements of either. ``mended_as`` and ``not_mended_as`` describe the
    measured state after `end`, for success and for failure.
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
    changes_state: ClassVar[bool] = False
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
        """Return ``kill(BROKER, at=S, for=S)``."""
        return f"{cls.kind}({', '.join((cls.takes, 'at=S', *(f'{setting}=S' for setting in cls.seconds)))})"

    @classmethod
    def fields_of(cls, argument: str, texts: Mapping[str, str]) -> dict[str, Any]:
        """Return the fields that are not times. ``argument``: the first one in the parentheses. Raises ValueError."""
        return {"target": argument}

    @property
    def joins(self) -> bool:
        return traits_of(self.kind).joins

    @property
    def lasts_s(self) -> float:
        """The duration of the fault in seconds; infinite if it lasts until the load is over, or forever."""
        return math.inf if self.for_s is None else self.for_s

    @property
    def is_forever(self) -> bool:
        """Whether the fault is never mended."""
        return self.for_s == FOREVER

    @property
    def has_end(self) -> bool:
        """Whether there is something to mend after the fault."""
        return not self.is_forever

    @property
    def least_s(self) -> float:
        """The number of seconds that the load must continue after the fault began."""
        return 0.0 if self.for_s is None or self.is_forever else self.for_s

    @property
    def turn_pause_s(self) -> float | None:
        """The pause in seconds after the preceding fault in the plan; None if the fault does not wait for it.

        With a pause, the fault begins at ``at_s`` at the earliest, and not at all if the preceding fault failed.
        """
        return None

    @property
    def why_not_repeated(self) -> str:
        """Why the fault cannot be repeated, with the next step; '' if it can."""
        return ""

    def with_target(self, target: str) -> Self:
        """Return the same fault with ``target`` as its broker or link."""
        return replace(self, target=target)

    def later(self, by_s: float) -> Self:
        """Return the same fault, ``by_s`` seconds later."""
        return replace(self, at_s=self.at_s + by_s)

    def why_not_on(self, runtime: str) -> str:
        """Return why the fault is impossible on this runtime, with the next step; '' if it is possible."""
        return next(filter(None, (why_not(runtime, capability) for capability in self.needs)), "")

    def why_not_in(self, topology: Topology, faults: Sequence["Fault"]) -> str:
        """Return why the target cannot have this fault in addition to the run's ``faults``, with the next step.

        '' if it can. Pure.
        """
        return ""

    @abstractmethod
    def begin(self, runtime: Runtime) -> None:
        """Inject the fault. Raises RuntimeFailed or ManagementFailed if it cannot: the run is then invalid."""

    @abstractmethod
    def end(self, runtime: Runtime) -> None:
        """Mend the fault. Raises RuntimeFailed or ManagementFailed."""

    @abstractmethod
    def in_effect(self, probe: Probe) -> bool:
        """Measure whether the fault has taken effect."""

    @abstractmethod
    def mended(self, probe: Probe) -> bool:
        """Measure whether the effect is over after `end`."""


class BrokerFault(Fault):
    """The base class of broker faults."""

    takes: ClassVar[str] = "BROKER"
    of_link: ClassVar[bool] = False
    mended_as: ClassVar[str] = "accepts logins again"
    not_mended_as: ClassVar[str] = "did not accept a login"

    def mended(self, probe: Probe) -> bool:
        return probe.serves(self.target)


class BrokerTakenDown(BrokerFault):
    """The base class of faults that end a broker's process. The broker is started again with its old store."""

    takes_down: ClassVar[bool] = True
    may_stay: ClassVar[bool] = True

    def end(self, runtime: Runtime) -> None:
        runtime.start(self.target)

    def in_effect(self, probe: Probe) -> bool:
        return probe.gone(self.target)


class LinkFault(Fault):
    """The base class of link faults. Every link of the run goes through a proxy, unless a subclass overrides that."""

    takes: ClassVar[str] = "LINK"
    of_link: ClassVar[bool] = True
    through_proxy: ClassVar[bool] = True
    may_stay: ClassVar[bool] = True
    mended_as: ClassVar[str] = "is up at both ends again"
    not_mended_as: ClassVar[str] = "was not up at both ends"

    def proxies(self, runtime: Runtime) -> LinkProxies:
        """Return the proxies of the run. Raises RuntimeFailed if it has none."""
        if (proxies := proxies_of(runtime)) is None:
            raise RuntimeFailed(f"link {self.target!r} does not go through a proxy, so it cannot have a fault")
        return proxies

    def why_not_in(self, topology: Topology, faults: Sequence[Fault]) -> str:
        return self.why_down(topology)

    def why_down(self, topology: Topology) -> str:
        """Return why this link never comes up, with the next step; empty if it can."""
        link = next(link for link in topology.links if link.name == self.target)
        if not link.login_problems:
            return ""
        return f"it never comes up, as {' and '.join(link.login_problems)}; correct the users, or leave the fault out"

    def why_not_in_cluster(self, topology: Topology, verb: str, next_step: str) -> str:
        """Return why a broker cannot ``verb`` this link alone, with the next step; empty if it can."""
        link = next(link for link in topology.links if link.name == self.target)
        if link.connector != link.name:
            return (
                f"{link.opened_by.name} opens all its links of multicast group {link.connector!r} by one connector, so "
                f"it can only {verb} them together; use kill or join of a broker, or leave group out"
            )
        if not (cluster := link.cluster_name):
            return ""
        return (
            f"it is a link of cluster {cluster!r}, and a broker can only {verb} all its links of a cluster together; "
            f"{next_step}"
        )

    def mended(self, probe: Probe) -> bool:
        return probe.link_is_up(self.target)


def repeated(fault: Fault, every_s: float, times: int) -> tuple[Fault, ...]:
    """Return the fault ``times`` times, each beginning ``every_s`` seconds after the previous one.

    If the fault targets a client group, a target is chosen for each repetition. Raises ValueError if a repetition would
    begin before the previous one is over.
    """
    if not 1 <= times <= MOST_TIMES:
        raise ValueError(f"fault {fault.kind} of {fault.target}: times={times} must be from 1 to {MOST_TIMES}")
    if times > 1 and fault.why_not_repeated:
        raise ValueError(f"fault {fault.kind} of {fault.target}: times={times}: {fault.why_not_repeated}")
    if times > 1 and math.isinf(fault.lasts_s):
        raise ValueError(f"fault {fault.kind} of {fault.target}: a repeated fault must have an end; add for=SECONDS")
    if times > 1 and not every_s > fault.lasts_s:
        raise ValueError(
            f"fault {fault.kind} of {fault.target}: every={every_s:g} must be longer than the fault lasts, "
            f"{fault.lasts_s:g} s, as each must be over before the next begins"
        )
    return tuple(fault.later(number * every_s) for number in range(times))


def _is_time(seconds: float) -> bool:
    return math.isfinite(seconds) and seconds >= 0
