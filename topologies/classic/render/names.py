"""Lists what ActiveMQ Classic calls each field of the model, one table a value: field of the model to XML attribute.

Spellings are those of the broker's own schema (activemq.xsd of 5.18.3), its mistakes included. Fields that need more
than a name (lists, nested values, URIs) are handled in the renderer; a test holds that no field is forgotten.
"""

from topologies.render.field_names import camel_case, spelled

BROKER = spelled(
    camel_case,
    """
    name advisory_support use_jmx scheduler_support dedicated_task_runner network_connector_start_async
    keep_durable_subs_active use_virtual_topics use_virtual_dest_subs use_virtual_dest_subs_on_creation
    split_system_usage producer_system_usage_percent consumer_system_usage_percent
    """,
    name="brokerName",
    split_system_usage="splitSystemUsageForProducersConsumers",
    producer_system_usage_percent="producerSystemUsagePortion",
    consumer_system_usage_percent="consumerSystemUsagePortion",
)
SYSTEM_USAGE = spelled(camel_case, "send_fail_if_no_space send_fail_if_no_space_after_timeout_ms")
KAHADB = spelled(
    camel_case,
    """
    journal_max_file_length_bytes journal_max_write_batch_size_bytes journal_disk_sync_strategy
    journal_disk_sync_interval_ms enable_index_disk_syncs enable_index_recovery_file enable_index_write_async
    enable_index_page_caching index_cache_size_pages index_write_batch_size_pages checkpoint_interval_ms
    cleanup_interval_ms concurrent_store_and_dispatch_queues concurrent_store_and_dispatch_topics max_async_jobs
    enable_ack_compaction compact_acks_after_no_gc preallocation_scope preallocation_strategy checksum_journal_files
    check_for_corrupt_journal_files max_failover_producers_to_track failover_producers_audit_depth
    lock_keep_alive_period_ms
    """,
)
STORE_LOCK = spelled(camel_case, "lock_acquire_sleep_interval_ms")
TRANSPORT_CONNECTOR = spelled(
    camel_case,
    """
    name update_cluster_clients rebalance_cluster_clients update_cluster_clients_on_remove audit_network_producers
    enable_status_monitor disable_async_dispatch allow_link_stealing warn_on_remote_close
    maximum_consumers_per_connection maximum_producers_per_connection
    """,
    maximum_consumers_per_connection="maximumConsumersAllowedPerConnection",
    maximum_producers_per_connection="maximumProducersAllowedPerConnection",
)

# Of a transport connector's URI: for every protocol, and for one.
LISTENING = {
    "maximum_connections": "maximumConnections",
    "max_frame_size_bytes": "wireFormat.maxFrameSize",
}
LISTENING_BY = {
    "openwire": {"max_inactivity_ms": "wireFormat.maxInactivityDuration"},
    "stomp": {"heartbeat_grace_multiplier": "transport.hbGracePeriodMultiplier"},
    "amqp": {
        "transformer": "transport.transformer",
        "idle_timeout_ms": "wireFormat.idleTimeout",
        "producer_credit": "wireFormat.producerCredit",
    },
}

POLICY = spelled(
    camel_case,
    """
    producer_flow_control memory_limit_bytes cursor_memory_high_water_mark_percent
    store_usage_high_water_mark_percent blocked_producer_warning_interval_ms queue_prefetch topic_prefetch
    durable_topic_prefetch queue_browser_prefetch max_page_size max_browse_page_size max_expire_page_size
    optimized_dispatch use_cache use_consumer_priority strict_order_dispatch lazy_dispatch prioritized_messages
    use_prefetch_extension persist_jms_redelivered reduce_memory_footprint expire_messages_period_ms enable_audit
    max_audit_depth max_queue_audit_depth max_producers_to_audit send_duplicate_from_store_to_dlq
    gc_inactive_destinations gc_with_network_consumers inactive_timeout_before_gc_ms advisory_for_consumed
    advisory_for_delivery advisory_for_slow_consumers advisory_for_fast_producers advisory_for_discarding_messages
    advisory_when_full
    """,
)
DEAD_LETTERS = spelled(
    camel_case,
    "process_expired process_non_persistent enable_audit max_audit_depth max_producers_to_audit expiration_ms",
)
BRIDGE_FILTER = spelled(
    camel_case,
    "replay_when_no_consumers replay_delay_ms rate_limit rate_duration_ms selector_aware",
)
NETWORK_CONNECTOR = spelled(
    camel_case,
    """
    name duplex message_ttl consumer_ttl conduit_subscriptions conduit_network_queue_subscriptions dynamic_only
    static_bridge suppress_duplicate_queue_subscriptions suppress_duplicate_topic_subscriptions
    use_virtual_dest_subs sync_durable_subs bridge_temp_destinations decrease_network_consumer_priority
    consumer_priority_base prefetch_size advisory_prefetch_size advisory_ack_percentage dispatch_async
    always_sync_send use_compression advisory_for_failed_forward check_duplicate_messages_on_duplex client_id_token
    use_broker_name_as_id_seed gc_destination_views gc_sweep_time_ms
    """,
    use_broker_name_as_id_seed="useBrokerNameAsIdSees",
)
NETWORK_CONNECTOR_LISTS = spelled(
    camel_case,
    "excluded_destinations dynamically_included_destinations statically_included_destinations",
)
STATIC_DISCOVERY = spelled(
    camel_case,
    """
    initial_reconnect_delay_ms max_reconnect_delay_ms use_exponential_back_off back_off_multiplier
    max_reconnect_attempts min_connect_time_ms
    """,
)
MULTICAST_DISCOVERY = spelled(
    camel_case,
    """
    time_to_live keep_alive_interval_ms initial_reconnect_delay_ms max_reconnect_delay_ms use_exponential_back_off
    back_off_multiplier max_reconnect_attempts
    """,
)
