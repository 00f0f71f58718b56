"""Restarts brokers one after the other, like an administrator who installs an update.

    broker-1: stop, start, links up │ pause │ broker-2: stop, start, links up │ pause │ broker-3 …

Each restart is a separate fault, so a run reports the effect of each.
"""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

from harness.faults.contract import Fault, Probe
from harness.faults.restart import RestartBroker
from topologies.catalogue.overlay import Overlay, overlay_named
from topologies.model.topology import Topology
from topologies.runtimes.capabilities import Capability, why_not
from topologies.runtimes.contract import Runtime
from topologies.runtimes.managed import reconfigure

ALL = "all"
PAUSE_S = 5.0
EXPECTED_S = 10.0
"""Expected duration of one restart until the links are up; docs/scenarios.md has 6 to 30 s, by topology."""


@dataclass(frozen=True)
class RestartInTurn(RestartBroker):
    """One of several restarts.

    The restart is over once the broker accepts logins and all its links are up. ``after_s``: the `turn_pause_s`.
    ``overlay``: changes the settings of the broker and of the links that it opens. ``changed``: the topology from then
    on, set by `harness.faults.changed_configuration`.
    """

    look_every_s: ClassVar[float] = 0.25  # each look sends requests to the brokers at both ends of each link
    mended_as: ClassVar[str] = "accepts logins again, and its links are up"
    not_mended_as: ClassVar[str] = "did not accept logins with all its links up"

    after_s: float | None = None
    overlay: Overlay | None = None
    changed: Topology | None = None

    def end(self, runtime: Runtime) -> None:
        if self.overlay is not None:
            assert self.changed is not None, "a plan sets it for each restart with an overlay"
            reconfigure(runtime, self.target, self.changed)
        super().end(runtime)

    @property
    def turn_pause_s(self) -> float | None:
        return self.after_s

    def mended(self, probe: Probe) -> bool:
        return probe.joined(self.target)


@dataclass(frozen=True)
class RollingRestart(RestartBroker):
    """Placeholder in a plan for the restarts of several brokers, which `expand_rolling_restarts` makes.

    ``target``: ``all``, or a client group for the brokers where it enters. ``pause_s``: time from the end of one
    restart to the beginning of the next. ``overlay``: a file with settings that the brokers have after their restart.
    """

    kind: ClassVar[str] = "rolling-restart"
    does: ClassVar[str] = (
        "the brokers are shut down cleanly and started again at once, one after the other; each restart begins "
        "`pause` seconds (default 5) after the previous broker accepts logins again and has its links up. The results "
        "have one `restart` per broker. With a client group instead of `all`, only the brokers where the group enters "
        "are restarted. `overlay` names a file as for `--overlay`, with the settings that each broker has after its "
        "restart"
    )
    takes: ClassVar[str] = "all"
    seconds: ClassVar[Mapping[str, str]] = {"pause": "pause_s"}
    texts: ClassVar[tuple[str, ...]] = ("overlay",)

    target: str = ALL
    at_s: float = 0.0
    pause_s: float = PAUSE_S
    overlay: Overlay | None = field(default=None, repr=False)  # from --fault, which reads the file

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 <= self.pause_s < math.inf:
            raise ValueError(f"fault {self.kind} of {self.target}: pause={self.pause_s:g} must be 0 or more seconds")

    @property
    def why_not_repeated(self) -> str:
        if self.overlay is None:
            return ""
        return (
            f"it has overlay={self.overlay.path}, and a second restart with the same overlay would change nothing; "
            "leave every and times out, or write one rolling-restart per overlay"
        )

    @classmethod
    def usage(cls) -> str:
        return f"{cls.kind}({cls.takes}, at=S, pause=S, overlay=FILE)"

    @classmethod
    def fields_of(cls, argument: str, texts: Mapping[str, str]) -> dict[str, Any]:
        if "overlay" not in texts:
            return {"target": argument}
        return {"target": argument, "overlay": overlay_named(texts["overlay"])}

    def why_not_on(self, runtime: str) -> str:
        changing = why_not(runtime, Capability.RECONFIGURES) if self.overlay else ""
        return super().why_not_on(runtime) or changing


def times_s(faults: Iterable[Fault], restart_s: float) -> Iterator[tuple[float, float]]:
    """Yield the begin and end of each fault in seconds of the load, if each restart takes ``restart_s``. Pure."""
    over_s = 0.0
    for fault in faults:
        begins_s = fault.at_s if fault.turn_pause_s is None else max(fault.at_s, over_s + fault.turn_pause_s)
        over_s = begins_s + (restart_s if isinstance(fault, RestartInTurn) else fault.lasts_s)
        yield begins_s, over_s


def earliest_s(faults: Iterable[Fault]) -> list[float]:
    """Return the earliest begin of each fault: restarts count as 0 s, and the pauses between them count fully. Pure."""
    return [begins_s for begins_s, _ in times_s(faults, 0.0)]


def expected_s(faults: Iterable[Fault]) -> float:
    """Return the end of the last fault in seconds of the load, if each restart takes `EXPECTED_S`. Pure."""
    return max((over_s for _, over_s in times_s(faults, EXPECTED_S)), default=0.0)


def why_too_long(faults: Sequence[Fault], load_s: float | None) -> str:
    """Return why a rolling restart is not expected to fit into the load; '' if it is. Pure."""
    last_s = expected_s(fault for fault in faults if isinstance(fault, RestartInTurn))
    if load_s is None or last_s <= load_s:
        return ""
    return (
        f"at about {EXPECTED_S:g} s per restart, the last one is over {last_s:g} s into the load, but the load ends "
        f"after {load_s:g} s: the run is invalid if the load ends before the last restart begins"
    )


def expand_rolling_restarts(faults: Iterable[Fault], topology: Topology) -> tuple[Fault, ...]:
    """Return the faults, with each rolling restart replaced by one restart per broker. Pure.

    A rolling restart of one broker, or of an unknown name, stays as it is: a restart of that name.
    """
    in_place: list[Fault] = []
    for fault in faults:
        if isinstance(fault, RollingRestart):
            follows = bool(in_place) and isinstance(in_place[-1], RestartInTurn)
            for broker in _brokers(fault.target, topology):
                after_s = fault.pause_s if follows else None
                in_place.append(RestartInTurn(broker, fault.at_s, after_s=after_s, overlay=fault.overlay))
                follows = True
        else:
            in_place.append(fault)
    return tuple(in_place)


def _brokers(target: str, topology: Topology) -> Sequence[str]:
    """Return the brokers in the topology's order, each standby before its active, as its restart moves no client."""
    groups = {group.name: {broker.name for broker in group.enter_at} for group in topology.groups}
    if target != ALL and target not in groups:
        return (target,)
    wanted = {broker.name for broker in topology.brokers} if target == ALL else groups[target]
    actives = [broker.name for broker in topology.brokers if not broker.standby_of]
    pairs = [
        (*(broker.name for broker in topology.brokers if broker.standby_of == active), active) for active in actives
    ]
    return [broker for pair in pairs for broker in pair if broker in wanted]
