"""Models a Classic broker: its name, its limits, its store and its listening ports."""

from dataclasses import dataclass, field
from typing import ClassVar

from records.units import MS_PER_S
from topologies.classic.policies import DEFAULT_POLICIES, DestinationPolicy
from topologies.classic.transport_connectors import DEFAULT_CONNECTORS, TransportConnector
from topologies.classic.users import ClassicUser
from topologies.jvm.settings import Jvm
from topologies.model.broker import GIB, MIB, AnyBroker
from topologies.model.explicit_fields import replace_explicitly
from topologies.model.users import LinkUser
from topologies.model.validity import (
    TopologyInvalid,
    choice,
    number,
    require_at_least,
    require_distinct,
    require_name,
    require_rules,
)


@dataclass(frozen=True)
class KahaDb:
    """The file store of a Classic broker; defaults of 5.18.3."""

    journal_max_file_length_bytes: int = 32 * MIB
    journal_max_write_batch_size_bytes: int = number(4 * MIB, least=1)
    # When an acknowledged send is on disk.
    journal_disk_sync_strategy: str = choice("always", "periodic", "never")
    journal_disk_sync_interval_ms: int = number(1000, least=1)  # for periodic
    enable_index_disk_syncs: bool = True
    enable_index_recovery_file: bool = True
    enable_index_write_async: bool = False
    enable_index_page_caching: bool = True
    index_cache_size_pages: int = number(10_000, least=1)
    index_write_batch_size_pages: int = number(1000, least=1)
    checkpoint_interval_ms: int = number(5000, least=0)
    cleanup_interval_ms: int = number(30_000, least=0)
    concurrent_store_and_dispatch_queues: bool = True
    concurrent_store_and_dispatch_topics: bool = False
    max_async_jobs: int = number(10_000, least=1)
    enable_ack_compaction: bool = True
    compact_acks_after_no_gc: int = number(10, least=0)
    preallocation_scope: str = choice("entire_journal", "entire_journal_async", "none")
    preallocation_strategy: str = choice("sparse_file", "os_kernel_copy", "zeros", "chunked_zeros")
    checksum_journal_files: bool = True
    check_for_corrupt_journal_files: bool = False
    max_failover_producers_to_track: int = number(64, least=1)
    failover_producers_audit_depth: int = number(2048, least=1)
    # The lock that decides which of several brokers has the store: how often a standby tries to get it, and how often
    # the active broker checks that it still has it (0: never).
    lock_acquire_sleep_interval_ms: int = number(10_000, least=1)
    lock_keep_alive_period_ms: int = number(0, least=0)

    def __post_init__(self) -> None:
        subject = "KahaDB"
        require_rules(subject, self)
        # Otherwise a write batch would not fit into a journal file.
        least = self.journal_max_write_batch_size_bytes
        require_at_least(subject, least, journal_max_file_length_bytes=self.journal_max_file_length_bytes)


@dataclass(frozen=True)
class Broker(AnyBroker):
    """An ActiveMQ Classic broker. ``persistence`` None keeps messages in memory only."""

    listener_called: ClassVar[str] = "a transport connector"

    connectors: tuple[TransportConnector, ...] = DEFAULT_CONNECTORS
    policies: tuple[DestinationPolicy, ...] = DEFAULT_POLICIES
    persistence: KahaDb | None = field(default_factory=KahaDb)
    memory_percent_of_heap: int = number(70, least=1, most=100)
    memory_limit_bytes: int = number(0, least=0)  # instead of a share of the heap; 0: the share applies
    store_limit_bytes: int = number(4 * GIB, least=MIB)
    temp_limit_bytes: int = number(1 * GIB, least=MIB)
    send_fail_if_no_space: bool = False
    send_fail_if_no_space_after_timeout_ms: int = number(0, least=0)
    advisory_support: bool = True  # bridges learn about consumers from advisories
    use_jmx: bool = True
    scheduler_support: bool = False
    dedicated_task_runner: bool = False  # a thread per destination instead of a pool
    trace_broker_path: bool = True  # stamp the crossed brokers on every message, so that clients know the hops
    network_connector_start_async: bool = False
    keep_durable_subs_active: bool = True
    use_virtual_topics: bool = True
    use_virtual_dest_subs: bool = False
    use_virtual_dest_subs_on_creation: bool = False
    split_system_usage: bool = False  # producers and consumers get separate shares
    producer_system_usage_percent: int = number(60, least=1, most=100)
    consumer_system_usage_percent: int = number(40, least=1, most=100)
    users: tuple[ClassicUser, ...] = ()
    jvm: Jvm = field(default_factory=Jvm)
    broker_name: str = ""  # in its configuration; empty: its name here

    def __post_init__(self) -> None:
        super().__post_init__()
        subject = f"broker {self.name!r}"
        if self.broker_name:
            require_name(f"{subject}: broker_name", self.broker_name)
        if not self.connectors:
            raise TopologyInvalid(f"{subject} has no transport connector: add at least one, e.g. openwire")
        parts = {
            "transport connectors of name": [connector.name for connector in self.connectors],
            "transport connectors of protocol": [connector.protocol for connector in self.connectors],
            "users named": [user.name for user in self.users],
        }
        require_distinct(subject, parts)

    def connector(self, protocol: str) -> TransportConnector:
        """Return the connector for a protocol. Raises KeyError, which lists the valid protocols."""
        for connector in self.connectors:
            if connector.protocol == protocol:
                return connector
        protocols = ", ".join(self.protocols)
        raise KeyError(f"broker {self.name!r} does not support {protocol!r}; it supports {protocols}")

    @property
    def protocols(self) -> tuple[str, ...]:
        """The broker's protocols, in the order of connectors."""
        return tuple(connector.protocol for connector in self.connectors)

    @property
    def spoken(self) -> tuple[str, ...]:
        """Excludes OpenWire over HTTP, which only links use."""
        return tuple(connector.protocol for connector in self.connectors if not connector.is_http)

    @property
    def dead_letter_queues(self) -> tuple[str, ...]:
        """These queues also receive expired messages."""
        return tuple(dict.fromkeys(policy.dead_letters.queue for policy in self.policies))

    @property
    def longest_delay_s(self) -> float:
        """Before messages return to the broker that they came from."""
        return max((policy.bridge_filter.replay_delay_ms for policy in self.policies), default=0) / MS_PER_S

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

    def client_scheme(self, protocol: str) -> str:
        return self.connector(protocol).called_by_clients

    def largest_frame_bytes(self, protocol: str) -> int | None:
        """Return ``max_frame_size_bytes`` of the protocol's transport connector."""
        return next(
            (connector.max_frame_size_bytes for connector in self.connectors if connector.protocol == protocol), None
        )


def without_broker_path(broker: AnyBroker) -> AnyBroker:
    """Return the broker for topics, without the plugin that stamps the path.

    The plugin changes a message while it is being written to other subscribers. The written frame is then too short or
    too long, and that connection hangs (Classic 5.18.3).
    """
    assert isinstance(broker, Broker)  # a Classic topology has no other kind
    return replace_explicitly(broker, trace_broker_path=False)
