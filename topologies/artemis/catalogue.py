"""The topologies of ActiveMQ Artemis that come with the project: one function each, with its picture."""

from collections.abc import Callable

from records.tables.schemas import CANARY_PREFIX
from topologies.artemis.addresses import Address, AddressSetting
from topologies.artemis.broker import SHARED_STORE, ArtemisBroker, HaPolicy
from topologies.artemis.links import (
    AddressMatch,
    BrokerConnection,
    ClusterConnection,
    Mirror,
    cluster_links,
)
from topologies.artemis.product import ARTEMIS
from topologies.artemis.router import Router
from topologies.model.broker import AnyBroker
from topologies.model.client_groups import CONSUMERS, PRODUCERS, ClientGroup
from topologies.model.link import Link
from topologies.model.topology import Topology
from topologies.model.validity import TopologyInvalid, require_between

MOST_IN_A_CLUSTER = 20
# Brokers start in parallel, so a link's first attempt may come before its target listens. 2.44.0 then waits 5 s.
RETRY_MS = 500
# For messages whose consumers moved to another broker. 2.44.0 never moves them by default: they wait for a consumer.
REDISTRIBUTION_MS = 0
# All clients of a pair connect to the first broker that answers. That is the active one: the backup does not listen.
IN_ORDER, ANYWHERE = "randomize=false", "randomize=true"


def artemis_single() -> Topology:
    """One Artemis broker, as a baseline.

    producers --> broker-1 --> consumers
    """
    only = ArtemisBroker("broker-1")
    return _topology("artemis-single", (only,), (), _at((only,), (only,)))


def live_backup(ha: str = SHARED_STORE, failover_on_shutdown: bool = False) -> Topology:
    """A live broker and its backup: when the live broker dies, the backup takes over its shared or replicated store.

    producers --> broker-1 ======== broker-1-backup
    consumers <--  (live)   store
    """
    policy = HaPolicy(ha, failover_on_shutdown=failover_on_shutdown)
    brokers = (ArtemisBroker("broker-1", ha=policy), ArtemisBroker("broker-1-backup", standby_of="broker-1", ha=policy))
    name = "live-backup" if ha == SHARED_STORE else f"live-backup-{ha}"
    return _topology(name, brokers, (), _at(brokers, brokers, IN_ORDER))


def cluster(
    brokers: int = 3,
    message_load_balancing: str = "ON_DEMAND",
    redistribution_delay_ms: int = REDISTRIBUTION_MS,
    max_hops: int = 1,
) -> Topology:
    """A symmetric cluster: each broker forwards messages to brokers with consumers; clients connect to any broker.

    broker-1 ---- broker-2
          \\        /
           broker-3
    """
    require_between("cluster", 2, MOST_IN_A_CLUSTER, brokers=brokers)
    settings = (AddressSetting(redistribution_delay_ms=redistribution_delay_ms),)
    members = tuple(ArtemisBroker(f"broker-{n}", address_settings=settings) for n in range(1, brokers + 1))
    connection = ClusterConnection(message_load_balancing=message_load_balancing, max_hops=max_hops)
    return _topology(f"cluster-of-{brokers}", members, cluster_links(members, connection), _at(members, members))


def senders(
    match: str = "#",
    alternate: bool = False,
    retry_interval_ms: int = RETRY_MS,
    reconnect_attempts: int = -1,
    auto_start: bool = True,
) -> Topology:
    """The producers' broker pushes messages from its queues to the consumers' broker, with or without demand.

    producers --> source -- sender --> sink --> consumers
    """
    source = ArtemisBroker("source")
    brokers, ends = _ends(source, ArtemisBroker("sink"), alternate)
    link = BrokerConnection(
        source, ends[0],
        senders=_matching("senders", match), alternates=ends[1:], retry_interval_ms=retry_interval_ms,
        reconnect_attempts=reconnect_attempts, auto_start=auto_start,
    )  # fmt: skip
    return _topology("senders", brokers, (link,), _at((source,), ends, IN_ORDER))


def receivers(
    match: str = "#",
    queues: str = "steady",
    alternate: bool = False,
    retry_interval_ms: int = RETRY_MS,
    reconnect_attempts: int = -1,
    auto_start: bool = True,
) -> Topology:
    """The consumers' broker pulls messages from the producers' broker into its own predefined queues.

    producers --> source <-- receiver -- sink --> consumers
    """
    addresses = tuple(Address(name) for name in (*_listed("receivers", queues), f"{CANARY_PREFIX}sink"))
    sink = ArtemisBroker("sink", addresses=addresses)
    brokers, ends = _ends(sink, ArtemisBroker("source"), alternate)
    link = BrokerConnection(
        sink, ends[0],
        receivers=_matching("receivers", match), alternates=ends[1:], retry_interval_ms=retry_interval_ms,
        reconnect_attempts=reconnect_attempts, auto_start=auto_start,
    )  # fmt: skip
    return _topology("receivers", brokers, (link,), _at(ends, (sink,), IN_ORDER))


def mirror(
    message_acknowledgements: bool = True,
    queue_creation: bool = True,
    queue_removal: bool = True,
    durable: bool = True,
    sync: bool = False,
    address_filter: str = "",
    alternate: bool = False,
    retry_interval_ms: int = RETRY_MS,
    reconnect_attempts: int = -1,
    auto_start: bool = True,
    clients_at_both: bool = False,
) -> Topology:
    """Disaster recovery: everything that happens on the broker in use is repeated on a second broker, one way.

    producers --> broker-1 -- mirror --> broker-2 <-- (clients, afterwards, with clients_at_both)
    consumers <--
    """
    used = ArtemisBroker("broker-1")
    brokers, ends = _ends(used, ArtemisBroker("broker-2"), alternate)
    mirrored = Mirror(message_acknowledgements, queue_creation, queue_removal, durable, sync, address_filter)
    link = BrokerConnection(
        used, ends[0],
        mirror=mirrored, alternates=ends[1:], retry_interval_ms=retry_interval_ms,
        reconnect_attempts=reconnect_attempts, auto_start=auto_start,
    )  # fmt: skip
    # In order: clients connect to the copy only once the broker in use is gone.
    groups = _at(brokers, brokers, IN_ORDER) if clients_at_both else _at((used,), (used,))
    return _topology("mirror" + "-clients-at-both" * clients_at_both, brokers, (link,), groups)


def dual_mirror(
    message_acknowledgements: bool = True,
    queue_creation: bool = True,
    queue_removal: bool = True,
    durable: bool = True,
    sync: bool = False,
    address_filter: str = "",
    alternate: bool = False,
    retry_interval_ms: int = RETRY_MS,
    reconnect_attempts: int = -1,
    auto_start: bool = True,
) -> Topology:
    """Two data centers that mirror each other: clients use the first, and move to the second if the first fails.

    clients <--> dc-1 -- mirror --> dc-2 <-- (clients, afterwards)
                      <-- mirror --
    """
    mirrored = Mirror(message_acknowledgements, queue_creation, queue_removal, durable, sync, address_filter)
    centers = tuple(_pair(name) if alternate else (ArtemisBroker(name),) for name in ("dc-1", "dc-2"))
    links = tuple(
        BrokerConnection(
            here[0], there[0],
            mirror=mirrored, alternates=there[1:], retry_interval_ms=retry_interval_ms,
            reconnect_attempts=reconnect_attempts, auto_start=auto_start,
        )
        for here, there in (centers, centers[::-1])
    )  # fmt: skip
    brokers = (*centers[0], *centers[1])
    # In order: with a consumer at each data center messages arrive twice, as no acknowledgment recalls a delivery.
    return _topology("dual-mirror", brokers, links, _at(brokers, brokers, IN_ORDER))


def router_peer(queues: str = "steady", retry_interval_ms: int = RETRY_MS) -> Topology:
    """A router between clients and a broker: the broker stores the messages in predefined queues.

    producers --> router --> consumers
                  |    ^
                  v    |  peer
                 broker-1
    """
    names = (*_listed("router-peer", queues), f"{CANARY_PREFIX}router")
    # No client connects to the broker, so no client would create a queue there.
    broker = ArtemisBroker("broker-1", addresses=tuple(Address(name) for name in names))
    router = Router("router", waypoints=names)
    peers = tuple(AddressMatch(name) for name in names)
    link = BrokerConnection(broker, router, peers=peers, retry_interval_ms=retry_interval_ms)
    return _topology("router-peer", (broker, router), (link,), _at((router,), (router,)))


def _matching(entry: str, pattern: str) -> tuple[AddressMatch, ...]:
    if not pattern.strip():
        raise TopologyInvalid(f"{entry}: match={pattern!r}, but it must be a pattern of addresses, e.g. orders.#")
    return (AddressMatch(pattern),)


def _listed(entry: str, queues: str) -> tuple[str, ...]:
    """Split names separated by commas; at least one is required, as otherwise no message could pass.

    Without a name, only the entry's own canary would pass.
    """
    names = tuple(name.strip() for name in queues.split(",") if name.strip())
    if not names:
        raise TopologyInvalid(f"{entry}: queues={queues!r}; name at least one queue, e.g. orders")
    return names


def _ends(
    opener: ArtemisBroker, end: ArtemisBroker, alternate: bool
) -> tuple[tuple[ArtemisBroker, ...], tuple[ArtemisBroker, ...]]:
    """Return all brokers, and the brokers that the opener's link may end at: with ``alternate``, a live-backup pair."""
    ends = _pair(end.name) if alternate else (end,)
    return (opener, *ends), ends


def _pair(name: str) -> tuple[ArtemisBroker, ArtemisBroker]:
    """Return a live-backup pair that shares a store."""
    policy = HaPolicy()
    return ArtemisBroker(name, ha=policy), ArtemisBroker(f"{name}-backup", standby_of=name, ha=policy)


def _at(
    producers: tuple[AnyBroker, ...], consumers: tuple[AnyBroker, ...], failover: str = ANYWHERE
) -> tuple[ClientGroup, ClientGroup]:
    return ClientGroup(PRODUCERS, producers, failover), ClientGroup(CONSUMERS, consumers, failover)


def _topology(
    name: str, brokers: tuple[AnyBroker, ...], links: tuple[Link, ...], groups: tuple[ClientGroup, ...]
) -> Topology:
    return Topology(name, brokers, links, groups, ARTEMIS)


ENTRIES: dict[str, Callable[..., Topology]] = {
    "artemis-single": artemis_single,
    "live-backup": live_backup,
    "cluster": cluster,
    "senders": senders,
    "receivers": receivers,
    "mirror": mirror,
    "dual-mirror": dual_mirror,
    "router-peer": router_peer,
}
"""In reading order."""
