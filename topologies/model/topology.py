"""Models a topology: brokers of one product, the links between them, and the client groups.

Topologies are frozen and validated on creation: a `Topology` that exists is valid (otherwise it raises
`TopologyInvalid`). `Topology.warnings` lists legal settings that may be unintended. Rules that depend on the product
are in its `BrokerProduct`.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Generic

from records.loads.routes import Route
from topologies.model.broker import AnyBroker
from topologies.model.client_groups import ClientGroup
from topologies.model.deliveries import ClientDestination
from topologies.model.endpoints import ManagementEndpoint
from topologies.model.explicit_fields import replace_explicitly
from topologies.model.launch import ProductCompose, ProductLaunch
from topologies.model.link import Link
from topologies.model.management import (
    AgentT,
    BrokerQueries,
    DurableSubscription,
    LinkLog,
    QueuedMessage,
    QueueUsers,
    StoreLimit,
)
from topologies.model.paths import Path, shortest_paths
from topologies.model.proxied_links import impairment_problems
from topologies.model.site import Site
from topologies.model.validation import active, kind_problems, part_problems, reach_problems, reach_warnings
from topologies.model.validity import TopologyInvalid, require_destinations, require_name

MOST_BROKERS, MOST_LINKS = 200, 2_000
"""Larger than any network that a machine can run, and small enough to validate within a few seconds."""
Rule = Callable[[Sequence[AnyBroker], Sequence[Link]], Iterator[str]]
"""(brokers, links) -> one sentence per violation."""


@dataclass(frozen=True)
class ProductManagement(Generic[AgentT]):
    """How to manage the brokers of a product.

    ``connect``: opens the agent at an endpoint; its requests time out after the given seconds. ``path``: the path of
    the endpoint's URL.

    ``queries``: the queries to a broker of a topology, by its name. ``link_end``: a broker's data on its link ends.
    ``missing``: one sentence per missing proof of a link, from the ends of all queried brokers. ``start_link`` and
    ``stop_link`` start and stop the opener of a link, by the link's name and the opener's agent. ``link_log``: how to
    read its log; None if unknown.

    If clients cannot browse, queues are browsed another way: by management with ``browse``, which returns every message
    on a queue, or by the protocol ``browse_by``. ``unbrowsable``: protocols whose clients can browse, but not with this
    product. ``browse_names``: the names by which clients browse a queue; None if its own name is enough.
    ``backlogs_on_queues``: messages that wait for a durable subscription are on a queue, where they are
    counted and browsed. ``durable_subscriptions``: a broker's durable subscriptions; None if they are queues.
    ``remove_subscription``: removes one, with its messages. ``store_limit``: None if a running broker's limit cannot be
    changed. ``queue_users``: the consumers of queues. ``list_queues``: all queues of a broker, including internal ones,
    with their messages; None for a product without mirrors.
    """

    connect: Callable[[ManagementEndpoint, float], AgentT]
    path: str
    queries: Callable[["Topology", str], BrokerQueries[AgentT]]
    link_end: Callable[[AgentT], Any]
    missing: Callable[[Link, Mapping[str, Any]], tuple[str, ...]]
    start_link: Callable[[AgentT, str], None]
    stop_link: Callable[[AgentT, str], None]
    link_log: LinkLog | None = None
    browse: Callable[[AgentT, str], list[QueuedMessage]] | None = None
    browse_by: str = ""
    unbrowsable: frozenset[str] = frozenset()
    browse_names: Callable[[AgentT, str], list[str]] | None = None
    backlogs_on_queues: bool = False
    durable_subscriptions: Callable[[AgentT], list[DurableSubscription]] | None = None
    remove_subscription: Callable[[AgentT, DurableSubscription], None] | None = None
    store_limit: StoreLimit[AgentT] | None = None
    queue_users: QueueUsers[AgentT] | None = None
    list_queues: Callable[[AgentT], dict[str, int]] | None = None


@dataclass(frozen=True, eq=False)
class BrokerProduct:
    """Everything that the rest of the project needs from a broker product. `topologies.products` lists the products.

    * model: ``brokers`` and ``links`` are its kinds, by their names in a YAML file, the default kind first.
      ``manual_words`` are words from its manual by section of a YAML file, each with its replacement. ``join`` makes a
      link between two brokers that have none yet; the first broker opens it. ``join`` also gets the existing links.
    * validate: ``problems`` and ``warnings``.
    * reach: ``reaches`` predicts whether a message to a destination gets from one broker to another, both by name;
      ``carries_all``: whether every link certainly carries that destination.
    * deliver: ``routes`` finds the consumers that should receive messages: (brokers, producers' destinations,
      consumers' destinations). ValueError for a destination that is not understood.
    * requests: ``temporary_queues_by`` are the protocols with temporary queues, for replies; ``unanswered``: the pairs
      of them (requesters', repliers') that do not work together.
    * render: ``render`` makes a broker's files, name to text. ``lacks`` yields a sentence for each topology setting
      that a version of the product does not support. ``amazon_mq`` makes CloudFormation templates; it is None if
      Amazon MQ does not offer these brokers. ``needs_tls``: whether a broker needs certificates.
    * launch: ``launch``, and ``compose``, which is None if Docker Compose cannot start these brokers;
      ``why_no_container`` explains why a broker cannot run in a container ('' if it can), ``in_container`` is the
      broker with the addresses that it announces to clients there.
      ``for_topics`` is the broker without settings that break messages with several subscribers.
    * manage and prove: ``management``.
    """

    name: str
    brokers: Mapping[str, type[AnyBroker]]
    links: Mapping[str, type[Link]]
    problems: Rule
    reaches: Callable[[Sequence[AnyBroker], Sequence[Link], str, str, str], bool]
    carries_all: Callable[[Sequence[AnyBroker], Sequence[Link], str], bool]
    routes: Callable[[Sequence[AnyBroker], Iterable[ClientDestination], Iterable[ClientDestination]], tuple[Route, ...]]
    render: Callable[["Topology", AnyBroker, Site], Mapping[str, str]]
    launch: ProductLaunch
    management: ProductManagement[Any] = field(repr=False)
    # What follows is for products that have it.
    join: Callable[[AnyBroker, AnyBroker, Sequence[Link]], Link] | None = None
    warnings: Rule = lambda brokers, links: iter(())
    manual_words: Mapping[str, Mapping[str, str]] = field(default_factory=dict, repr=False)
    temporary_queues_by: tuple[str, ...] = ()
    unanswered: frozenset[tuple[str, str]] = frozenset()
    lacks: Callable[["Topology", str], Iterator[str]] = lambda topology, version: iter(())
    needs_tls: Callable[["Topology", AnyBroker], bool] = lambda topology, broker: False
    why_no_container: Callable[["Topology", AnyBroker], str] = lambda topology, broker: ""
    in_container: Callable[["Topology", AnyBroker], AnyBroker] = lambda topology, broker: broker
    for_topics: Callable[[AnyBroker], AnyBroker] = lambda broker: broker
    amazon_mq: Callable[["Topology"], dict[str, str]] | None = None
    compose: ProductCompose | None = None


@dataclass(frozen=True)
class Topology:
    """A network of brokers and links, all of one ``product``."""

    name: str
    brokers: tuple[AnyBroker, ...]
    links: tuple[Link, ...]
    groups: tuple[ClientGroup, ...]
    product: BrokerProduct

    def __post_init__(self) -> None:
        require_name("topology", self.name)
        for kind, members, most in (("brokers", self.brokers, MOST_BROKERS), ("links", self.links, MOST_LINKS)):
            if len(members) > most:
                rule = f"it has {len(members):,} {kind}; write at most {most:,}"
                raise TopologyInvalid(f"topology {self.name!r}: {rule}")
        parts, kinds = (self.brokers, self.links), self.product
        problems = (
            # Special kinds of links are listed before the default kind.
            *kind_problems(kinds.name, *parts, kinds.brokers.values(), tuple(kinds.links.values())[::-1]),
            *part_problems(*parts, self.groups),
            *kinds.problems(*parts),
        )
        problems = (*(problems or reach_problems(*parts, self.groups)), *impairment_problems(self.links))
        if problems:
            raise TopologyInvalid(*(f"topology {self.name!r}: {problem}" for problem in problems))

    @property
    def flavour(self) -> str:
        """The product's name: classic | artemis."""
        return self.product.name

    @property
    def warnings(self) -> tuple[str, ...]:
        """Settings that are allowed, but may be unintended."""
        return (
            *reach_warnings(self.brokers, self.links, self.groups),
            *self.product.warnings(self.brokers, self.links),
        )

    def broker(self, name: str) -> AnyBroker:
        """Return the broker with this name. Raises KeyError, which lists the brokers."""
        for broker in self.brokers:
            if broker.name == name:
                return broker
        raise KeyError(f"topology {self.name!r} has no broker {name!r}; it has {_names(self.brokers)}")

    def group(self, name: str) -> ClientGroup:
        """Return the client group with this name. Raises KeyError, which lists the groups."""
        for group in self.groups:
            if group.name == name:
                return group
        raise KeyError(
            f"topology {self.name!r} has no client group {name!r}; it has {_names(self.groups)}. "
            "Add a group of this name to the topology, or choose another group in the user class"
        )

    def opened_by(self, broker: str) -> tuple[Link, ...]:
        """Return the links that this broker opens, in the topology's order."""
        return tuple(link for link in self.links if link.opened_by.name == broker)

    def reaches(self, producer: str, consumer: str, destination: str) -> bool:
        """Return whether a message to ``queue://NAME`` or ``topic://NAME`` can get from one broker to another, by name.

        This is a prediction: the product's ``reachability.py`` lists its rules. Raises KeyError for an unknown broker,
        and `TopologyInvalid` for an invalid destination.
        """
        require_destinations(f"topology {self.name!r}", destination=(destination,))
        begin, end = self.broker(producer), self.broker(consumer)
        active_at_begin, active_at_end = (broker.active for broker in (begin, end))
        return self.product.reaches(self.brokers, self.links, active_at_begin, active_at_end, destination)

    def stopped(self, paths: Iterable[Path], destination: str) -> tuple[Path, ...]:
        """Return the ``paths`` that a message to ``destination`` cannot take.

        By prediction, their links do not carry it.
        """
        if self.product.carries_all(self.brokers, self.links, destination):
            return ()  # otherwise each of the thousands of pairs in a large mesh would be checked
        return tuple(path for path in paths if not self.reaches(path.begin, path.end, destination))

    def paths(self) -> dict[tuple[str, str], Path]:
        """Return the shortest path for every (producer's broker, consumer's broker) that links and TTLs connect.

        Standbys have no separate paths: a standby that takes over has the active broker's paths.
        """
        return shortest_paths((broker.name for broker in active(self.brokers)), self.links)

    def paths_between(self, producers: str, consumers: str) -> tuple[Path, ...]:
        """Return the paths that clients of two groups may use, by group name, in the order of the listed brokers."""
        paths = self.paths()
        begins, ends = self.group(producers).enter_at, self.group(consumers).enter_at
        pairs = ((begin.name, end.name) for begin in begins for end in ends)
        return tuple(paths[pair] for pair in pairs if pair in paths)


def _names(parts: tuple[AnyBroker, ...] | tuple[ClientGroup, ...]) -> str:
    return ", ".join(part.name for part in parts) or "none"


def with_links_opened_by(topology: Topology, joining: Collection[str]) -> Topology:
    """Return the topology with duplex links to ``joining`` brokers (names) opened by those brokers instead. Pure.

    A broker that opens a link to an absent broker retries after 1, 2, 4 … 30 s. So the join could take effect up to
    30 s after the broker starts. A joining broker opens its links at once, like a newly added machine.

    One-way links keep their opener, because it determines the direction. Cluster members connect to each other anyway.
    """
    links = tuple(_turned(link) if _is_opened_to_one(link, joining) else link for link in topology.links)
    return topology if links == topology.links else replace(topology, links=links)


def present_links(topology: Topology, absent: Collection[str]) -> tuple[Link, ...]:
    """Return the links between brokers that are not ``absent`` (names). Pure."""
    return tuple(link for link in topology.links if not {link.opened_by.name, link.to.name} & {*absent})


def _is_opened_to_one(link: Link, joining: Collection[str]) -> bool:
    turns = link.duplex and not link.cluster_name
    return turns and link.to.name in joining and link.opened_by.name not in joining


def _turned(link: Link) -> Link:
    """Return a link with its opener and its end swapped; it keeps its name if one was given."""
    turned = link.between(link.to, link.opened_by)
    is_named = link.name != link.between(link.opened_by, link.to).name
    return replace_explicitly(turned, name=link.name) if is_named else turned
