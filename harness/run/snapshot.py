"""The current state of a run, as far as it is known without a request to a broker."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from drivers.users.session import Tally, Window
from harness.run.abort import ConditionState
from records.figures.abort import Abort
from records.units import NS_PER_S
from topologies.management.sampling import CounterReadings, Series

UP = "up"
STALE_AFTER_S = 3.0


@dataclass(frozen=True)
class FaultState:
    """The state of a fault.

    ``at_s`` and ``for_s`` are seconds of the load. ``for_s`` is None if the fault lasts until the load ends, and
    infinite if it lasts until the run ends. ``state``: planned | going on | over | failed: REASON. ``stages_ns``: the
    monotonic times of its stages so far (`harness.faults.schedule.STAGES`).
    """

    kind: str
    target: str
    at_s: float
    for_s: float | None
    state: str
    stages_ns: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Snapshot:
    """The state of a run at one moment.

    ``began_ns``: when the run began; ``step_ends_ns``: when the completed steps ended, in order (up, prove, clients,
    load, drain, browse, down, …), both on the monotonic clock; ``step_s``: duration of the current step so far.
    ``brokers``: up | frozen | dead | not running | not serving, by name. ``connected``: number of clients by (group,
    broker). ``readings``: the last samples, regardless of their age. ``load_s``: None if the load ends by message
    count. ``load_bound``: "about " or "at most " if the end depends on the course of the run.
    """

    run_id: str
    scenario: str
    topology: str
    runtime: str
    state: str  # of records.run.RunInfo
    began_ns: int
    step_ends_ns: Mapping[str, int]
    step_s: float
    now_ns: int
    over: bool
    interrupted: bool = False
    window: Window | None = None
    load_s: float | None = None
    load_bound: str = ""
    tally: Tally = field(default_factory=Tally)
    brokers: Mapping[str, str] = field(default_factory=dict)
    connected: Mapping[tuple[str, str], int] = field(default_factory=dict)
    readings: Mapping[Series, CounterReadings] = field(default_factory=dict)
    faults: tuple[FaultState, ...] = ()
    abort_conditions: tuple[ConditionState, ...] = ()
    aborts: tuple[Abort, ...] = ()
    problems: tuple[str, ...] = ()

    @property
    def steps(self) -> tuple[str, ...]:
        """The completed steps in order."""
        return tuple(self.step_ends_ns)

    def current_readings(self) -> dict[Series, CounterReadings]:
        """Return the last samples of the load generator and of brokers that are up.

        Samples older than `STALE_AFTER_S` are left out, as they may no longer hold.
        """
        least_ns = self.now_ns - round(STALE_AFTER_S * NS_PER_S)
        return {
            series: reading
            for series, reading in self.readings.items()
            if not series[0] or (self.brokers.get(series[0]) == UP and reading.now.at_ns >= least_ns)
        }
