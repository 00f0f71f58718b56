"""The values that are known of a run at this moment, without asking any broker."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from drivers.users.session import Tally, Window
from records.units import NS_PER_S
from topologies.management.sampling import Reading, Series

UP = "up"
STALE_AFTER_S = 3.0


@dataclass(frozen=True)
class FaultState:
    """``at_s``/``for_s`` on the load's clock; None: to its end, infinite: to the end of the run.

    ``state``: planned | going on | over | failed: why.
    """

    kind: str
    target: str
    at_s: float
    for_s: float | None
    state: str


@dataclass(frozen=True)
class Snapshot:
    """One look at one run.

    ``steps``: what is behind it, in order (up, prove, clients, load, drain, browse, down, …); ``step_s``: how long the
    present step has lasted. ``brokers``: up | frozen | dead | not running | not serving, by name. ``connected``:
    clients by (group, broker). ``readings``: the last samples, however old. ``load_s``: None when the load ends by
    count.
    ``load_bound``: "about " or "at most " for one whose end depends on what happens.
    """

    run_id: str
    topology: str
    runtime: str
    state: str  # of records.run.RunInfo
    steps: tuple[str, ...]
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
    readings: Mapping[Series, Reading] = field(default_factory=dict)
    faults: tuple[FaultState, ...] = ()
    problems: tuple[str, ...] = ()

    def current_readings(self) -> dict[Series, Reading]:
        """The last samples of the load generator, and of brokers that serve: a broker that is away has no figures.

        Nor has one that has not answered since `STALE_AFTER_S`: what it said before may hold no more.
        """
        least_ns = self.now_ns - round(STALE_AFTER_S * NS_PER_S)
        return {
            series: reading
            for series, reading in self.readings.items()
            if not series[0] or (self.brokers.get(series[0]) == UP and reading.now.at_ns >= least_ns)
        }
