"""Says what management asks of a broker product: questions to a broker, their answers, and the proof of a link."""

from collections.abc import Callable, Iterable, Mapping
from contextlib import closing, suppress
from dataclasses import dataclass
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
    """One end of a link, from its broker's data. The far end of a duplex link does not know the link's own name."""

    connector: str  # the link's name; '#0', '#1', … at the far end of a duplex link
    remote_broker: str
    created_by_duplex: bool
    counters: Mapping[str, int]  # by metric name: totals since the bridge came up, and backlogs


@dataclass(frozen=True)
class Figures:
    """One broker's sampled figures. Counters are totals since it started; everything is an integer."""

    broker: Mapping[str, int]  # by metric name
    queues: Mapping[str, Mapping[str, int]]  # by queue and metric
    bridges: tuple[Bridge, ...]
    clients: Mapping[str, int]  # connections by transport connector, bridges left out


@dataclass(frozen=True)
class NetworkSubscription:
    """A subscription that a broker holds, by the client id that made it."""

    client_id: str
    destination: str


@dataclass(frozen=True)
class LinkEnd:
    """One broker's data on all links that begin or end there."""

    broker: str
    bridges: tuple[Bridge, ...] = ()
    client_ids: frozenset[str] = frozenset()
    subscriptions: tuple[NetworkSubscription, ...] = ()
    failure: str = ""  # why it shows nothing


def named_figures(figures: Mapping[str, str], attributes: Mapping[str, Any]) -> dict[str, int]:
    """``figures``: each metric with the attribute of the MBean that has it. Pure."""
    return {metric: int(attributes[attribute]) for metric, attribute in figures.items()}


def heap_figures(memory: Mapping[str, Any]) -> dict[str, int]:
    """``memory``: the attributes of HEAP."""
    usage = memory["HeapMemoryUsage"]
    return {"heap_used_bytes": int(usage["used"]), "heap_max_bytes": int(usage["max"])}


def value_of(broker: str, answer: Answer) -> Any:
    """The value; nothing where a pattern matches nothing."""
    if answer.status == NOT_FOUND and "*" in answer.mbean:
        return {}
    if answer.status != OK:
        raise ManagementFailed(f"broker {broker!r}, MBean {answer.mbean}: {answer.error or 'no value'}")
    return answer.value


class ManagedBrokers(Protocol):
    """The part of a runtime that management needs (topologies.runtimes.contract.Runtime)."""

    def management(self, broker: str) -> ManagementEndpoint:
        """Raises ManagementFailed when it has none."""

    def pid(self, broker: str) -> int | None: ...
    def log_path(self, broker: str) -> Path | None: ...


class BrokerQueries(Protocol):
    """How one broker of a topology is asked. Calls raise ManagementFailed when the broker does not answer."""

    @property
    def duplex(self) -> Mapping[tuple[str, str], str]:
        """(opener, far end) to link, for products that do not tell the far end the link's name."""

    def serves(self, agent: Jolokia) -> bool:
        """Whether it has started all that clients connect to."""

    def stands_by(self, agent: Jolokia) -> bool:
        """Whether it waits like a standby and listens to no client. It may be true also while a broker starts."""

    def figures(self, agent: Jolokia) -> Figures: ...
    def names(self, agent: Jolokia) -> list[str]:
        """The names of the brokers behind an agent; one of them should be this broker."""

    def version(self, agent: Jolokia) -> str:
        """The version that it reports; '' if it cannot be asked."""

    def connected(self, agent: Jolokia) -> frozenset[str]:
        """A name for each connection of a client; those of other brokers' links are left out."""

    def disconnect(self, agent: Jolokia, connections: Iterable[str]) -> None:
        """Ends these connections of `connected`. One that has gone meanwhile is no error."""


@dataclass(frozen=True)
class LyingMessage:
    """A message on a queue: the beginning of its body, as far as management shows it, and its send time."""

    body: bytes
    sent_ms: int


@dataclass(frozen=True)
class DurableSubscription:
    """One that a broker has, of a client or of another broker's link.

    ``active``: somebody uses it now. ``waiting``: messages that the broker holds for it.
    """

    client_id: str
    name: str
    topic: str
    selector: str
    active: bool
    waiting: int

    @property
    def queue(self) -> str:
        """What leftovers call it. A queue of clients has no such name by chance."""
        return f"{self.client_id}.{self.name}"


@dataclass(frozen=True)
class StoreLimit:
    """How the limit of a running broker's store is changed. All raise ManagementFailed.

    ``lower``: below what the store holds; it returns the limit before, in bytes. ``restore``: to that. ``percent``: how
    much of the limit is used; 100 and more is a full store.
    """

    lower: Callable[[Jolokia], int]
    restore: Callable[[Jolokia, int], None]
    percent: Callable[[Jolokia], int]


@dataclass(frozen=True)
class ProductManagement:
    """``queries``: the queries to a broker of a topology, by its name.

    ``link_end``: a broker's data on its links' ends. ``missing``: a sentence for each missing proof of a link, from the
    ends of all brokers that were asked. ``start_link`` and ``stop_link`` start and stop what opens a link, by its name
    and an agent of its opener. The queues of clients that cannot browse are browsed another way: by management with
    ``browse``, which gives every message on a queue, or by the protocol ``browse_by``. ``unbrowsable``: protocols whose
    clients can browse, but not with this product. ``backlogs_on_queues``: what waits for a durable subscription is on a
    queue, where it is counted and browsed. ``durable_subscriptions``: those of a broker; None if they are queues.
    ``remove_subscription``: removes one, with its messages. ``store_limit``: None if a running broker takes no other
    limit. ``queue_users``: who consumes from queues.
    """

    queries: Callable[[Topology, str], BrokerQueries]
    link_end: Callable[[Jolokia], Any]
    missing: Callable[[Link, Mapping[str, Any]], tuple[str, ...]]
    start_link: Callable[[Jolokia, str], None]
    stop_link: Callable[[Jolokia, str], None]
    browse: Callable[[Jolokia, str], list[LyingMessage]] | None = None
    browse_by: str = ""
    unbrowsable: frozenset[str] = frozenset()
    backlogs_on_queues: bool = False
    durable_subscriptions: Callable[[Jolokia], list[DurableSubscription]] | None = None
    remove_subscription: Callable[[Jolokia, DurableSubscription], None] | None = None
    store_limit: StoreLimit | None = None
    queue_users: QueueUsers | None = None


def management_of(topology: Topology) -> ProductManagement:
    """How brokers of the topology's product are asked."""
    management = topology.product.management
    assert isinstance(management, ProductManagement), f"product {topology.product.name!r} has no management"
    return management


def on_one_store(topology: Topology, name: str) -> tuple[str, ...]:
    """The brokers that can serve in one another's place: the active, then its standbys. KeyError for an unknown one."""
    active = topology.broker(name).active
    return (active, *(broker.name for broker in topology.brokers if broker.standby_of == active))


def queries_of(topology: Topology, name: str) -> BrokerQueries:
    """KeyError for a broker that the topology does not have."""
    return management_of(topology).queries(topology, name)


def queries_by_broker(topology: Topology) -> Mapping[str, BrokerQueries]:
    return {broker.name: queries_of(topology, broker.name) for broker in topology.brokers}


def serving(runtime: ManagedBrokers, topology: Topology, name: str, timeout_s: float) -> str:
    """The broker that serves now: this one, or one that takes its place; '' if none says so."""
    for member in on_one_store(topology, name):
        with suppress(ManagementFailed), closing(Jolokia(runtime.management(member), timeout_s)) as agent:
            if queries_of(topology, member).serves(agent):
                return member
    return ""
