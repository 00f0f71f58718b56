"""Models an ActiveMQ Artemis broker: its acceptors, its store, its addresses and its standby.

Defaults are those of Artemis 2.44.0 unless a comment says otherwise. Their sources are its schema and its
ActiveMQDefaultConfiguration.
"""

from dataclasses import dataclass, field
from typing import ClassVar

from topologies.artemis.addresses import DEFAULT_ADDRESS_SETTINGS, Address, AddressSetting
from topologies.model.broker import MIB, AnyBroker
from topologies.model.jvm import Jvm
from topologies.model.validity import (
    TopologyInvalid,
    require_at_least,
    require_between,
    require_choice,
    require_limit,
    require_name,
    require_plain,
)

ALL = "all"  # one port for every protocol
ACCEPTED = {"core": "CORE", "amqp": "AMQP", "stomp": "STOMP", "openwire": "OPENWIRE", "mqtt": "MQTT"}
"""Protocol, as endpoints name it, to Artemis' own word for it."""
# How clients of a protocol write queue and topic: so one destination string means the same to Classic and Artemis.
PREFIXES = {
    "stomp": ("/queue/", "/topic/"),
    "amqp": ("queue://", "topic://"),
    ALL: ("/queue/,queue://", "/topic/,topic://"),
}


@dataclass(frozen=True)
class Acceptor:
    """One listening port, for one protocol or for `ALL`."""

    KEY: ClassVar[tuple[str, ...]] = ("protocol",)

    protocol: str = "core"  # core | amqp | stomp | openwire | mqtt | all
    name: str = ""  # default: the protocol's
    connections_allowed: int = -1
    anycast_prefix: str = ""  # default: as clients of this protocol write a queue; Artemis' own default is none
    multicast_prefix: str = ""
    tcp_send_buffer_bytes: int = 1 * MIB  # as `artemis create` writes; 2.44.0's own is 32 KiB
    tcp_receive_buffer_bytes: int = 1 * MIB
    amqp_credits: int = 1000
    amqp_low_credits: int = 300
    amqp_min_large_message_bytes: int = 102_400
    amqp_duplicate_detection: bool = True
    stomp_window_bytes: int = 10_240  # sent ahead to a STOMP consumer that does not say otherwise
    heartbeat_ttl_modifier: float = 2.0  # stomp: how many agreed heartbeat intervals may pass in silence
    supports_advisory: bool = True  # openwire
    suppress_internal_management_objects: bool = True  # openwire

    def __post_init__(self) -> None:
        of = f"acceptor {self.name or self.protocol!r}"
        require_choice(of, (*ACCEPTED, ALL), protocol=self.protocol)
        anycast, multicast = PREFIXES.get(self.protocol, ("", ""))
        for name, default in (("name", self.protocol), ("anycast_prefix", anycast), ("multicast_prefix", multicast)):
            if not getattr(self, name):
                object.__setattr__(self, name, default)
        require_name("acceptor", self.name)
        require_plain(of, anycast_prefix=self.anycast_prefix, multicast_prefix=self.multicast_prefix)
        require_limit(of, connections_allowed=self.connections_allowed)
        require_between(of, 1, 1000, heartbeat_ttl_modifier=self.heartbeat_ttl_modifier)
        require_at_least(of, -1, stomp_window_bytes=self.stomp_window_bytes)
        require_at_least(
            of, 1,
            tcp_send_buffer_bytes=self.tcp_send_buffer_bytes, tcp_receive_buffer_bytes=self.tcp_receive_buffer_bytes,
            amqp_credits=self.amqp_credits, amqp_low_credits=self.amqp_low_credits,
            amqp_min_large_message_bytes=self.amqp_min_large_message_bytes,
        )  # fmt: skip


DEFAULT_ACCEPTORS = (Acceptor("core"), Acceptor("amqp"), Acceptor("stomp"), Acceptor("openwire"))


@dataclass(frozen=True)
class Journal:
    """The file store of an Artemis broker."""

    # Not 2.44.0's ASYNCIO: without libaio that silently becomes NIO, and two machines would measure different stores.
    kind: str = "NIO"  # NIO | ASYNCIO | MAPPED
    datasync: bool = True  # an acknowledged send is on the disk
    sync_transactional: bool = True
    sync_non_transactional: bool = True
    large_message_sync: bool = True
    file_size_bytes: int = 10 * MIB
    min_files: int = 2
    pool_files: int = 10  # as `artemis create` writes; 2.44.0 warns at its own default of -1
    compact_min_files: int = 10
    compact_percent: int = 30
    device_block_bytes: int = 4096
    buffer_bytes: int = 490 * 1024
    buffer_timeout_ns: int = 0  # how long writes are gathered; 0: 2.44.0's, 3.33 ms for NIO, 0.5 ms for ASYNCIO
    max_io: int = 0  # writes in flight; 0: 2.44.0's, 1 for NIO, 4096 for ASYNCIO
    file_open_timeout_s: int = 5
    page_max_concurrent_io: int = 5

    def __post_init__(self) -> None:
        of = "journal"
        require_choice(of, ("NIO", "ASYNCIO", "MAPPED"), kind=self.kind)
        require_limit(of, pool_files=self.pool_files)
        require_between(of, 1, 100, compact_percent=self.compact_percent)
        require_at_least(of, 2, min_files=self.min_files)
        require_at_least(
            of, 1,
            file_size_bytes=self.file_size_bytes, compact_min_files=self.compact_min_files,
            device_block_bytes=self.device_block_bytes, buffer_bytes=self.buffer_bytes,
            file_open_timeout_s=self.file_open_timeout_s, page_max_concurrent_io=self.page_max_concurrent_io,
        )  # fmt: skip
        require_at_least(of, 0, buffer_timeout_ns=self.buffer_timeout_ns, max_io=self.max_io)


SHARED_STORE, REPLICATION = "shared-store", "replication"


@dataclass(frozen=True)
class HaPolicy:
    """How a pair keeps one broker ready: the store is shared, or copied over the network (``replication``).

    Both brokers of a pair have the same policy. `AnyBroker.standby_of` says which one is the backup. Replication
    decides by a vote of the cluster's other pairs. A single pair has no other pairs: if its network is cut, both
    brokers may become active.
    """

    kind: str = SHARED_STORE  # shared-store | replication
    failover_on_shutdown: bool = False  # shared store: whether an orderly stop hands over too
    wait_for_activation: bool = True  # shared store: the active's start waits for the lock
    allow_failback: bool = True  # the backup steps back once its active is there again
    restart_backup: bool = True
    group_name: str = ""  # replication: pairs find each other by it; empty: any backup takes any active
    check_for_active_server: bool = True  # replication, active: look for a broker that took over; 2.44.0's is false
    initial_replication_sync_timeout_ms: int = 30_000
    max_saved_replicated_journals: int = 2
    vote_on_replication_failure: bool = False
    quorum_size: int = -1
    vote_retries: int = 12
    vote_retry_wait_ms: int = 5000
    quorum_vote_wait_s: int = 30
    retry_replication_wait_ms: int = 2000

    def __post_init__(self) -> None:
        of = f"high availability by {self.kind}"
        require_choice("high availability", (SHARED_STORE, REPLICATION), kind=self.kind)
        require_plain(of, group_name=self.group_name)
        require_limit(of, quorum_size=self.quorum_size)
        require_at_least(
            of, 0,
            max_saved_replicated_journals=self.max_saved_replicated_journals, vote_retries=self.vote_retries,
        )  # fmt: skip
        require_at_least(
            of, 1,
            initial_replication_sync_timeout_ms=self.initial_replication_sync_timeout_ms,
            vote_retry_wait_ms=self.vote_retry_wait_ms, quorum_vote_wait_s=self.quorum_vote_wait_s,
            retry_replication_wait_ms=self.retry_replication_wait_ms,
        )  # fmt: skip


@dataclass(frozen=True)
class ArtemisBroker(AnyBroker):
    """One Artemis broker. ``persistence`` None keeps messages in memory only."""

    listener_called: ClassVar[str] = "an acceptor"

    acceptors: tuple[Acceptor, ...] = DEFAULT_ACCEPTORS
    address_settings: tuple[AddressSetting, ...] = DEFAULT_ADDRESS_SETTINGS
    addresses: tuple[Address, ...] = ()  # made when the broker starts; others when they are first used
    persistence: Journal | None = field(default_factory=Journal)
    ha: HaPolicy | None = None
    memory_percent_of_heap: int = 50  # of messages in memory; beyond it they are paged
    memory_limit_bytes: int = 0  # instead of a share of the heap; 0: the share holds
    memory_limit_messages: int = -1
    # Not 2.44.0's 90: on a machine with a fuller disk every producer would be blocked.
    max_disk_usage_percent: int = 100
    disk_scan_period_ms: int = 5000
    thread_pool_max_size: int = 30
    scheduled_thread_pool_max_size: int = 5
    connection_ttl_override_ms: int = -1
    connection_ttl_check_interval_ms: int = 2000
    message_expiry_scan_period_ms: int = 30_000
    address_queue_scan_period_ms: int = 30_000
    transaction_timeout_ms: int = 300_000
    id_cache_size: int = 20_000  # duplicate ids remembered, an address
    persist_id_cache: bool = True
    persist_delivery_count_before_delivery: bool = False
    graceful_shutdown: bool = False
    critical_analyzer: bool = True
    critical_analyzer_timeout_ms: int = 120_000
    critical_analyzer_policy: str = "LOG"  # LOG | SHUTDOWN | HALT
    wildcard_routing: bool = True
    # mirrors, at the target: how often an acknowledgement is looked for that came before its message
    mirror_ack_queue_attempts: int = 5
    mirror_ack_page_attempts: int = 2
    mirror_ack_retry_delay_ms: int = 100
    mirror_page_transaction: bool = False
    jvm: Jvm = field(default_factory=Jvm)

    def __post_init__(self) -> None:
        super().__post_init__()
        of = f"broker {self.name!r}"
        require_choice(of, ("LOG", "SHUTDOWN", "HALT"), critical_analyzer_policy=self.critical_analyzer_policy)
        require_limit(
            of,
            memory_limit_messages=self.memory_limit_messages,
            connection_ttl_override_ms=self.connection_ttl_override_ms,
            thread_pool_max_size=self.thread_pool_max_size,
        )
        require_between(
            of, 1, 100,
            memory_percent_of_heap=self.memory_percent_of_heap, max_disk_usage_percent=self.max_disk_usage_percent,
        )  # fmt: skip
        require_at_least(of, 0, memory_limit_bytes=self.memory_limit_bytes, id_cache_size=self.id_cache_size)
        require_at_least(
            of, 1,
            disk_scan_period_ms=self.disk_scan_period_ms,
            scheduled_thread_pool_max_size=self.scheduled_thread_pool_max_size,
            connection_ttl_check_interval_ms=self.connection_ttl_check_interval_ms,
            message_expiry_scan_period_ms=self.message_expiry_scan_period_ms,
            address_queue_scan_period_ms=self.address_queue_scan_period_ms,
            transaction_timeout_ms=self.transaction_timeout_ms,
            critical_analyzer_timeout_ms=self.critical_analyzer_timeout_ms,
            mirror_ack_queue_attempts=self.mirror_ack_queue_attempts,
            mirror_ack_page_attempts=self.mirror_ack_page_attempts,
            mirror_ack_retry_delay_ms=self.mirror_ack_retry_delay_ms,
        )  # fmt: skip
        self._require_distinct_parts()

    def _require_distinct_parts(self) -> None:
        if not self.acceptors:
            raise TopologyInvalid(f"broker {self.name!r} has no acceptor: give it one, e.g. core")
        for what, values in (
            ("acceptors of name", [acceptor.name for acceptor in self.acceptors]),
            ("acceptors of protocol", [acceptor.protocol for acceptor in self.acceptors]),
            ("address settings for", [setting.match for setting in self.address_settings]),
            ("addresses named", [address.name for address in self.addresses]),
        ):
            for value in sorted({value for value in values if values.count(value) > 1}):
                raise TopologyInvalid(f"broker {self.name!r} has two {what} {value!r}: keep one")

    @property
    def protocols(self) -> tuple[str, ...]:
        """Its protocols, in the order of its acceptors. `ALL` stands for itself, because it is one port."""
        return tuple(acceptor.protocol for acceptor in self.acceptors)

    @property
    def spoken(self) -> tuple[str, ...]:
        return tuple(ACCEPTED) if ALL in self.protocols else self.protocols

    @property
    def dead_letter_queues(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(filter(None, (each.dead_letter_address for each in self.address_settings))))

    @property
    def expiry_queues(self) -> tuple[str, ...]:
        dead = self.dead_letter_queues
        found = (each.expiry_address for each in self.address_settings)
        return tuple(dict.fromkeys(name for name in found if name and name not in dead))

    @property
    def copies_store(self) -> bool:
        return self.ha is not None and self.ha.kind == REPLICATION

    @property
    def store(self) -> object | None:
        return self.persistence

    @property
    def java(self) -> Jvm:
        return self.jvm

    def listener(self, protocol: str) -> str:
        return ALL if ALL in self.protocols and protocol in ACCEPTED else super().listener(protocol)
