"""Lists the events of the current run: the beginning of each phase, and each stage of a fault. Pure."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from harness.live.view import STEPS
from harness.run.snapshot import FaultState, Snapshot
from records.units import NS_PER_S

PHASE, FAULT = "brokerbench.phase", "brokerbench.fault"
STEP_NAMES = tuple(filter(None, STEPS))
WARM_UP, LOAD, END = "warm-up", "load", "end"


@dataclass(frozen=True)
class RunEvent:
    """An event. ``name``: PHASE or FAULT. ``key``: differs from the keys of all other events of the run.

    ``at_ns``: monotonic time.
    """

    name: str
    key: tuple[str | int, ...]
    at_ns: int
    text: str
    attributes: Mapping[str, str | int | float]


def events_of(snapshot: Snapshot) -> Iterator[RunEvent]:
    """Yield all events of the run so far."""
    yield from _phases(snapshot)
    for index, fault in enumerate(snapshot.faults):
        yield from _stages(snapshot, index, fault)


def _phases(snapshot: Snapshot) -> Iterator[RunEvent]:
    began_ns = snapshot.began_ns
    for step in STEP_NAMES:
        if step == LOAD:
            yield from _load(snapshot)
        elif not (snapshot.over and step not in snapshot.step_ends_ns):  # a run may end before its last step
            yield _phase(step, began_ns)
        if step not in snapshot.step_ends_ns:
            break
        began_ns = snapshot.step_ends_ns[step]
    if snapshot.over:
        attributes = {"brokerbench.run.state": snapshot.state}
        yield _phase(END, snapshot.now_ns, f"the run is over: {snapshot.state}", attributes)


def _load(snapshot: Snapshot) -> Iterator[RunEvent]:
    """Yield the beginning of the warm-up, if there is one, and of the load, if it has begun."""
    window = snapshot.window
    if window is None:
        return
    if window.warm_up_began_ns < window.load_began_ns:
        yield _phase(WARM_UP, window.warm_up_began_ns)
    if not window.is_open and window.load_began_ns <= snapshot.now_ns:
        yield _phase(LOAD, window.load_began_ns)


def _phase(
    phase: str, at_ns: int, text: str = "", attributes: Mapping[str, str | int | float] | None = None
) -> RunEvent:
    named = {"brokerbench.phase.name": phase, **(attributes or {})}
    return RunEvent(PHASE, (PHASE, phase), at_ns, text or f"phase {phase} begins", named)


def _stages(snapshot: Snapshot, index: int, fault: FaultState) -> Iterator[RunEvent]:
    for stage, at_ns in fault.stages_ns.items():
        attributes: dict[str, str | int | float] = {
            "brokerbench.fault.kind": fault.kind,
            "brokerbench.fault.target": fault.target,
            "brokerbench.fault.stage": stage,
        }
        if fault.target in snapshot.brokers:
            attributes["brokerbench.broker"] = fault.target
        if snapshot.window is not None:
            attributes["brokerbench.load_s"] = round((at_ns - snapshot.window.load_began_ns) / NS_PER_S, 3)
        said = fault.state if fault.state.startswith(f"{stage}:") else stage  # a failure has its reason
        text = f"fault {fault.kind} of {fault.target}: {said}"
        yield RunEvent(FAULT, (FAULT, index, stage), at_ns, text, attributes)
