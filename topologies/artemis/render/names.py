"""Lists what Artemis calls each field of the model, one table a value: field of the model to XML element or attribute.

Spellings are those of the broker's own schema (artemis-configuration.xsd of 2.44.0). Fields that need more than a name
are handled in the renderer; a test holds that no field is forgotten.
"""

from topologies.render.field_names import camel_case, hyphenated, spelled

BROKER = spelled(
    hyphenated,
    """
    name memory_limit_messages max_disk_usage_percent disk_scan_period_ms thread_pool_max_size
    scheduled_thread_pool_max_size connection_ttl_override_ms connection_ttl_check_interval_ms
    message_expiry_scan_period_ms address_queue_scan_period_ms transaction_timeout_ms id_cache_size persist_id_cache
    persist_delivery_count_before_delivery graceful_shutdown critical_analyzer critical_analyzer_timeout_ms
    critical_analyzer_policy wildcard_routing mirror_ack_queue_attempts mirror_ack_page_attempts
    mirror_ack_retry_delay_ms mirror_page_transaction
    """,
    memory_limit_messages="global-max-messages",
    graceful_shutdown="graceful-shutdown-enabled",
    wildcard_routing="wild-card-routing-enabled",
    mirror_ack_queue_attempts="mirror-ack-manager-queue-attempts",
    mirror_ack_page_attempts="mirror-ack-manager-page-attempts",
    mirror_ack_retry_delay_ms="mirror-ack-manager-retry-delay",
)

JOURNAL = {
    "kind": "journal-type",
    "datasync": "journal-datasync",
    "sync_transactional": "journal-sync-transactional",
    "sync_non_transactional": "journal-sync-non-transactional",
    "large_message_sync": "large-message-sync",
    "file_size_bytes": "journal-file-size",
    "min_files": "journal-min-files",
    "pool_files": "journal-pool-files",
    "compact_min_files": "journal-compact-min-files",
    "compact_percent": "journal-compact-percentage",
    "device_block_bytes": "journal-device-block-size",
    "buffer_bytes": "journal-buffer-size",
    "buffer_timeout_ns": "journal-buffer-timeout",
    "max_io": "journal-max-io",
    "file_open_timeout_s": "journal-file-open-timeout",
    "page_max_concurrent_io": "page-max-concurrent-io",
}

# What 2.44.0 has by itself where a journal of the kind leaves it open, by 0.
JOURNAL_BY_KIND = {
    "NIO": {"journal-buffer-timeout": "3333333", "journal-max-io": "1"},
    "ASYNCIO": {"journal-buffer-timeout": "500000", "journal-max-io": "4096"},
}

ADDRESS_SETTING = spelled(
    hyphenated,
    """
    dead_letter_address expiry_address max_delivery_attempts redelivery_delay_ms redelivery_delay_multiplier
    redelivery_collision_avoidance_factor max_size_bytes max_size_messages address_full_policy page_size_bytes
    max_read_page_messages max_read_page_bytes redistribution_delay_ms auto_create_queues auto_create_addresses
    auto_delete_queues auto_delete_addresses default_consumer_window_bytes default_max_consumers default_exclusive
    default_last_value default_purge_on_no_consumers send_to_dead_letters_on_no_route slow_consumer_threshold
    slow_consumer_policy id_cache_size management_message_attribute_size_limit management_browse_page_size
    """,
    max_size_bytes="max-size-bytes",
    page_size_bytes="page-size-bytes",
    max_read_page_bytes="max-read-page-bytes",
    default_consumer_window_bytes="default-consumer-window-size",
    default_exclusive="default-exclusive-queue",
    default_last_value="default-last-value-queue",
    send_to_dead_letters_on_no_route="send-to-dla-on-no-route",
)

# Of an acceptor's URI, by what it serves.
ACCEPTOR = spelled(
    camel_case,
    "connections_allowed tcp_send_buffer_bytes tcp_receive_buffer_bytes",
    tcp_send_buffer_bytes="tcpSendBufferSize",
    tcp_receive_buffer_bytes="tcpReceiveBufferSize",
)
ACCEPTOR_OF_A_PROTOCOL = {
    "amqp": {
        "amqp_credits": "amqpCredits",
        "amqp_low_credits": "amqpLowCredits",
        "amqp_min_large_message_bytes": "amqpMinLargeMessageSize",
        "amqp_duplicate_detection": "amqpDuplicateDetection",
    },
    "stomp": {
        "stomp_window_bytes": "stompConsumerWindowSize",
        "heartbeat_ttl_modifier": "heartBeatToConnectionTtlModifier",
    },
    "openwire": {
        "supports_advisory": "supportAdvisory",
        "suppress_internal_management_objects": "suppressInternalManagementObjects",
    },
}
ACCEPTOR_PREFIXES = spelled(camel_case, "anycast_prefix multicast_prefix")

CLUSTER_CONNECTION = spelled(
    hyphenated,
    """
    message_load_balancing max_hops use_duplicate_detection retry_interval_ms retry_interval_multiplier
    max_retry_interval_ms initial_connect_attempts reconnect_attempts check_period_ms connection_ttl_ms
    call_timeout_ms call_failover_timeout_ms min_large_message_bytes confirmation_window_bytes producer_window_bytes
    notification_interval_ms notification_attempts topology_scanner_attempts
    """,
    min_large_message_bytes="min-large-message-size",
    confirmation_window_bytes="confirmation-window-size",
    producer_window_bytes="producer-window-size",
)

# High availability: by its kind, then by whether the broker is the backup.
_VOTES = spelled(
    hyphenated,
    """
    group_name initial_replication_sync_timeout_ms max_saved_replicated_journals vote_on_replication_failure
    quorum_size vote_retries vote_retry_wait_ms quorum_vote_wait_s retry_replication_wait_ms
    """,
    max_saved_replicated_journals="max-saved-replicated-journals-size",
)
_BACKUP = spelled(hyphenated, "allow_failback restart_backup")
_SHARED = spelled(hyphenated, "failover_on_shutdown")
HA = {
    ("shared-store", False): _SHARED | spelled(hyphenated, "wait_for_activation"),
    ("shared-store", True): _SHARED | _BACKUP,
    ("replication", False): spelled(hyphenated, "check_for_active_server") | _VOTES,
    ("replication", True): _BACKUP | _VOTES,
}

BROKER_CONNECTION = spelled(hyphenated, "name retry_interval_ms reconnect_attempts auto_start")

MIRROR = spelled(hyphenated, "message_acknowledgements queue_creation queue_removal durable sync")
