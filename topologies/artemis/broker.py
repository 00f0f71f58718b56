"""Models an ActiveMQ Artemis broker: its acceptors, its store, its addresses and its standby.

Defaults are from Artemis 2.44.0 unless a comment says otherwise. Their sources are its schema and its
ActiveMQDefaultConfiguration.
"""

from dataclasses import dataclass, field
from typing import ClassVar

from records.units import MS_PER_S
from topologies.artemis.addresses import DEFAULT_ADDRESS_SETTINGS, Address, AddressSetting
from topologies.artemis.users import ArtemisUser
from topologies.jvm.settings import Jvm
from topologies.model.broker import MIB, AnyBroker
from topologies.model.users import LinkUser
from topologies.model.validity import (
    TopologyInvalid,
    choice,
    limit,
    number,
    plain,
    require_distinct,
    require_name,
    require_rules,
)

ALL = "all"  # one port for every protocol
ACCEPTED = {"core": "CORE", "amqp": "AMQP", "stomp": "STOMP", "openwire": "OPENWIRE", "mqtt": "MQTT"}
"""Protocol, as endpoints name it, to Artemis's name for it."""
# How clients of a protocol write queue and topic, so that one destination means the same to Classic and Artemis.
PREFIXES = {
    "stomp": ("/queue/", "/topic/"),
    "amqp": ("queue://", "topic://"),
    ALL: ("/queue/,queue://", "/topic/,topic://"),
}


@dataclass(frozen=True)
class Acceptor:
    """One listening port, for one protocol or for `ALL`."""

    KEY: ClassVar[tuple[str, ...]] = ("protocol",)

    protocol: str = choice(*ACCEPTED, ALL, default="core")
    name: str = ""  # default: the protocol's
    connections_allowed: int = limit(-1)
    anycast_prefix: str = plain()  # default: how clients of this protocol write a queue; Artemis's default is none
    multicast_prefix: str = plain()
    tcp_send_buffer_bytes: int = number(1 * MIB, least=1)  # as `artemis create` writes; 2.44.0's default is 32 KiB
    tcp_receive_buffer_bytes: int = number(1 * MIB, least=1)
    amqp_credits: int = number(1000, least=1)
    amqp_low_credits: int = number(300, least=1)
    amqp_min_large_message_bytes: int = number(102_400, least=1)
    amqp_duplicate_detection: bool = True
    stomp_window_bytes: int = number(10_240, least=-1)  # sent ahead to a STOMP consumer that sets no window
    # stomp: how many agreed heartbeat intervals may pass without traffic
    heartbeat_ttl_modifier: float = number(2.0, least=1, most=1000)
    supports_advisory: bool = True  # openwire
    suppress_internal_management_objects: bool = True  # openwire

    def __post_init__(self) -> None:
        subject = f"acceptor {self.name or self.protocol!r}"
        require_rules(subject, self)
        anycast, multicast = PREFIXES.get(self.protocol, ("", ""))
        for name, default in (("name", self.protocol), ("anycast_prefix", anycast), ("multicast_prefix", multicast)):
            if not getattr(self, name):
                object.__setattr__(self, name, default)
        require_name("acceptor", self.name)


DEFAULT_ACCEPTORS = (Acceptor("core"), Acceptor("amqp"), Acceptor("stomp"), Acceptor("openwire"))


@dataclass(frozen=True)
class Journal:
    """The file store of an Artemis broker."""

    # Not 2.44.0's ASYNCIO: without libaio it becomes NIO. A run with ASYNCIO and without libaio is rejected.
    kind: str = choice("NIO", "ASYNCIO", "MAPPED")
    datasync: bool = True  # an acknowledged send is on disk
    sync_transactional: bool = True
    sync_non_transactional: bool = True
    large_message_sync: bool = True
    file_size_bytes: int = number(10 * MIB, least=1)
    min_files: int = number(2, least=2)
    pool_files: int = limit(10)  # as `artemis create` writes; 2.44.0 warns about its default of -1
    compact_min_files: int = number(10, least=1)
    compact_percent: int = number(30, least=1, most=100)
    device_block_bytes: int = number(4096, least=1)
    buffer_bytes: int = number(490 * 1024, least=1)
    # How long writes are collected; 0: 2.44.0's default, 3.33 ms for NIO, 0.5 ms for ASYNCIO.
    buffer_timeout_ns: int = number(0, least=0)
    max_io: int = number(0, least=0)  # writes in flight; 0: 2.44.0's default, 1 for NIO, 4096 for ASYNCIO
    file_open_timeout_s: int = number(5, least=1)
    page_max_concurrent_io: int = number(5, least=1)

    def __post_init__(self) -> None:
        require_rules("journal", self)


SHARED_STORE, REPLICATION = "shared-store", "replication"


@dataclass(frozen=True)
class HaPolicy:
    """How a pair keeps a backup ready: by a shared store, or by copying it over the network (``replication``).

    Both brokers of a pair have the same policy. `AnyBroker.standby_of` marks the backup. With replication, the other
    pairs of the cluster vote. A single pair has no other pairs: if its network is cut, both brokers may become
    active.
    """

    kind: str = choice(SHARED_STORE, REPLICATION)
    failover_on_shutdown: bool = False  # shared store: whether an orderly stop fails over too
    wait_for_activation: bool = True  # shared store: the active broker's start waits for the lock
    allow_failback: bool = True  # the backup hands back once its active broker has returned
    restart_backup: bool = True
    group_name: str = plain()  # replication: groups pairs; empty: any backup pairs with any active broker
    check_for_active_server: bool = True  # replication, active: look for a broker that took over; 2.44.0's is false
    initial_replication_sync_timeout_ms: int = number(30_000, least=1)
    max_saved_replicated_journals: int = number(2, least=0)
    vote_on_replication_failure: bool = False
    quorum_size: int = limit(-1)
    vote_retries: int = number(12, least=0)
    vote_retry_wait_ms: int = number(5000, least=1)
    quorum_vote_wait_s: int = number(30, least=1)
    retry_replication_wait_ms: int = number(2000, least=1)

    def __post_init__(self) -> None:
        by = f" by {self.kind}" if self.kind in (SHARED_STORE, REPLICATION) else ""
        require_rules(f"high availability{by}", self)


@dataclass(frozen=True)
class ArtemisBroker(AnyBroker):
    """An Artemis broker. ``persistence`` None keeps messages in memory only."""

    listener_called: ClassVar[str] = "an acceptor"

    acceptors: tuple[Acceptor, ...] = DEFAULT_ACCEPTORS
    address_settings: tuple[AddressSetting, ...] = DEFAULT_ADDRESS_SETTINGS
    addresses: tuple[Address, ...] = ()  # created when the broker starts; others are created on first use
    persistence: Journal | None = field(default_factory=Journal)
    ha: HaPolicy | None = None
    memory_percent_of_heap: int = number(50, least=1, most=100)  # for messages in memory; beyond it they are paged
    memory_limit_bytes: int = number(0, least=0)  # instead of a share of the heap; 0: the share applies
    memory_limit_messages: int = limit(-1)
    # Not 2.44.0's 90: on a machine with a fuller disk all producers would be blocked.
    max_disk_usage_percent: int = number(100, least=1, most=100)
    disk_scan_period_ms: int = number(5000, least=1)
    thread_pool_max_size: int = limit(30)
    scheduled_thread_pool_max_size: int = number(5, least=1)
    connection_ttl_override_ms: int = limit(-1)
    connection_ttl_check_interval_ms: int = number(2000, least=1)
    message_expiry_scan_period_ms: int = number(30_000, least=1)
    address_queue_scan_period_ms: int = number(30_000, least=1)
    transaction_timeout_ms: int = number(300_000, least=1)
    id_cache_size: int = number(20_000, least=0)  # duplicate ids remembered per address
    persist_id_cache: bool = True
    persist_delivery_count_before_delivery: bool = False
    graceful_shutdown: bool = False
    critical_analyzer: bool = True
    critical_analyzer_timeout_ms: int = number(120_000, least=1)
    critical_analyzer_policy: str = choice("LOG", "SHUTDOWN", "HALT")
    wildcard_routing: bool = True
    # mirrors, at the target: how often to look for the message of an acknowledgment that arrived first
    mirror_ack_queue_attempts: int = number(5, least=1)
    mirror_ack_page_attempts: int = number(2, least=1)
    mirror_ack_retry_delay_ms: int = number(100, least=1)
    mirror_page_transaction: bool = False
    users: tuple[ArtemisUser, ...] = ()
    jvm: Jvm = field(default_factory=Jvm)
    broker_name: str = ""  # in its configuration; empty: its name here

    def __post_init__(self) -> None:
        super().__post_init__()
        subject = f"broker {self.name!r}"
        if self.broker_name:
            require_name(f"{subject}: broker_name", self.broker_name)
        if not self.acceptors:
            raise TopologyInvalid(f"{subject} has no acceptor: add at least one, e.g. core")
        parts = {
            "acceptors of name": [acceptor.name for acceptor in self.acceptors],
            "acceptors of protocol": [acceptor.protocol for acceptor in self.acceptors],
            "address settings for": [setting.match for setting in self.address_settings],
            "addresses named": [address.name for address in self.addresses],
            "users named": [user.name for user in self.users],
        }
        require_distinct(subject, parts)

    @property
    def protocols(self) -> tuple[str, ...]:
        """The broker's protocols, in the order of acceptors. `ALL` is one entry, because it is one port."""
        return tuple(acceptor.protocol for acceptor in self.acceptors)

    @property
    def spoken(self) -> tuple[str, ...]:
        return tuple(ACCEPTED) if ALL in self.protocols else self.protocols

    @property
    def dead_letter_queues(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(filter(None, (setting.dead_letter_address for setting in self.address_settings))))

    @property
    def expiry_queues(self) -> tuple[str, ...]:
        dead = self.dead_letter_queues
        addresses = (setting.expiry_address for setting in self.address_settings)
        return tuple(dict.fromkeys(name for name in addresses if name and name not in dead))

    @property
    def longest_delay_s(self) -> float:
        """Before a message moves to another broker's consumer, or is delivered again."""
        return max((setting.longest_delay_ms for setting in self.address_settings), default=0) / MS_PER_S

    @property
    def removes_unused_queues_after_s(self) -> float:
        """One scan marks a queue, and the next one removes it."""
        if not any(setting.auto_delete_queues for setting in self.address_settings):
            return 0.0
        return 2 * self.address_queue_scan_period_ms / MS_PER_S

    @property
    def copies_store(self) -> bool:
        return self.ha is not None and self.ha.kind == REPLICATION

    @property
    def own_name(self) -> str:
        return self.broker_name or self.name

    @property
    def store(self) -> object | None:
        return self.persistence

    @property
    def link_users(self) -> tuple[LinkUser, ...]:
        return self.users

    @property
    def process(self) -> Jvm:
        return self.jvm

    def listener(self, protocol: str) -> str:
        return ALL if ALL in self.protocols and protocol in ACCEPTED else super().listener(protocol)
