"""The metadata of one run, apart from its events: the frozen value behind run.json.

run.json is written when the run begins (so that a killed run can still be analyzed) and again at each step. It never
contains a password, nor a URI with one.
"""

import re
from dataclasses import dataclass, field
from itertools import chain, pairwise
from typing import Literal

from records.figures.abort import Abort
from records.figures.checks import Check
from records.loads.arrivals import CLOSED, FIXED, POISSON
from records.loads.destination_pattern import expand_names, replies_to
from records.loads.rate_steps import RateStep
from records.loads.routes import Route
from records.tables.schemas import SCHEMA_VERSION

RUN_VERSION = 13
PRODUCER, CONSUMER = "producer", "consumer"  # the roles of users
State = Literal["starting", "running", "ended", "interrupted", "failed"]
NEVER_BEGAN: dict[State, str] = {
    "failed": "it failed before its load",
    "interrupted": "it was interrupted before its load",
    "starting": "it was killed while its brokers came up, or they still do",
    "running": "it was killed before its load, or the load is still to come",
}
"""Why a run without a load has none, by its state."""


@dataclass(frozen=True)
class Phases:
    """Monotonic nanoseconds; None for phases that were not reached. The warm-up ends where the load begins."""

    warm_up_began_ns: int | None = None
    load_began_ns: int | None = None
    load_ended_ns: int | None = None
    drain_ended_ns: int | None = None
    browse_ended_ns: int | None = None


@dataclass(frozen=True)
class WarmUp:
    """The warm-up. ``end``: what ended it.

    ``fixed``: a stated time. ``settled``: the median latency of successive seconds had settled. ``not_settled``: it had
    not settled within ``at_most_s``. ``no_latency``: too few latencies were known during the warm-up, so it took
    ``at_most_s``.
    """

    end: str = "fixed"
    lasted_s: float = 0.0
    at_most_s: float = 0.0


@dataclass(frozen=True)
class SearchedStep:
    """The live judgement of one step, by a search for the highest rate or for a growing number of clients.

    ``from_s``: the beginning of the step, in seconds of the load. ``held``: None if this could not be decided. ``why``:
    its figures, as in the log.
    """

    from_s: int
    held: bool | None
    why: str


@dataclass(frozen=True)
class ClockReading:
    """A process clock's lead over the master's monotonic clock when the process clock showed ``at_ns``."""

    at_ns: int
    offset_ns: int


@dataclass(frozen=True)
class ProcessInfo:
    """One recording process: its index, host, and one reading of both clocks taken together.

    ``offset_ns``/``error_bound_ns``: its monotonic clock relative to the master's (0 and 0 on one host). ``clock``:
    readings of a clock that runs faster or slower than the master's, in order of time. Between two readings its offset
    changes evenly; before the first and after the last it is constant. ``begun``, ``settled``, ``received``: how many
    messages its clients began to send, how many of these got a final outcome, and how many deliveries the clients had.
    Its rows must account for them. None if the process did not report them. ``rows``: number of rows that it recorded,
    by table; empty if the process did not report it.
    """

    name: str
    index: int
    host: str
    monotonic_ns: int
    wall_ns: int
    offset_ns: int = 0
    error_bound_ns: int = 0
    clock: tuple[ClockReading, ...] = ()
    begun: int | None = None
    settled: int | None = None
    received: int | None = None
    rows: dict[str, int] = field(default_factory=dict)

    def offset_at(self, at_ns: int) -> int:
        """Return the lead of its clock over the master's when it showed ``at_ns``."""
        if not self.clock or at_ns <= self.clock[0].at_ns:
            return self.clock[0].offset_ns if self.clock else self.offset_ns
        for before, after in pairwise(self.clock):
            if at_ns < after.at_ns:
                passed_ns, moved_ns = at_ns - before.at_ns, after.offset_ns - before.offset_ns
                return before.offset_ns + round(passed_ns * moved_ns / (after.at_ns - before.at_ns))
        return self.clock[-1].offset_ns


@dataclass(frozen=True)
class BrokerInfo:
    name: str
    region: str = ""
    standby_of: str = ""


RECEIVERS = "amqpReceivers"
BROKER_VERSIONS = ("activemq", "artemis", "broker ")
"""The beginnings of the brokers' names in `RunInfo.versions`: products have ``broker NAME``, except the first two."""


@dataclass(frozen=True)
class LinkInfo:
    """The properties of a link that are needed to draw it, and its settings."""

    name: str
    opened_by: str
    to: str
    duplex: bool
    kind: str = "networkConnector"  # networkConnector | clusterConnection | amqpConnection | RECEIVERS
    tls: bool = False
    destination_rules: tuple[str, ...] = ()  # the settings that choose which destinations it carries: "field: value"
    proxied: bool = False  # it went through a proxy, which applied these settings:
    delay_ms: int = 0  # one way, both ways alike
    jitter_ms: int = 0
    bandwidth_kb_per_s: int = 0  # thousands of bytes, each way; 0: not limited

    @property
    def pulls(self) -> bool:
        """Whether messages only come from ``to`` to the broker that opened the link."""
        return self.kind == RECEIVERS

    @property
    def directions(self) -> tuple[tuple[str, str], ...]:
        """(sender, receiver) of each way that messages go."""
        there, back = (self.opened_by, self.to), (self.to, self.opened_by)
        return (there, back) if self.duplex else (back,) if self.pulls else (there,)


@dataclass(frozen=True)
class GroupInfo:
    """A client group: where it enters, and its failover URI with broker names in place of hosts."""

    name: str
    enter_at: tuple[str, ...]
    failover_uri: str = ""


LEAVES = re.compile(r"… ([0-9][0-9.e+]*) s")
"""The end of a stay in the setting ``stays`` (``0 … 4 s; 6 … end s at 1``), if it is before the end of the run."""


@dataclass(frozen=True)
class UserInfo:
    """One user class of the scenario: producer or consumer, its count, and the settings that were used.

    ``destination``: with several destinations, the pattern (`records.loads.destination_pattern`).
    """

    name: str
    role: str  # producer | consumer
    group: str
    destination: str
    count: int
    settings: dict[str, str | int | float | bool] = field(default_factory=dict)

    @property
    def destinations(self) -> tuple[str, ...]:
        """The names of all destinations."""
        return expand_names(self.destination, int(self.settings.get("destinations", 1)))

    @property
    def leaves_s(self) -> float | None:
        """When the user's first stay ends, in seconds of the load; None: it stays until the end of the run."""
        end = LEAVES.search(str(self.settings.get("stays", "")))
        return float(end[1]) if end else None

    @property
    def replies_to(self) -> tuple[str, ...]:
        """The destinations that its replies are recorded under; empty if the class does not reply."""
        return tuple(map(replies_to, self.destinations)) if self.settings.get("replies") else ()


OUT_OF_REACH = "a consumer at"
"""Part of every warning before a run that messages do not reach some of the consumers."""


ANSWERS = (
    "faults",
    "unplanned",
    "mirror",
    "steps",
    "connections",
    "fate",
    "kinds",
    "shares",
    "destinations",
    "regions",
    "latency",
    "moves",
    "cost",
    "rate",
)
"""The topics of a report's headline, with one or a few sentences each, in their default order."""


@dataclass(frozen=True)
class RunInfo:
    """All of run.json. ``schema_version``: the version of the event tables."""

    run_id: str
    scenario: str
    topology: str
    runtime: str
    protocol: str
    state: State = "starting"
    run_version: int = RUN_VERSION
    schema_version: int = SCHEMA_VERSION
    question: str = ""  # the scenario's own docstring
    answered_by: tuple[str, ...] = ()  # from ANSWERS: what a report says first, because it answers the question
    command: tuple[str, ...] = ()  # the command that repeats the run
    seed: int = 0
    runtime_reason: str = ""
    brokers: tuple[BrokerInfo, ...] = ()
    links: tuple[LinkInfo, ...] = ()
    groups: tuple[GroupInfo, ...] = ()
    pairs_by_links: tuple[
        int, ...
    ] = ()  # number of (producer's, consumer's broker) pairs that are 0, 1, 2, … links apart
    users: tuple[UserInfo, ...] = ()
    routes: tuple[
        Route, ...
    ] = ()  # one per destination of producers; none if all go only to consumers of the same name
    rate_steps: tuple[RateStep, ...] = ()  # of all producers together; none if the rate is constant
    held_p99_ms: float | None = None  # a step with a higher p99 from due to received is not held; null: no limit
    searched: tuple[SearchedStep, ...] = ()  # live judgements of the steps of a load
    client_steps: str = ""  # of a load with a growing number of clients, in the syntax of `records.loads.client_steps`
    limited_on_purpose: str = ""  # why a backlog is the subject of the run, so it makes nothing doubtful; "": it is not
    checks: tuple[Check, ...] = ()
    premises: tuple[Check, ...] = ()  # if one fails, the run did not test its question and is invalid
    aborts: tuple[Abort, ...] = ()  # the conditions of --abort-on that ended the load
    live_figures: dict[str, float | None] = field(default_factory=dict)  # those of --abort-on, as counted at the end
    phases: Phases = field(default_factory=Phases)
    warm_up: WarmUp = field(default_factory=WarmUp)
    durations_s: dict[str, float] = field(default_factory=dict)  # up, prove, warm_up, load, drain, browse, down
    processes: tuple[ProcessInfo, ...] = ()
    start_failure: str = ""  # of a failed run: why no load could begin
    not_up_in_time: bool = False  # brokers, links or paths took too long: another try may succeed
    problems: tuple[str, ...] = ()  # reasons from the harness that make the run invalid (a worker lost, disk full, …)
    unknowns: tuple[str, ...] = ()  # facts that are not known (a queue that could not be browsed, drain timed out)
    unsearched: tuple[str, ...] = ()  # places that could not be searched for messages: missing messages are not lost
    unread: dict[str, str] = field(default_factory=dict)  # why, by the queue name of a durable subscription of the run
    withheld: int = 0  # messages due but never sent, because the brokers kept their producers waiting to the end
    missed: int = 0  # messages due but never sent, although the brokers accepted messages
    failed_producers: tuple[int, ...] = ()  # numbers of producers that may fail and did; their schedules ended then
    clock_doubts: tuple[str, ...] = ()  # why times of several processes cannot be compared (a clock moved)
    warnings: tuple[str, ...] = ()  # facts for the reader that do not change the verdict
    options: dict[str, str | int | float | bool | None] = field(default_factory=dict)
    versions: dict[str, str] = field(default_factory=dict)
    machine: dict[str, str | int | float] = field(default_factory=dict)
    rendered: dict[str, str] = field(default_factory=dict)  # "broker-1/activemq.xml" -> text, secrets out

    def protocols_of(self, role: str) -> frozenset[str]:
        """Return the protocols of all producers, or of all consumers. `drivers.protocols` wrote ``protocol``."""
        roles, *classes = self.protocol.split(", ")
        producers, _, consumers = roles.partition(":")
        own = dict(text.split("=") for text in classes)
        usual = producers if role == PRODUCER else consumers or producers
        return frozenset(own.get(user.name, usual) for user in self.users if user.role == role) or frozenset({usual})

    def enter_at(self, role: str) -> frozenset[str]:
        """Return the brokers where the users of this role enter: producer | consumer.

        A standby is left out if its active broker is among them: it serves no client before it takes over.
        """
        groups = {user.group for user in self.users if user.role == role}
        brokers = frozenset(chain(*(group.enter_at for group in self.groups if group.name in groups)))
        return brokers - {broker.name for broker in self.brokers if broker.standby_of in brokers}

    @property
    def destinations(self) -> frozenset[str]:
        """The names of all destinations that users have, except for replies."""
        return frozenset(name for user in self.users for name in user.destinations)

    @property
    def arrivals(self) -> str:
        """Whether messages are due at equal or at random intervals, or not at all: `records.loads.arrivals.LOADS`.

        Producers of one class with Poisson arrivals make it a Poisson load.
        """
        kinds = {user.settings.get("arrivals") for user in self.users if user.role == PRODUCER}
        return next((kind for kind in (CLOSED, POISSON) if kind in kinds), FIXED)

    @property
    def is_closed(self) -> bool:
        """Whether producers sent as soon as their last send was answered, without due times."""
        return self.arrivals == CLOSED

    @property
    def brokers_ran_before(self) -> bool:
        """Whether its brokers ran before the run: they may have other clients and messages, and be on other
        machines."""
        return self.runtime == "external"

    @property
    def on_one_machine(self) -> bool:
        """Whether brokers and clients shared one machine."""
        return not self.brokers_ran_before and len({process.host for process in self.processes}) <= 1

    @property
    def never_began(self) -> str:
        """Why this run has no load to analyse, as part of a sentence; empty if it has one."""
        if self.phases.warm_up_began_ns is not None or self.phases.load_began_ns is not None:
            return ""
        return NEVER_BEGAN.get(self.state, "")
