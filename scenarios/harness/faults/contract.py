"""The contract of a fault: a frozen value that says when it begins and ends and what it does to a runtime."""

from typing import Protocol, Self

from topologies.runtimes.contract import Runtime


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


class Fault(Protocol):
    """``at_s`` and ``for_s`` lie on the load's clock: 0 is its start. ``for_s`` None: until the load is over.

    ``target``: a broker or, if it is ``of_link``, a link. In a scenario it may be a client group: any broker where the
    group enters, the last one for a fault that ``joins``, or any link of such a broker.
    ``takes_down``: the broker's process is expected to be gone from `begin` until the fault is mended.
    ``through_proxy``: the links of the run have to go through proxies. ``by_management``: the broker is asked to do it.
    ``joins``: the broker is absent at the start. It is expected to be gone until the fault has its effect, and again
    once it is mended.
    ``lasts_s``: how long the fault is in effect; infinite until the load is over. ``has_end``: whether there is
    something to mend then.
    ``effect_timeout_s``: how long after `begin` the effect may take. ``mended_timeout_s``: the same after `end`.
    ``look_every_s``: how long between two looks at either. ``mended_as`` and ``not_mended_as`` say what is measured
    after `end`, and what was not.
    ``turn_pause_s``: None, or it begins so many seconds after the fault before it in the plan is over, ``at_s`` at the
    earliest; it does not begin at all if that one failed.
    """

    @property
    def kind(self) -> str: ...
    @property
    def target(self) -> str: ...
    @property
    def at_s(self) -> float: ...
    @property
    def for_s(self) -> float | None: ...
    @property
    def takes_down(self) -> bool: ...
    @property
    def of_link(self) -> bool: ...
    @property
    def through_proxy(self) -> bool: ...
    @property
    def by_management(self) -> bool: ...
    @property
    def joins(self) -> bool: ...
    @property
    def lasts_s(self) -> float: ...
    @property
    def has_end(self) -> bool: ...
    @property
    def effect_timeout_s(self) -> float: ...
    @property
    def mended_timeout_s(self) -> float: ...
    @property
    def look_every_s(self) -> float: ...
    @property
    def mended_as(self) -> str: ...
    @property
    def not_mended_as(self) -> str: ...
    @property
    def turn_pause_s(self) -> float | None: ...

    def aimed_at(self, target: str) -> Self:
        """The same fault of this broker or link."""

    def later(self, by_s: float) -> Self:
        """The same fault, so many seconds later."""

    def begin(self, runtime: Runtime) -> None:
        """Make it happen. Raises RuntimeFailed or ManagementFailed if it cannot be done: the run is then invalid."""

    def end(self, runtime: Runtime) -> None:
        """Mend it. Raises RuntimeFailed or ManagementFailed."""

    def in_effect(self, probe: Probe) -> bool:
        """Whether it has taken effect, as measured."""

    def mended(self, probe: Probe) -> bool:
        """Whether its effect is over after `end`, as measured."""
