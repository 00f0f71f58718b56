"""`Scenario`: a frozen value with the users, the load, the faults and the checks of a run.

Its load is a `Hold`, `Steps`, `Search` or `AddClients`. A `NeededLink` is a link that the topology must have. A
scenario names client groups, never brokers, so it runs on every topology.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from drivers.users.broker_user import BrokerUser
from harness.checks import read_checks
from harness.faults.contract import Fault
from records.declared_types import misfits
from records.errors import about
from records.figures.checks import Check
from records.loads.client_steps import ClientSteps, parse_client_steps
from records.loads.rate_search import SearchSettings
from records.loads.rate_steps import MOST_S, RateStep, ends_s, parse_steps
from records.run import ANSWERS
from topologies.model.client_groups import CONSUMERS, PRODUCERS
from topologies.model.link import Link
from topologies.model.topology import Topology

SEARCH_AT_MOST_S = 900.0
WARM_UP_AT_LEAST_S = 5
WARM_UP_AT_MOST_S = 15.0
"""Bounds of a warm-up that lasts until latency has settled (`harness.run.warm_up`)."""


def _require_types(subject: str, value: object) -> None:
    """Raise ValueError if a field's value does not have its declared type."""
    if problem := misfits(value):
        raise ValueError(f"{subject}: {problem}")


@dataclass(frozen=True)
class Hold:
    """A steady load for a time; ``-t`` on the command line overrides it.

    ``after_faults_s``: the load ends early once all faults have been over for this long. None: it does not.
    """

    for_s: float
    after_faults_s: float | None = None

    def __post_init__(self) -> None:
        _require_types("load Hold", self)
        if not 0 < self.for_s <= MOST_S:
            rule = f"must be greater than 0 s, and at most {MOST_S:,} s, such as Hold(for_s=30)"
            raise ValueError(f"load Hold(for_s={self.for_s}): {rule}")
        if self.after_faults_s is not None and not 0 <= self.after_faults_s <= MOST_S:
            rule = f"must be 0 s or more, and at most {MOST_S:,} s, or None"
            raise ValueError(f"load Hold(after_faults_s={self.after_faults_s}): {rule}")

    @property
    def steps(self) -> tuple[RateStep, ...]:
        """Empty: every producer keeps its rate."""
        return ()


@dataclass(frozen=True)
class Search:
    """A load that searches for the highest rate that is held. See `records.loads.rate_search`. It ends after ``for_s``.

    ``--rate`` and ``-t`` on the command line override it.
    """

    settings: SearchSettings = field(default_factory=SearchSettings)
    for_s: float = SEARCH_AT_MOST_S

    def __post_init__(self) -> None:
        _require_types("load Search", self)
        if not 0 < self.for_s <= MOST_S:
            rule = f"must be greater than 0 s, and at most {MOST_S:,} s; leave it out for {SEARCH_AT_MOST_S:g} s"
            raise ValueError(f"load Search(for_s={self.for_s}): {rule}")

    @property
    def steps(self) -> tuple[RateStep, ...]:
        """Empty: the rates are chosen while the load runs."""
        return ()


@dataclass(frozen=True)
class Steps:
    """A load whose total rate of all producers changes in steps: ``100,200,400@20s``. See `records.loads.rate_steps`.

    ``--rate`` on the command line overrides it. Raises UserError.
    """

    text: str

    def __post_init__(self) -> None:
        _require_types("load Steps", self)
        assert self.steps  # raises UserError for an invalid text

    @cached_property
    def steps(self) -> tuple[RateStep, ...]:
        """The steps in order."""
        return parse_steps(self.text)

    @property
    def for_s(self) -> float:
        """The total duration of the steps."""
        return float(ends_s(self.steps)[-1])


@dataclass(frozen=True)
class AddClients:
    """A load with a growing number of clients, in steps: ``50,100,200@10s``. See `records.loads.client_steps`.

    ``--clients`` on the command line overrides it. The steps set the number of users of each class, so ``fixed_count``
    is ignored. Raises UserError.
    """

    text: str

    def __post_init__(self) -> None:
        _require_types("load AddClients", self)
        assert self.clients  # raises UserError for an invalid text

    @cached_property
    def clients(self) -> ClientSteps:
        """The steps of all users together."""
        return parse_client_steps(self.text)

    @property
    def steps(self) -> tuple[RateStep, ...]:
        """Empty: every producer keeps its rate."""
        return ()

    @property
    def for_s(self) -> float:
        """The total duration of the steps."""
        return float(self.clients.for_s)


@dataclass(frozen=True)
class NeededLink:
    """A kind of link that a topology needs to answer a scenario's question. ``what`` is its name in errors."""

    what: str
    is_one: Callable[[Topology, Link], bool]


ANY_LINK = NeededLink("link between brokers", lambda _topology, _link: True)
BETWEEN_REGIONS = NeededLink("link between two regions", lambda _topology, link: link.joins_regions)
MIRROR = NeededLink("mirror", lambda _topology, link: link.is_mirror)
PARALLEL = NeededLink(
    "second link from one broker to the same other broker",
    lambda topology, link: [(a.opened_by, a.to) for a in topology.links].count((link.opened_by, link.to)) > 1,
)
TO_A_PAIR = NeededLink("link to a pair of brokers", lambda topology, link: len(link.called(topology.brokers)) > 1)


def _leads_to_far_consumers(topology: Topology, link: Link) -> bool:
    """Whether all producers and the first consumers are at one end of the link, and the next consumers at the other."""
    entered = {group.name: group.enter_at for group in topology.groups}
    producers, consumers = entered.get(PRODUCERS, ()), entered.get(CONSUMERS, ())
    return producers == consumers[:1] and tuple(broker.name for broker in consumers[:2]) in link.directions


TO_FAR_CONSUMERS = NeededLink(
    "link from a broker with all producers and the first consumers to the broker with the next consumers",
    _leads_to_far_consumers,
)


@dataclass(frozen=True)
class Scenario:
    """A question about a topology: its users, the load, the faults and the checks.

    ``users``: every class of the locustfile that is not abstract, as Locust makes users of all of them.

    ``checks``: texts as in ``--check``, or results of the functions in `harness.checks`. ``premises``: checks of the
    effects that ``faults`` must have for the run to test its question. If one fails, the run is invalid. ``--fault``,
    which replaces the scenario's faults, leaves the premises out, too. ``question``: the locustfile's docstring, shown
    at the top of the report; None if Python runs without docstrings (-OO). ``entries``: the minimum number of brokers
    where a client group enters, by its name; a topology with fewer cannot answer the question. ``brokers``: the minimum
    number of brokers. ``link``: a kind of link that the topology needs. ``pair``: the client group that must enter at
    an active broker with a standby; empty without this requirement. ``default_link``: the impairment of the links in a
    run without ``--link``. ``limited_on_purpose``: the reason if waiting messages are the subject of the scenario; the
    run then does not assess whether the offered rate was held. ``answered_by``: the members of `records.run.ANSWERS`
    that answer the question; the report and its charts begin with them.
    """

    users: tuple[type[BrokerUser], ...]
    default_topology: str
    load: Hold | Steps | Search | AddClients
    checks: tuple[Check | str, ...]
    faults: tuple[Fault, ...] = ()
    premises: tuple[Check | str, ...] = ()
    question: str | None = ""
    warm_up_s: float | None = None  # None: until latency has settled
    default_protocol: str = "stomp"  # of brokers in memory it is always memory
    entries: Mapping[str, int] = field(default_factory=dict)
    brokers: int = 1
    link: NeededLink | None = None
    pair: str = ""
    default_link: str = ""
    limited_on_purpose: str = ""
    answered_by: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        _require_types("scenario", self)
        if strange := [user.__name__ for user in self.users if not issubclass(user, BrokerUser)]:
            raise ValueError(
                f"scenario: users has {strange[0]}, which is not a ProducerUser or ConsumerUser; leave it out"
            )
        if twice := [user.__name__ for user in self.users if self.users.count(user) > 1]:
            raise ValueError(f"scenario: users has {twice[0]} twice; leave one of them out, and set its fixed_count")
        names = [user.__name__ for user in self.users]
        if alike := [name for name in names if names.count(name) > 1]:
            raise ValueError(
                f"scenario: users has {names.count(alike[0])} classes with the name {alike[0]}, but reports and "
                "options distinguish user classes by name; rename one of them"
            )
        if not {"producer", "consumer"} <= {user.role for user in self.users}:
            raise ValueError("scenario: needs at least one ProducerUser and one ConsumerUser in users=(…)")
        if strange := [name for name in self.answered_by if name not in ANSWERS]:
            known = ", ".join(ANSWERS)
            raise ValueError(
                f"scenario: answered_by has {strange[0]!r}, which is not in any report; use some of {known}"
            )
        for field_name, checks in {"checks": self.checks, "premises": self.premises}.items():
            with about(f"scenario {self.name}: {field_name} has "):
                read_checks(checks)

    @property
    def name(self) -> str:
        """The locustfile's name: ``steady`` for ``scenarios/steady.py``."""
        return self.users[0].__module__.rpartition(".")[2]

    def why_no_link(self, topology: Topology) -> str:
        """Return the problem if the topology has no link of the kind that the scenario needs, with the next step."""
        if not self.link or any(self.link.is_one(topology, link) for link in topology.links):
            return ""
        return (
            f"it has no {self.link.what}, but scenario {self.name} needs one; {self.another_topology('that has one')}"
        )

    def another_topology(self, which: str) -> str:
        """Return the next step for a topology that cannot answer the question. ``which``: ``that has a link``."""
        return f"leave --topology out for {self.default_topology}, or choose one {which}"
