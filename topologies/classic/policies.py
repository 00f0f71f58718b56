"""Models how a Classic broker treats destinations that match a pattern: the values of a ``policyEntry``.

Defaults are from the beans of ActiveMQ Classic 5.18.3 unless a comment says otherwise.
"""

from dataclasses import dataclass, field
from typing import ClassVar

from topologies.model.validity import choice, number, plain, require_choice, require_rules


@dataclass(frozen=True)
class DeadLetters:
    """Where undeliverable messages go: one queue for all (``shared``), or one queue per destination."""

    kind: str = choice("shared", "individual")
    queue: str = plain("ActiveMQ.DLQ")  # the shared queue, or the prefix of the individual queues
    process_expired: bool = True
    process_non_persistent: bool = False
    enable_audit: bool = True  # a message that is dead-lettered twice is kept once
    max_audit_depth: int = number(2048, least=1)
    max_producers_to_audit: int = number(64, least=1)
    expiration_ms: int = number(0, least=0)  # 0: dead letters do not expire

    def __post_init__(self) -> None:
        require_rules(f"dead letters of {self.queue!r}", self)


@dataclass(frozen=True)
class BridgeFilter:
    """Additional rules for messages that may cross a bridge (``conditionalNetworkBridgeFilterFactory``).

    ``replay_when_no_consumers`` lets a queue's messages return to the broker that they came from, if no consumer is
    left here. Without it they stay (AMQ-2324).
    """

    replay_when_no_consumers: bool = False
    replay_delay_ms: int = number(0, least=0)
    rate_limit: int = number(0, least=0)  # messages per rate_duration_ms that a bridge may take; 0: no limit
    rate_duration_ms: int = number(1000, least=1)
    selector_aware: bool = False

    def __post_init__(self) -> None:
        require_rules("bridge filter", self)


@dataclass(frozen=True)
class DestinationPolicy:
    """Settings for every queue or topic that ``pattern`` matches (``>`` matches all, ``*`` one level)."""

    KEY: ClassVar[tuple[str, ...]] = ("kind", "pattern")

    pattern: str = plain(">")
    kind: str = choice("queue", "topic")
    # flow control and memory
    producer_flow_control: bool = True
    memory_limit_bytes: int = number(0, least=0)  # 0: only the broker's limit applies
    # Above this, messages are not read from the store for dispatch. Over 100: they are always read.
    cursor_memory_high_water_mark_percent: int = number(70, least=1, most=1000)
    store_usage_high_water_mark_percent: int = number(100, least=1, most=100)
    blocked_producer_warning_interval_ms: int = number(30_000, least=0)
    # paging and dispatch
    queue_prefetch: int = number(1000, least=0)  # messages; a client that sets its own prefetch overrides it
    topic_prefetch: int = number(32_767, least=0)
    durable_topic_prefetch: int = number(100, least=0)
    queue_browser_prefetch: int = number(500, least=0)
    max_page_size: int = number(200, least=1)
    # Not the broker's 400: a run browses the messages that are left, and a browser sees at most one page.
    max_browse_page_size: int = number(100_000, least=1)
    max_expire_page_size: int = number(400, least=1)
    optimized_dispatch: bool = False
    use_cache: bool = True
    use_consumer_priority: bool = True
    strict_order_dispatch: bool = False
    lazy_dispatch: bool = False
    prioritized_messages: bool = False
    use_prefetch_extension: bool = True
    persist_jms_redelivered: bool = False
    reduce_memory_footprint: bool = False
    expire_messages_period_ms: int = number(30_000, least=0)
    # duplicates
    enable_audit: bool = True
    max_audit_depth: int = number(10_000, least=1)
    max_queue_audit_depth: int = number(10_000, least=1)
    max_producers_to_audit: int = number(64, least=1)
    send_duplicate_from_store_to_dlq: bool = False
    # housekeeping: never during a run, because counters are deleted with their destination
    gc_inactive_destinations: bool = False
    gc_with_network_consumers: bool = False
    inactive_timeout_before_gc_ms: int = number(60_000, least=0)
    # advisories
    advisory_for_consumed: bool = False
    advisory_for_delivery: bool = False
    advisory_for_slow_consumers: bool = False
    advisory_for_fast_producers: bool = False
    advisory_for_discarding_messages: bool = False
    advisory_when_full: bool = False
    dead_letters: DeadLetters = field(default_factory=DeadLetters)
    bridge_filter: BridgeFilter = field(default_factory=BridgeFilter)

    def __post_init__(self) -> None:
        subject = f"policy of {self.kind} {self.pattern!r}"
        require_rules(subject, self)
        if not self.pattern.strip():
            require_choice(subject, (">", "a destination's name"), pattern=self.pattern)


DEFAULT_POLICIES = (DestinationPolicy(kind="queue"), DestinationPolicy(kind="topic"))
