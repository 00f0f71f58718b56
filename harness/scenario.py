"""`Scenario`: one frozen value that says who sends and receives, for how long, and what must hold.

A scenario names client groups, never brokers, so that one scenario runs on every topology.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from drivers.users.broker_user import BrokerUser
from harness.checks import read_checks
from harness.faults.contract import Fault
from records.checks import Check
from records.client_steps import ClientSteps, parse_client_steps
from records.declared_types import misfits
from records.errors import about
from records.rate_search import SearchSettings
from records.rate_steps import MOST_S, RateStep, ends_s, parse_steps
from records.run import ANSWERS
from topologies.model.client_groups import CONSUMERS, PRODUCERS
from topologies.model.link import Link
from topologies.model.topology import Topology

SEARCH_AT_MOST_S = 900.0


def _require_types(subject: str, value: object) -> None:
    """Raise ValueError where a field is not what it is declared as."""
    if problem := misfits(value):
        raise ValueError(f"{subject}: {problem}")


@dataclass(frozen=True)
class Hold:
    """A steady load for a time; ``-t`` on the command line overrides it.

    ``after_faults_s``: it ends sooner if all faults have been over for so long. None: it does not.
    """

    for_s: float
    after_faults_s: float | None = None

    def __post_init__(self) -> None:
        _require_types("load Hold", self)
        if not 0 < self.for_s <= MOST_S:
            rule = f"must last longer than 0 s, and at most {MOST_S:,} s; write Hold(for_s=30), for instance"
            raise ValueError(f"load Hold(for_s={self.for_s}): {rule}")
        if self.after_faults_s is not None and not 0 <= self.after_faults_s <= MOST_S:
            rule = f"must be 0 s or more, and at most {MOST_S:,} s, or None"
            raise ValueError(f"load Hold(after_faults_s={self.after_faults_s}): {rule}")

    @property
    def steps(self) -> tuple[RateStep, ...]:
        """None: every producer keeps its own rate."""
        return ()


@dataclass(frozen=True)
class Search:
    """A load that searches for the highest rate that is held. See `records.rate_search`. It ends after ``for_s``.

    ``--rate`` and ``-t`` on the command line override it.
    """

    settings: SearchSettings = field(default_factory=SearchSettings)
    for_s: float = SEARCH_AT_MOST_S

    def __post_init__(self) -> None:
        _require_types("load Search", self)
        if not 0 < self.for_s <= MOST_S:
            rule = f"must last longer than 0 s, and at most {MOST_S:,} s; leave it out for {SEARCH_AT_MOST_S:g} s"
            raise ValueError(f"load Search(for_s={self.for_s}): {rule}")

    @property
    def steps(self) -> tuple[RateStep, ...]:
        """None: they are chosen while it runs."""
        return ()


@dataclass(frozen=True)
class Steps:
    """A load whose rate changes, of all producers together: ``100,200,400@20s``. See `records.rate_steps`.

    ``--rate`` on the command line overrides it. Raises UserError.
    """

    text: str

    def __post_init__(self) -> None:
        _require_types("load Steps", self)
        assert self.steps  # a text that is none is refused here

    @cached_property
    def steps(self) -> tuple[RateStep, ...]:
        """The steps in their order."""
        return parse_steps(self.text)

    @property
    def for_s(self) -> float:
        """How long they last together."""
        return float(ends_s(self.steps)[-1])


@dataclass(frozen=True)
class AddClients:
    """A load whose clients become more, in steps: ``50,100,200@10s``. See `records.client_steps`.

    ``--clients`` on the command line overrides it. The steps say how many users of each class there are, so
    ``fixed_count`` does not count. Raises UserError.
    """

    text: str

    def __post_init__(self) -> None:
        _require_types("load AddClients", self)
        assert self.clients  # a text that is none is refused here

    @cached_property
    def clients(self) -> ClientSteps:
        """Of all users together."""
        return parse_client_steps(self.text)

    @property
    def steps(self) -> tuple[RateStep, ...]:
        """None: every producer keeps its own rate."""
        return ()

    @property
    def for_s(self) -> float:
        """How long the steps last together."""
        return float(self.clients.for_s)


@dataclass(frozen=True)
class NeededLink:
    """A link without which a topology cannot answer a scenario's question. ``what`` names it in an error."""

    what: str
    is_one: Callable[[Topology, Link], bool]


ANY_LINK = NeededLink("link between brokers", lambda _topology, _link: True)
BETWEEN_REGIONS = NeededLink("link between two regions", lambda _topology, link: link.joins_regions)
MIRROR = NeededLink("mirror", lambda _topology, link: link.is_mirror)
PARALLEL = NeededLink(
    "second link from the same broker to the same other one",
    lambda topology, link: [(a.opened_by, a.to) for a in topology.links].count((link.opened_by, link.to)) > 1,
)
TO_A_PAIR = NeededLink("link to a pair of brokers", lambda topology, link: len(link.called(topology.brokers)) > 1)


def _leads_to_far_consumers(topology: Topology, link: Link) -> bool:
    """Whether all producers and the first consumers are at its beginning, and the next consumers at its end."""
    entered = {group.name: group.enter_at for group in topology.groups}
    producers, consumers = entered.get(PRODUCERS, ()), entered.get(CONSUMERS, ())
    return producers == consumers[:1] and tuple(broker.name for broker in consumers[:2]) in link.directions


TO_FAR_CONSUMERS = NeededLink(
    "link from a broker with all producers and the first consumers to the one with the next consumers",
    _leads_to_far_consumers,
)


@dataclass(frozen=True)
class Scenario:
    """A question to ask a topology: who sends and receives, for how long, and what must hold.

    ``users``: every class of the locustfile's that is not abstract, as Locust makes users of all of them.

    ``checks``: texts as ``--check`` has them, or what the functions of `harness.checks` return.
    ``premises``: such checks, too: what ``faults`` must have brought about for the run to have asked its question;
    without it the run is invalid. They are left out with the scenario's faults (``--fault``).
    ``question``: the locustfile's docstring, shown at the top of the report; None where Python runs without docstrings
    (-OO). ``entries``: the least number of brokers where a client group has to enter, by its name; a topology with
    fewer cannot answer the question. ``brokers``: the least number of brokers in all. ``link``: one that the topology
    needs. ``pair``: the client group that has to enter
    at an active broker with a standby; '' if none has to. ``default_link``: what links are like in a
    run without ``--link``. ``limited_on_purpose``: why messages that wait are what the scenario asks about, if they
    are: then it is not judged whether the offered rate was held. ``answered_by``: of `records.run.ANSWERS`, what
    answers the question: the report then begins with that, and so do its charts.
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
                f"scenario: users has {strange[0]}, which is no ProducerUser or ConsumerUser; leave it out"
            )
        if not {"producer", "consumer"} <= {user.role for user in self.users}:
            raise ValueError("scenario: needs at least one ProducerUser and one ConsumerUser in users=(…)")
        if strange := [name for name in self.answered_by if name not in ANSWERS]:
            known = ", ".join(ANSWERS)
            raise ValueError(f"scenario: answered_by has {strange[0]!r}, which no report tells; take some of {known}")
        for field_name, checks in {"checks": self.checks, "premises": self.premises}.items():
            with about(f"scenario {self.name}: {field_name} has "):
                read_checks(checks)

    @property
    def name(self) -> str:
        """The locustfile's name: ``steady`` for ``scenarios/steady.py``."""
        return self.users[0].__module__.rpartition(".")[2]

    def another_topology(self, which: str) -> str:
        """What to do about a topology that cannot answer the question. ``which``: ``that has a link``."""
        return f"leave --topology out for {self.default_topology}, or choose one {which}"
