"""Lists what Artemis calls each field of the model, one table a value: field of the model to XML element or attribute.

Spellings are those of the broker's own schema (artemis-configuration.xsd of 2.44.0). Fields that need more than a name
are handled in the renderer; a test holds that no field is forgotten.
"""

BROKER = {
    "name": "name",
    "memory_limit_messages": "global-max-messages",
    "max_disk_usage_percent": "max-disk-usage",
    "disk_scan_period_ms": "disk-scan-period",
    "thread_pool_max_size": "thread-pool-max-size",
    "scheduled_thread_pool_max_size": "scheduled-thread-pool-max-size",
    "connection_ttl_override_ms": "connection-ttl-override",
    "connection_ttl_check_interval_ms": "connection-ttl-check-interval",
    "message_expiry_scan_period_ms": "message-expiry-scan-period",
    "address_queue_scan_period_ms": "address-queue-scan-period",
    "transaction_timeout_ms": "transaction-timeout",
    "id_cache_size": "id-cache-size",
    "persist_id_cache": "persist-id-cache",
    "persist_delivery_count_before_delivery": "persist-delivery-count-before-delivery",
    "graceful_shutdown": "graceful-shutdown-enabled",
    "critical_analyzer": "critical-analyzer",
    "critical_analyzer_timeout_ms": "critical-analyzer-timeout",
    "critical_analyzer_policy": "critical-analyzer-policy",
    "wildcard_routing": "wild-card-routing-enabled",
    "mirror_ack_queue_attempts": "mirror-ack-manager-queue-attempts",
    "mirror_ack_page_attempts": "mirror-ack-manager-page-attempts",
    "mirror_ack_retry_delay_ms": "mirror-ack-manager-retry-delay",
    "mirror_page_transaction": "mirror-page-transaction",
}

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

ADDRESS_SETTING = {
    "dead_letter_address": "dead-letter-address",
    "expiry_address": "expiry-address",
    "max_delivery_attempts": "max-delivery-attempts",
    "redelivery_delay_ms": "redelivery-delay",
    "redelivery_delay_multiplier": "redelivery-delay-multiplier",
    "redelivery_collision_avoidance_factor": "redelivery-collision-avoidance-factor",
    "max_size_bytes": "max-size-bytes",
    "max_size_messages": "max-size-messages",
    "address_full_policy": "address-full-policy",
    "page_size_bytes": "page-size-bytes",
    "max_read_page_messages": "max-read-page-messages",
    "max_read_page_bytes": "max-read-page-bytes",
    "redistribution_delay_ms": "redistribution-delay",
    "auto_create_queues": "auto-create-queues",
    "auto_create_addresses": "auto-create-addresses",
    "auto_delete_queues": "auto-delete-queues",
    "auto_delete_addresses": "auto-delete-addresses",
    "default_consumer_window_bytes": "default-consumer-window-size",
    "default_max_consumers": "default-max-consumers",
    "default_exclusive": "default-exclusive-queue",
    "default_last_value": "default-last-value-queue",
    "default_purge_on_no_consumers": "default-purge-on-no-consumers",
    "send_to_dead_letters_on_no_route": "send-to-dla-on-no-route",
    "slow_consumer_threshold": "slow-consumer-threshold",
    "slow_consumer_policy": "slow-consumer-policy",
    "id_cache_size": "id-cache-size",
    "management_message_attribute_size_limit": "management-message-attribute-size-limit",
    "management_browse_page_size": "management-browse-page-size",
}

# Of an acceptor's URI, by what it serves.
ACCEPTOR = {
    "connections_allowed": "connectionsAllowed",
    "tcp_send_buffer_bytes": "tcpSendBufferSize",
    "tcp_receive_buffer_bytes": "tcpReceiveBufferSize",
}
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
ACCEPTOR_PREFIXES = {"anycast_prefix": "anycastPrefix", "multicast_prefix": "multicastPrefix"}

CLUSTER_CONNECTION = {
    "message_load_balancing": "message-load-balancing",
    "max_hops": "max-hops",
    "use_duplicate_detection": "use-duplicate-detection",
    "retry_interval_ms": "retry-interval",
    "retry_interval_multiplier": "retry-interval-multiplier",
    "max_retry_interval_ms": "max-retry-interval",
    "initial_connect_attempts": "initial-connect-attempts",
    "reconnect_attempts": "reconnect-attempts",
    "check_period_ms": "check-period",
    "connection_ttl_ms": "connection-ttl",
    "call_timeout_ms": "call-timeout",
    "call_failover_timeout_ms": "call-failover-timeout",
    "min_large_message_bytes": "min-large-message-size",
    "confirmation_window_bytes": "confirmation-window-size",
    "producer_window_bytes": "producer-window-size",
    "notification_interval_ms": "notification-interval",
    "notification_attempts": "notification-attempts",
    "topology_scanner_attempts": "topology-scanner-attempts",
}

# High availability: by its kind, then by whether the broker is the backup.
_VOTES = {
    "group_name": "group-name",
    "initial_replication_sync_timeout_ms": "initial-replication-sync-timeout",
    "max_saved_replicated_journals": "max-saved-replicated-journals-size",
    "vote_on_replication_failure": "vote-on-replication-failure",
    "quorum_size": "quorum-size",
    "vote_retries": "vote-retries",
    "vote_retry_wait_ms": "vote-retry-wait",
    "quorum_vote_wait_s": "quorum-vote-wait",
    "retry_replication_wait_ms": "retry-replication-wait",
}
_BACKUP = {"allow_failback": "allow-failback", "restart_backup": "restart-backup"}
HA = {
    ("shared-store", False): {
        "failover_on_shutdown": "failover-on-shutdown",
        "wait_for_activation": "wait-for-activation",
    },
    ("shared-store", True): {"failover_on_shutdown": "failover-on-shutdown"} | _BACKUP,
    ("replication", False): {"check_for_active_server": "check-for-active-server"} | _VOTES,
    ("replication", True): _BACKUP | _VOTES,
}

BROKER_CONNECTION = {
    "name": "name",
    "retry_interval_ms": "retry-interval",
    "reconnect_attempts": "reconnect-attempts",
    "auto_start": "auto-start",
}

MIRROR = {
    "message_acknowledgements": "message-acknowledgements",
    "queue_creation": "queue-creation",
    "queue_removal": "queue-removal",
    "durable": "durable",
    "sync": "sync",
}
