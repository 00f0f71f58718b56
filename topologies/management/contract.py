"""The management interface of a broker product: queries to a broker, their results, and the proof of a link."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from topologies.management.jolokia import Answer, Jolokia, ManagementFailed
from topologies.management.queue_users import QueueUsers
from topologies.model.endpoints import ManagementEndpoint
from topologies.model.link import Link
from topologies.model.topology import Topology

NOT_FOUND, OK = 404, 200
HEAP = "java.lang:type=Memory"
"""The MBean of a JVM's memory."""


@dataclass(frozen=True)
class Bridge:
    """One end of a link, from its broker's data. The far end of a duplex link does not know the link's name."""

    connector: str  # the link's name; '#0', '#1', … at the far end of a duplex link
    remote_broker: str
    created_by_duplex: bool
    counters: Mapping[str, int]  # by metric name: totals since the bridge came up, and backlogs


@dataclass(frozen=True)
class Figures:
    """A broker's sampled figures. Counters are totals since its start; everything is an integer."""

    broker: Mapping[str, int]  # by metric name
    queues: Mapping[str, Mapping[str, int]]  # by queue and metric
    bridges: tuple[Bridge, ...]
    clients: Mapping[str, int]  # connections by transport connector, without bridges
    subscriptions: Mapping[str, int] = field(default_factory=dict)  # stored messages by `DurableSubscription.queue`


@dataclass(frozen=True)
class NetworkSubscription:
    """A subscription of a broker, with the client id that created it."""

    client_id: str
    destination: str


@dataclass(frozen=True)
class LinkEnd:
    """A broker's data on all links that begin or end there."""

    broker: str
    bridges: tuple[Bridge, ...] = ()
    client_ids: frozenset[str] = frozenset()
    subscriptions: tuple[NetworkSubscription, ...] = ()
    failure: str = ""  # why there is no data


def named_figures(figures: Mapping[str, str], attributes: Mapping[str, Any]) -> dict[str, int]:
    """Select values from MBean attributes. ``figures``: metric name to attribute name. Pure."""
    return {metric: int(attributes[attribute]) for metric, attribute in figures.items()}


def heap_figures(memory: Mapping[str, Any]) -> dict[str, int]:
    """Return heap metrics. ``memory``: the attributes of HEAP."""
    usage = memory["HeapMemoryUsage"]
    return {"heap_used_bytes": int(usage["used"]), "heap_max_bytes": int(usage["max"])}


def value_of(broker: str, answer: Answer) -> Any:
    """Return the value; empty if a pattern matches no MBean. Raises ManagementFailed for any other error."""
    if answer.status == NOT_FOUND and "*" in answer.mbean:
        return {}
    if answer.status != OK:
        raise ManagementFailed(f"broker {broker!r}, MBean {answer.mbean}: {answer.error or 'no value'}")
    return answer.value


class ManagedBrokers(Protocol):
    """The part of a runtime that management needs (topologies.runtimes.contract.Runtime)."""

    def management(self, broker: str) -> ManagementEndpoint:
        """Return the broker's endpoint. Raises ManagementFailed if it has none."""

    def pid(self, broker: str) -> int | None: ...
    def log_path(self, broker: str) -> Path | None: ...
    def rendered(self) -> dict[str, str]: ...


class BrokerQueries(Protocol):
    """Queries to one broker of a topology. Calls raise ManagementFailed if the broker does not answer."""

    @property
    def duplex(self) -> Mapping[tuple[str, str], str]:
        """(opener, far end) to link, for products whose far end does not know the link's name."""

    def serves(self, agent: Jolokia) -> bool:
        """Return whether it has started everything that clients connect to."""

    def stands_by(self, agent: Jolokia) -> bool:
        """Return whether it waits as a standby and accepts no clients. It may also be true while a broker starts."""

    def figures(self, agent: Jolokia) -> Figures: ...
    def names(self, agent: Jolokia) -> list[str]:
        """Return the names of the brokers behind an agent; one of them should be this broker."""

    def version(self, agent: Jolokia) -> str:
        """Return the broker's version; '' if it has no management interface."""

    def connected(self, agent: Jolokia) -> frozenset[str]:
        """Return an identifier for each client connection; connections of other brokers' links are left out."""

    def disconnect(self, agent: Jolokia, connections: Iterable[str]) -> None:
        """End these connections from `connected`. Connections that are already closed are ignored."""


@dataclass(frozen=True)
class QueuedMessage:
    """A message on a queue: the beginning of the body, as far as management returns it, and the send time."""

    body: bytes
    sent_ms: int


@dataclass(frozen=True)
class DurableSubscription:
    """A durable subscription at a broker, of a client or of another broker's link.

    ``active``: a client is using it now. ``waiting``: messages that the broker stores for it.
    """

    client_id: str
    name: str
    topic: str
    selector: str
    active: bool
    waiting: int

    @property
    def queue(self) -> str:
        """The queue name for its leftover messages. No client's queue has this name by accident."""
        return f"{self.client_id}.{self.name}"


@dataclass(frozen=True)
class StoreLimit:
    """How to change the store limit of a running broker. All functions raise ManagementFailed.

    ``lower``: set the limit below the current content; returns the previous limit in bytes. ``restore``: set that limit
    again. ``percent``: the used percentage of the limit; at 100 or more the store is full.
    """

    lower: Callable[[Jolokia], int]
    restore: Callable[[Jolokia, int], None]
    percent: Callable[[Jolokia], int]


@dataclass(frozen=True)
class LinkAttempt:
    """An attempt of a link's opener to connect: its Unix time, and its result; '' if the log does not have it."""

    at_ns: int
    result: str = ""

    @property
    def connected(self) -> bool:
        return self.result == "connected"


@dataclass(frozen=True)
class LinkLog:
    """What the opener of a link logs about it.

    ``give_up_pattern``: a pattern, by the link's name and the addresses that it calls, of the text that the opener logs
    once it makes no more attempts. ``advice``: how to avoid this. ``addresses``: each ``host:port`` that a link calls,
    by the rendered files, its opener and its name; None if the log names links. ``attempts``: the attempts to connect
    to addresses, from the lines of a log; None if the log does not have them.
    """

    give_up_pattern: Callable[[str, Sequence[str]], re.Pattern[str]]
    advice: str
    addresses: Callable[[Mapping[str, str], str, str], tuple[str, ...]] | None = None
    attempts: Callable[[Sequence[str], Sequence[str]], list[LinkAttempt]] | None = None


@dataclass(frozen=True)
class ProductManagement:
    """How to manage the brokers of a product.

    ``queries``: the queries to a broker of a topology, by its name. ``link_end``: a broker's data on its link ends.
    ``missing``: one sentence per missing proof of a link, from the ends of all queried brokers. ``start_link`` and
    ``stop_link`` start and stop the opener of a link, by the link's name and the opener's agent. ``link_log``: how to
    read its log; None if unknown.

    If clients cannot browse, queues are browsed another way: by management with ``browse``, which returns every message
    on a queue, or by the protocol ``browse_by``. ``unbrowsable``: protocols whose clients can browse, but not with this
    product. ``backlogs_on_queues``: messages that wait for a durable subscription are on a queue, where they are
    counted and browsed. ``durable_subscriptions``: a broker's durable subscriptions; None if they are queues.
    ``remove_subscription``: removes one, with its messages. ``store_limit``: None if a running broker's limit cannot be
    changed. ``queue_users``: the consumers of queues. ``list_queues``: all queues of a broker, including internal ones,
    with their messages; None for a product without mirrors.
    """

    queries: Callable[[Topology, str], BrokerQueries]
    link_end: Callable[[Jolokia], Any]
    missing: Callable[[Link, Mapping[str, Any]], tuple[str, ...]]
    start_link: Callable[[Jolokia, str], None]
    stop_link: Callable[[Jolokia, str], None]
    link_log: LinkLog | None = None
    browse: Callable[[Jolokia, str], list[QueuedMessage]] | None = None
    browse_by: str = ""
    unbrowsable: frozenset[str] = frozenset()
    backlogs_on_queues: bool = False
    durable_subscriptions: Callable[[Jolokia], list[DurableSubscription]] | None = None
    remove_subscription: Callable[[Jolokia, DurableSubscription], None] | None = None
    store_limit: StoreLimit | None = None
    queue_users: QueueUsers | None = None
    list_queues: Callable[[Jolokia], dict[str, int]] | None = None


def management_of(topology: Topology) -> ProductManagement:
    """Return the management interface of the topology's product."""
    management = topology.product.management
    assert isinstance(management, ProductManagement), f"product {topology.product.name!r} has no management"
    return management


def pair_members(topology: Topology, name: str) -> tuple[str, ...]:
    """Return the brokers that can replace each other: the active broker, then its standbys.

    Raises KeyError for an unknown broker.
    """
    active = topology.broker(name).active
    return (active, *(broker.name for broker in topology.brokers if broker.standby_of == active))


def queries_of(topology: Topology, name: str) -> BrokerQueries:
    """Return the queries for one broker of a topology. Raises KeyError if the topology does not have it."""
    return management_of(topology).queries(topology, name)


def queries_by_broker(topology: Topology) -> Mapping[str, BrokerQueries]:
    return {broker.name: queries_of(topology, broker.name) for broker in topology.brokers}


def serving(runtime: ManagedBrokers, topology: Topology, name: str, timeout_s: float) -> str:
    """Return the broker that serves now: this broker or its replacement; empty if no broker reports that it serves."""
    for member in pair_members(topology, name):
        with suppress(ManagementFailed), closing(Jolokia(runtime.management(member), timeout_s)) as agent:
            if queries_of(topology, member).serves(agent):
                return member
    return ""
