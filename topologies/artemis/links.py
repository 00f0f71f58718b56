"""Links between two Artemis brokers: a cluster, or an AMQP connection that one of them opens.

Defaults are from Artemis 2.44.0.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, fields
from typing import ClassVar

from topologies.model.broker import AnyBroker
from topologies.model.explicit_fields import replace_explicitly
from topologies.model.link import Link
from topologies.model.site import is_before
from topologies.model.topology import Topology
from topologies.model.validity import (
    UNLIMITED,
    TopologyInvalid,
    choice,
    limit,
    number,
    plain,
    require_name,
    require_plain,
    require_rules,
)

BALANCING = ("ON_DEMAND", "STRICT", "OFF", "OFF_WITH_REDISTRIBUTION")


@dataclass(frozen=True)
class ClusterConnection:
    """The cluster settings of every member. All links of one cluster have the same settings."""

    name: str = "cluster"
    # OFF: no message crosses. OFF_WITH_REDISTRIBUTION: only messages that lost their consumers cross, after
    # redistribution_delay_ms.
    message_load_balancing: str = choice(*BALANCING)
    max_hops: int = number(1, least=1)
    use_duplicate_detection: bool = True
    retry_interval_ms: int = number(500, least=1)
    retry_interval_multiplier: float = number(1.0, least=1)
    max_retry_interval_ms: int = number(2000, least=1)
    initial_connect_attempts: int = limit(-1)
    reconnect_attempts: int = limit(-1)
    check_period_ms: int = number(30_000, least=1)
    connection_ttl_ms: int = number(60_000, least=1)
    call_timeout_ms: int = number(30_000, least=1)
    call_failover_timeout_ms: int = limit(-1)
    min_large_message_bytes: int = number(102_400, least=1)
    confirmation_window_bytes: int = number(10_485_760, least=1)
    producer_window_bytes: int = limit(1_048_576)
    notification_interval_ms: int = number(1000, least=1)
    notification_attempts: int = number(2, least=1)
    topology_scanner_attempts: int = number(30, least=1)

    def __post_init__(self) -> None:
        require_name("cluster", self.name)
        require_rules(f"cluster {self.name!r}", self)


@dataclass(frozen=True)
class ClusterLink(Link):
    """Two members of a cluster: each opens a bridge to the other, so the link is symmetric."""

    kind: ClassVar[str] = "clusterConnection"
    carried_by: ClassVar[str] = "core"

    cluster: ClusterConnection = field(default_factory=ClusterConnection)

    def __post_init__(self) -> None:
        super().__post_init__()
        hops = self.cluster.max_hops
        _follows(self, "cluster members are connected both ways", duplex=True)
        _follows(self, f"the cluster's max_hops={hops} sets this limit", message_ttl=hops, consumer_ttl=hops)

    @property
    def cluster_name(self) -> str:
        return self.cluster.name

    @property
    def logs_in_at(self) -> tuple[AnyBroker, ...]:
        """Both members, as each connects to the other."""
        return (self.opened_by, self.to)

    @property
    def limits(self) -> dict[str, int]:
        """The link's hop limits. A cluster counts only links of this cluster."""
        return {"max_hops": self.cluster.max_hops}

    @property
    def directions(self) -> tuple[tuple[str, str], ...]:
        return () if self.cluster.message_load_balancing == "OFF" else super().directions


@dataclass(frozen=True)
class AddressMatch:
    """The addresses of a sender, a receiver or a peer: a pattern (``#``, ``*``), or the name of one queue."""

    address_match: str = plain()
    queue_name: str = plain()

    def __post_init__(self) -> None:
        require_rules("address match", self)
        if bool(self.address_match) == bool(self.queue_name):
            raise TopologyInvalid(
                f"address match: address_match={self.address_match!r} and queue_name={self.queue_name!r};"
                " give exactly one of them"
            )

    @property
    def described(self) -> str:
        """``orders.#``, or ``queue orders``."""
        return self.address_match or f"queue {self.queue_name}"


@dataclass(frozen=True)
class Mirror:
    """The broker events that a mirror repeats: every send, and by default acknowledgments and queues.

    Messages older than the mirror are not repeated. With ``sync`` a send also waits for the target.
    """

    message_acknowledgements: bool = True
    queue_creation: bool = True
    queue_removal: bool = True
    durable: bool = True  # whether messages waiting for the target survive a restart
    sync: bool = False
    # "orders,prices,!prices.eu": address prefixes, excluded with !; empty: all
    address_filter: str = plain()
    properties: tuple[tuple[str, str], ...] = ()

    def __post_init__(self) -> None:
        require_rules("mirror", self)
        for name, value in self.properties:
            require_name("mirror: property", name)
            require_plain("mirror", **{name: value})


@dataclass(frozen=True)
class BrokerConnection(Link):
    """An AMQP connection (``amqp-connection``) and its links. Unlike a bridge it does not wait for demand.

    ``senders`` push messages from a local queue to the other end. ``receivers`` pull from there into a local queue,
    which must exist. ``peers`` do both with a router's waypoint. A ``mirror`` repeats this broker's events there.
    ``alternates`` are tried one after another after the other end. The connection stays with the first that listens.
    With a mirror, the end and its alternates must be a pair with one store.
    """

    kind: ClassVar[str] = "amqpConnection"
    carried_by: ClassVar[str] = "amqp"
    on_demand: ClassVar[bool] = False

    senders: tuple[AddressMatch, ...] = ()
    receivers: tuple[AddressMatch, ...] = ()
    peers: tuple[AddressMatch, ...] = ()
    mirror: Mirror | None = None
    alternates: tuple[AnyBroker, ...] = ()  # written after # in its URI
    retry_interval_ms: int = number(5000, least=1)
    reconnect_attempts: int = limit(-1)
    auto_start: bool = True  # otherwise management starts it: startBrokerConnection

    def __post_init__(self) -> None:
        super().__post_init__()
        back = bool(self.receivers or self.peers)
        ways = "senders and a mirror go forward, receivers go back, and peers go both ways"
        _follows(self, ways, duplex=back and self._forth)
        _follows(self, "AMQP connections do not count hops", message_ttl=UNLIMITED, consumer_ttl=UNLIMITED)
        if not (back or self._forth):
            raise TopologyInvalid(f"link {self.name!r} carries nothing: add senders, receivers, peers or a mirror")

    @property
    def limits(self) -> dict[str, int]:
        """Empty: AMQP connections do not count hops."""
        return {}

    @property
    def destination_rules(self) -> tuple[str, ...]:
        matches = {"senders": self.senders, "receivers": self.receivers, "peers": self.peers}
        rules = {name: ", ".join(match.described for match in given) for name, given in matches.items()}
        rules["mirror address_filter"] = self.mirror.address_filter if self.mirror else ""
        return tuple(f"{name}: {value}" for name, value in rules.items() if value)

    @property
    def starts_by_itself(self) -> bool:
        return self.auto_start

    @property
    def is_mirror(self) -> bool:
        return self.mirror is not None

    def called(self, brokers: Iterable[AnyBroker]) -> tuple[AnyBroker, ...]:
        return tuple(dict.fromkeys((self.to, *self.alternates)))

    def between(self, opened_by: AnyBroker, to: AnyBroker) -> Link:
        """Return the link between two other brokers, without the alternates, because they belong to the other end."""
        return replace_explicitly(self, name="", opened_by=opened_by, to=to, alternates=())

    @property
    def _forth(self) -> bool:
        return bool(self.senders or self.peers or self.mirror)

    @property
    def directions(self) -> tuple[tuple[str, str], ...]:
        forth = (self.opened_by.name, self.to.name)
        if self.duplex:
            return (forth, forth[::-1])
        return (forth,) if self._forth else (forth[::-1],)


def _follows(link: Link, why: str, **derived: int) -> None:
    """Set derived fields. A given value must be equal to the derived value, or to the default of `Link`."""
    usual = {field.name: field.default for field in fields(Link)}
    for name, value in derived.items():
        stated = getattr(link, name)
        if stated not in (usual[name], value):
            raise TopologyInvalid(f"link {link.name!r}: {name}={stated}, but {why}; leave it out", field=name)
        object.__setattr__(link, name, value)


def cluster_links(members: Iterable[AnyBroker], cluster: ClusterConnection) -> tuple[ClusterLink, ...]:
    """Return a link between each pair of ``members``: a symmetric cluster."""
    all_members = tuple(members)
    return tuple(
        ClusterLink(opened_by=earlier, to=later, cluster=cluster)
        for index, earlier in enumerate(all_members)
        for later in all_members[index + 1 :]
    )


TOPOLOGY_SCANNER = (2, 41)  # ARTEMIS-5382


def unsupported_settings(topology: Topology, version: str) -> Iterator[str]:
    """Yield one sentence per setting that a topology uses and that ``version`` does not support."""
    if not is_before(version, TOPOLOGY_SCANNER):
        return
    clusters = dict.fromkeys(link.cluster for link in topology.links if isinstance(link, ClusterLink))
    for cluster in clusters:
        if cluster.topology_scanner_attempts != ClusterConnection.topology_scanner_attempts:
            yield f"cluster {cluster.name!r} sets topology_scanner_attempts, which Artemis supports since 2.41"
