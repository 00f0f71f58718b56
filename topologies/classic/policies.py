"""Models how a Classic broker treats the destinations that match a pattern: values behind its ``policyEntry``.

Defaults are those of ActiveMQ Classic 5.18.3 unless a comment says otherwise. Their source is its own beans.
"""

from dataclasses import dataclass, field
from typing import ClassVar

from topologies.model.validity import require_at_least, require_between, require_choice, require_plain


@dataclass(frozen=True)
class DeadLetters:
    """Where messages go that cannot be delivered: one queue for all (``shared``), or one a destination."""

    kind: str = "shared"  # shared | individual
    queue: str = "ActiveMQ.DLQ"  # the shared queue; the prefix of the individual ones
    process_expired: bool = True
    process_non_persistent: bool = False
    enable_audit: bool = True  # a message that dies twice is kept once
    max_audit_depth: int = 2048
    max_producers_to_audit: int = 64
    expiration_ms: int = 0  # 0: dead letters do not expire

    def __post_init__(self) -> None:
        of = f"dead letters of {self.queue!r}"
        require_choice(of, ("shared", "individual"), kind=self.kind)
        require_plain(of, queue=self.queue)
        require_at_least(of, 0, expiration_ms=self.expiration_ms)
        require_at_least(
            of, 1, max_audit_depth=self.max_audit_depth, max_producers_to_audit=self.max_producers_to_audit
        )


@dataclass(frozen=True)
class BridgeFilter:
    """Messages that may cross a bridge beyond the usual rules (``conditionalNetworkBridgeFilterFactory``).

    ``replay_when_no_consumers`` lets a queue's messages go back to the broker they came from, if no consumer is left
    here. Without it they stay (AMQ-2324).
    """

    replay_when_no_consumers: bool = False
    replay_delay_ms: int = 0
    rate_limit: int = 0  # messages a rate_duration_ms that a bridge may take; 0: no limit
    rate_duration_ms: int = 1000
    selector_aware: bool = False

    def __post_init__(self) -> None:
        require_at_least("bridge filter", 0, replay_delay_ms=self.replay_delay_ms, rate_limit=self.rate_limit)
        require_at_least("bridge filter", 1, rate_duration_ms=self.rate_duration_ms)


@dataclass(frozen=True)
class DestinationPolicy:
    """Settings of every queue or topic that ``pattern`` matches (``>`` is all, ``*`` one level)."""

    KEY: ClassVar[tuple[str, ...]] = ("kind", "pattern")

    pattern: str = ">"
    kind: str = "queue"  # queue | topic
    # flow control and memory
    producer_flow_control: bool = True
    memory_limit_bytes: int = 0  # 0: only the broker's own limit holds
    # Beyond this, messages are not read from the store to be dispatched. Over 100: they always are.
    cursor_memory_high_water_mark_percent: int = 70
    store_usage_high_water_mark_percent: int = 100
    blocked_producer_warning_interval_ms: int = 30_000
    # paging and dispatch
    queue_prefetch: int = 1000  # messages; a client that names its own prefetch overrides it
    topic_prefetch: int = 32_767
    durable_topic_prefetch: int = 100
    queue_browser_prefetch: int = 500
    max_page_size: int = 200
    # Not the broker's 400: the messages that a run left are browsed, and a browser sees no more than one page.
    max_browse_page_size: int = 100_000
    max_expire_page_size: int = 400
    optimized_dispatch: bool = False
    use_cache: bool = True
    use_consumer_priority: bool = True
    strict_order_dispatch: bool = False
    lazy_dispatch: bool = False
    prioritized_messages: bool = False
    use_prefetch_extension: bool = True
    persist_jms_redelivered: bool = False
    reduce_memory_footprint: bool = False
    expire_messages_period_ms: int = 30_000
    # duplicates
    enable_audit: bool = True
    max_audit_depth: int = 10_000
    max_queue_audit_depth: int = 10_000
    max_producers_to_audit: int = 64
    send_duplicate_from_store_to_dlq: bool = False
    # housekeeping: never during a run, it would take counters away with the destination
    gc_inactive_destinations: bool = False
    gc_with_network_consumers: bool = False
    inactive_timeout_before_gc_ms: int = 60_000
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
        of = f"policy of {self.kind} {self.pattern!r}"
        require_choice(of, ("queue", "topic"), kind=self.kind)
        require_plain(of, pattern=self.pattern)
        if not self.pattern.strip():
            require_choice(of, (">", "a destination's name"), pattern=self.pattern)
        require_at_least(
            of, 0,
            memory_limit_bytes=self.memory_limit_bytes, queue_prefetch=self.queue_prefetch,
            topic_prefetch=self.topic_prefetch, durable_topic_prefetch=self.durable_topic_prefetch,
            queue_browser_prefetch=self.queue_browser_prefetch,
            expire_messages_period_ms=self.expire_messages_period_ms,
            inactive_timeout_before_gc_ms=self.inactive_timeout_before_gc_ms,
            blocked_producer_warning_interval_ms=self.blocked_producer_warning_interval_ms,
        )  # fmt: skip
        require_at_least(
            of, 1,
            max_page_size=self.max_page_size, max_browse_page_size=self.max_browse_page_size,
            max_expire_page_size=self.max_expire_page_size, max_audit_depth=self.max_audit_depth,
            max_queue_audit_depth=self.max_queue_audit_depth, max_producers_to_audit=self.max_producers_to_audit,
        )  # fmt: skip
        require_between(of, 1, 1_000, cursor_memory_high_water_mark_percent=self.cursor_memory_high_water_mark_percent)
        require_between(of, 1, 100, store_usage_high_water_mark_percent=self.store_usage_high_water_mark_percent)


DEFAULT_POLICIES = (DestinationPolicy(kind="queue"), DestinationPolicy(kind="topic"))
