"""Lists what ActiveMQ Classic calls each field of the model, one table a value: field of the model to XML attribute.

Spellings are those of the broker's own schema (activemq.xsd of 5.18.3), its mistakes included. Fields that need more
than a name (lists, nested values, URIs) are handled in the renderer; a test holds that no field is forgotten.
"""

BROKER = {
    "name": "brokerName",
    "advisory_support": "advisorySupport",
    "use_jmx": "useJmx",
    "scheduler_support": "schedulerSupport",
    "dedicated_task_runner": "dedicatedTaskRunner",
    "network_connector_start_async": "networkConnectorStartAsync",
    "keep_durable_subs_active": "keepDurableSubsActive",
    "use_virtual_topics": "useVirtualTopics",
    "use_virtual_dest_subs": "useVirtualDestSubs",
    "use_virtual_dest_subs_on_creation": "useVirtualDestSubsOnCreation",
    "split_system_usage": "splitSystemUsageForProducersConsumers",
    "producer_system_usage_percent": "producerSystemUsagePortion",
    "consumer_system_usage_percent": "consumerSystemUsagePortion",
}

SYSTEM_USAGE = {
    "send_fail_if_no_space": "sendFailIfNoSpace",
    "send_fail_if_no_space_after_timeout_ms": "sendFailIfNoSpaceAfterTimeout",
}

KAHADB = {
    "journal_max_file_length_bytes": "journalMaxFileLength",
    "journal_max_write_batch_size_bytes": "journalMaxWriteBatchSize",
    "journal_disk_sync_strategy": "journalDiskSyncStrategy",
    "journal_disk_sync_interval_ms": "journalDiskSyncInterval",
    "enable_index_disk_syncs": "enableIndexDiskSyncs",
    "enable_index_recovery_file": "enableIndexRecoveryFile",
    "enable_index_write_async": "enableIndexWriteAsync",
    "enable_index_page_caching": "enableIndexPageCaching",
    "index_cache_size_pages": "indexCacheSize",
    "index_write_batch_size_pages": "indexWriteBatchSize",
    "checkpoint_interval_ms": "checkpointInterval",
    "cleanup_interval_ms": "cleanupInterval",
    "concurrent_store_and_dispatch_queues": "concurrentStoreAndDispatchQueues",
    "concurrent_store_and_dispatch_topics": "concurrentStoreAndDispatchTopics",
    "max_async_jobs": "maxAsyncJobs",
    "enable_ack_compaction": "enableAckCompaction",
    "compact_acks_after_no_gc": "compactAcksAfterNoGC",
    "preallocation_scope": "preallocationScope",
    "preallocation_strategy": "preallocationStrategy",
    "checksum_journal_files": "checksumJournalFiles",
    "check_for_corrupt_journal_files": "checkForCorruptJournalFiles",
    "max_failover_producers_to_track": "maxFailoverProducersToTrack",
    "failover_producers_audit_depth": "failoverProducersAuditDepth",
    "lock_keep_alive_period_ms": "lockKeepAlivePeriod",
}

STORE_LOCK = {
    "lock_acquire_sleep_interval_ms": "lockAcquireSleepInterval",
}

TRANSPORT_CONNECTOR = {
    "name": "name",
    "update_cluster_clients": "updateClusterClients",
    "rebalance_cluster_clients": "rebalanceClusterClients",
    "update_cluster_clients_on_remove": "updateClusterClientsOnRemove",
    "audit_network_producers": "auditNetworkProducers",
    "enable_status_monitor": "enableStatusMonitor",
    "disable_async_dispatch": "disableAsyncDispatch",
    "allow_link_stealing": "allowLinkStealing",
    "warn_on_remote_close": "warnOnRemoteClose",
    "maximum_consumers_per_connection": "maximumConsumersAllowedPerConnection",
    "maximum_producers_per_connection": "maximumProducersAllowedPerConnection",
}

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

POLICY = {
    "producer_flow_control": "producerFlowControl",
    "memory_limit_bytes": "memoryLimit",
    "cursor_memory_high_water_mark_percent": "cursorMemoryHighWaterMark",
    "store_usage_high_water_mark_percent": "storeUsageHighWaterMark",
    "blocked_producer_warning_interval_ms": "blockedProducerWarningInterval",
    "queue_prefetch": "queuePrefetch",
    "topic_prefetch": "topicPrefetch",
    "durable_topic_prefetch": "durableTopicPrefetch",
    "queue_browser_prefetch": "queueBrowserPrefetch",
    "max_page_size": "maxPageSize",
    "max_browse_page_size": "maxBrowsePageSize",
    "max_expire_page_size": "maxExpirePageSize",
    "optimized_dispatch": "optimizedDispatch",
    "use_cache": "useCache",
    "use_consumer_priority": "useConsumerPriority",
    "strict_order_dispatch": "strictOrderDispatch",
    "lazy_dispatch": "lazyDispatch",
    "prioritized_messages": "prioritizedMessages",
    "use_prefetch_extension": "usePrefetchExtension",
    "persist_jms_redelivered": "persistJMSRedelivered",
    "reduce_memory_footprint": "reduceMemoryFootprint",
    "expire_messages_period_ms": "expireMessagesPeriod",
    "enable_audit": "enableAudit",
    "max_audit_depth": "maxAuditDepth",
    "max_queue_audit_depth": "maxQueueAuditDepth",
    "max_producers_to_audit": "maxProducersToAudit",
    "send_duplicate_from_store_to_dlq": "sendDuplicateFromStoreToDLQ",
    "gc_inactive_destinations": "gcInactiveDestinations",
    "gc_with_network_consumers": "gcWithNetworkConsumers",
    "inactive_timeout_before_gc_ms": "inactiveTimeoutBeforeGC",
    "advisory_for_consumed": "advisoryForConsumed",
    "advisory_for_delivery": "advisoryForDelivery",
    "advisory_for_slow_consumers": "advisoryForSlowConsumers",
    "advisory_for_fast_producers": "advisoryForFastProducers",
    "advisory_for_discarding_messages": "advisoryForDiscardingMessages",
    "advisory_when_full": "advisoryWhenFull",
}

DEAD_LETTERS = {
    "process_expired": "processExpired",
    "process_non_persistent": "processNonPersistent",
    "enable_audit": "enableAudit",
    "max_audit_depth": "maxAuditDepth",
    "max_producers_to_audit": "maxProducersToAudit",
    "expiration_ms": "expiration",
}

BRIDGE_FILTER = {
    "replay_when_no_consumers": "replayWhenNoConsumers",
    "replay_delay_ms": "replayDelay",
    "rate_limit": "rateLimit",
    "rate_duration_ms": "rateDuration",
    "selector_aware": "selectorAware",
}

NETWORK_CONNECTOR = {
    "name": "name",
    "duplex": "duplex",
    "message_ttl": "messageTTL",
    "consumer_ttl": "consumerTTL",
    "conduit_subscriptions": "conduitSubscriptions",
    "conduit_network_queue_subscriptions": "conduitNetworkQueueSubscriptions",
    "dynamic_only": "dynamicOnly",
    "static_bridge": "staticBridge",
    "suppress_duplicate_queue_subscriptions": "suppressDuplicateQueueSubscriptions",
    "suppress_duplicate_topic_subscriptions": "suppressDuplicateTopicSubscriptions",
    "use_virtual_dest_subs": "useVirtualDestSubs",
    "sync_durable_subs": "syncDurableSubs",
    "bridge_temp_destinations": "bridgeTempDestinations",
    "decrease_network_consumer_priority": "decreaseNetworkConsumerPriority",
    "consumer_priority_base": "consumerPriorityBase",
    "prefetch_size": "prefetchSize",
    "advisory_prefetch_size": "advisoryPrefetchSize",
    "advisory_ack_percentage": "advisoryAckPercentage",
    "dispatch_async": "dispatchAsync",
    "always_sync_send": "alwaysSyncSend",
    "use_compression": "useCompression",
    "advisory_for_failed_forward": "advisoryForFailedForward",
    "check_duplicate_messages_on_duplex": "checkDuplicateMessagesOnDuplex",
    "client_id_token": "clientIdToken",
    "use_broker_name_as_id_seed": "useBrokerNameAsIdSees",
    "gc_destination_views": "gcDestinationViews",
    "gc_sweep_time_ms": "gcSweepTime",
}

NETWORK_CONNECTOR_LISTS = {
    "excluded_destinations": "excludedDestinations",
    "dynamically_included_destinations": "dynamicallyIncludedDestinations",
    "statically_included_destinations": "staticallyIncludedDestinations",
}

STATIC_DISCOVERY = {
    "initial_reconnect_delay_ms": "initialReconnectDelay",
    "max_reconnect_delay_ms": "maxReconnectDelay",
    "use_exponential_back_off": "useExponentialBackOff",
    "back_off_multiplier": "backOffMultiplier",
    "max_reconnect_attempts": "maxReconnectAttempts",
    "min_connect_time_ms": "minConnectTime",
}

MULTICAST_DISCOVERY = {
    "time_to_live": "timeToLive",
    "keep_alive_interval_ms": "keepAliveInterval",
    "initial_reconnect_delay_ms": "initialReconnectDelay",
    "max_reconnect_delay_ms": "maxReconnectDelay",
    "use_exponential_back_off": "useExponentialBackOff",
    "back_off_multiplier": "backOffMultiplier",
    "max_reconnect_attempts": "maxReconnectAttempts",
}
