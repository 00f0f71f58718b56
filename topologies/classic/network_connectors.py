"""Models Classic's network connectors, which are links, and how each finds the broker at its end.

Defaults of `NetworkConnector` are from the beans of ActiveMQ Classic 5.18.3. Older manuals differ on
``decrease_network_consumer_priority`` (AMQ-5137) and ``always_sync_send`` (AMQ-3331). Properties that take a Java
object are omitted (bridgeFactory, connectionFilter, sslContext).
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from ipaddress import ip_address
from typing import ClassVar

from topologies.classic.broker import Broker
from topologies.model.broker import AnyBroker
from topologies.model.link import Link
from topologies.model.validity import (
    TopologyInvalid,
    destinations,
    number,
    plain,
    require_at_least,
    require_limit,
    require_name,
    require_rules,
)

PLAIN = ("tcp", "nio")
DESTINATION_LISTS = (
    "excluded_destinations",
    "dynamically_included_destinations",
    "statically_included_destinations",
)


@dataclass(frozen=True)
class StaticDiscovery:
    """The opening broker has the address, and retries with these settings. Defaults are from 5.18.3's ``static:``.

    There is no jitter.

    If the link's end has a standby, the URI is ``masterslave:`` with the same settings.
    """

    kind: ClassVar[str] = "static"

    initial_reconnect_delay_ms: int = number(1000, least=1)
    max_reconnect_delay_ms: int = 30_000
    use_exponential_back_off: bool = True
    back_off_multiplier: int = number(2, least=1)
    max_reconnect_attempts: int = number(0, least=0)  # 0: forever
    # A bridge that was up for this long restarts with the initial delay.
    min_connect_time_ms: int = number(5000, least=0)

    def __post_init__(self) -> None:
        subject = "static discovery"
        require_rules(subject, self)
        require_at_least(subject, self.initial_reconnect_delay_ms, max_reconnect_delay_ms=self.max_reconnect_delay_ms)


@dataclass(frozen=True)
class FailoverDiscovery:
    """The failover transport connects, as in ``static:(failover:(…))``. Defaults are those of 5.18.3's ``failover:``.

    It tries the link's end and its standby. With ``randomize: false`` and ``max_reconnect_attempts: 0`` it is what
    ``masterslave:`` makes of its URIs: the transport fails at once, and the discovery agent opens a new bridge. With
    -1 it reconnects below the bridge.
    """

    kind: ClassVar[str] = "failover"

    initial_reconnect_delay_ms: int = number(10, least=1)
    max_reconnect_delay_ms: int = 30_000
    use_exponential_back_off: bool = True
    max_reconnect_attempts: int = number(-1, least=-1)  # -1: forever; 0: none
    randomize: bool = True

    def __post_init__(self) -> None:
        subject = "failover discovery"
        require_rules(subject, self)
        require_at_least(subject, self.initial_reconnect_delay_ms, max_reconnect_delay_ms=self.max_reconnect_delay_ms)


@dataclass(frozen=True)
class MulticastDiscovery:
    """The far broker announces itself by multicast; brokers that listen open the bridge. Defaults are from 5.18.3.

    Without ``group`` every broker announces itself in a separate group, so a link has exactly the end in the topology.
    With ``group`` all brokers of this group find each other: each opens a bridge to every other, by one connector.
    ``time_to_live``: the number of routers that its packets may pass. A broker that is silent for ten keep-alive
    intervals counts as gone.
    """

    kind: ClassVar[str] = "multicast"

    group: str = ""
    address: str = "239.255.2.3"
    port: int = number(6155, least=1, most=65_535)
    time_to_live: int = number(1, least=0, most=255)
    keep_alive_interval_ms: int = number(500, least=1)
    initial_reconnect_delay_ms: int = number(5000, least=1)
    max_reconnect_delay_ms: int = 30_000
    use_exponential_back_off: bool = False
    back_off_multiplier: int = number(2, least=1)
    max_reconnect_attempts: int = number(0, least=0)  # 0: forever

    def __post_init__(self) -> None:
        subject = "multicast discovery"
        if not _is_multicast(self.address):
            raise TopologyInvalid(
                f"{subject}: address={self.address!r}, but it must be a multicast address, e.g. 239.255.2.3",
                field="address",
            )
        if self.group:
            require_name(f"{subject}: group", self.group)
        require_rules(subject, self)
        require_at_least(subject, self.initial_reconnect_delay_ms, max_reconnect_delay_ms=self.max_reconnect_delay_ms)


def _is_multicast(address: str) -> bool:
    try:
        return ip_address(address).is_multicast
    except ValueError:
        return False


@dataclass(frozen=True)
class NetworkConnector(Link):
    """A Classic bridge: messages go from ``opened_by`` to ``to`` on demand, and with ``duplex`` also back.

    ``network_ttl``: sets both TTLs, and is rendered instead of them.
    """

    kind: ClassVar[str] = "networkConnector"
    REPLACES: ClassVar[Mapping[str, tuple[str, ...]]] = {
        "network_ttl": ("message_ttl", "consumer_ttl"),
        "message_ttl": ("network_ttl",),
        "consumer_ttl": ("network_ttl",),
    }

    network_ttl: int | None = None

    # demand
    conduit_subscriptions: bool = True  # a remote broker's consumers of a destination count as one
    conduit_network_queue_subscriptions: bool = False
    dynamic_only: bool = False
    static_bridge: bool = False
    destination_filter: str = plain()  # empty: derived from the dynamically included destinations
    excluded_destinations: tuple[str, ...] = destinations()  # queue://NAME or topic://NAME, wildcards allowed
    dynamically_included_destinations: tuple[str, ...] = destinations()
    statically_included_destinations: tuple[str, ...] = destinations()
    suppress_duplicate_queue_subscriptions: bool = False
    suppress_duplicate_topic_subscriptions: bool = True
    use_virtual_dest_subs: bool = False
    sync_durable_subs: bool = False
    bridge_temp_destinations: bool = True
    # dispatch
    decrease_network_consumer_priority: bool = True
    consumer_priority_base: int = number(-5, least=-128, most=127)
    prefetch_size: int = number(1000, least=1)
    advisory_prefetch_size: int = number(0, least=0)  # 0: same as prefetch_size
    advisory_ack_percentage: int = number(75, least=1, most=100)
    dispatch_async: bool = True
    always_sync_send: bool = True
    use_compression: bool = False
    advisory_for_failed_forward: bool = False
    check_duplicate_messages_on_duplex: bool = False
    # names and housekeeping
    client_id_token: str = plain("_")
    use_broker_name_as_id_seed: bool = True
    gc_destination_views: bool = True
    gc_sweep_time_ms: int = number(60_000, least=1)
    # connection
    # Silence after which the bridge is closed; the smaller value of both ends applies.
    max_inactivity_ms: int = number(30_000, least=0)
    discovery: StaticDiscovery | FailoverDiscovery | MulticastDiscovery = field(default_factory=StaticDiscovery)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.network_ttl is not None:
            self._set_ttls(self.network_ttl)

    def _set_ttls(self, network_ttl: int) -> None:
        """Set both TTLs. A given TTL must be equal to ``network_ttl``, or to its default."""
        subject = f"link {self.name!r}"
        require_limit(subject, network_ttl=network_ttl)
        for name, value in (("message_ttl", self.message_ttl), ("consumer_ttl", self.consumer_ttl)):
            if value not in (Link.message_ttl, network_ttl):
                raise TopologyInvalid(
                    f"{subject}: network_ttl={network_ttl} sets message_ttl and consumer_ttl, but {name}={value};"
                    f" leave {name} or network_ttl out",
                    field=name,
                )
            object.__setattr__(self, name, network_ttl)

    def ttl_field(self, limit: str) -> str:
        return limit if self.network_ttl is None else "network_ttl"

    @property
    def logs_in_at(self) -> tuple[AnyBroker, ...]:
        """Both ends: a bridge is a client of its own broker too."""
        return (self.opened_by, self.to)

    @property
    def declares_retries(self) -> bool:
        return self.discovery not in (StaticDiscovery(), MulticastDiscovery())

    @property
    def multicast_group(self) -> str:
        """The group in which brokers find each other; '' if the link looks for one broker."""
        return self.discovery.group if isinstance(self.discovery, MulticastDiscovery) else ""

    @property
    def connector(self) -> str:
        """One connector opens the links to all brokers of a group."""
        return self.multicast_group or self.name

    @property
    def uses_tls(self) -> bool:
        return isinstance(self.to, Broker) and self.to.connector("openwire").is_secure

    @property
    def destination_rules(self) -> tuple[str, ...]:
        lists = {name: ", ".join(getattr(self, name)) for name in DESTINATION_LISTS}
        rules = {"destination_filter": self.destination_filter, **lists}
        only_static = ("static_bridge: true",) if self.static_bridge else ()
        return (*(f"{name}: {value}" for name, value in rules.items() if value), *only_static)

    @property
    def plain_protocol(self) -> str:
        plain = isinstance(self.to, Broker) and self.to.connector("openwire").called_by in PLAIN
        return self.carried_by if plain else ""

    def called(self, brokers: Iterable[AnyBroker]) -> tuple[AnyBroker, ...]:
        """Return the end of the link and its standby."""
        return (self.to, *(broker for broker in brokers if broker.standby_of == self.to.name))
