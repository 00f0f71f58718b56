"""Maps each field of the model to ActiveMQ Classic's name for it, an XML attribute; one table per class.

Spellings follow the broker's schema (activemq.xsd of 5.18.3), including its mistakes. Fields that need more than a name
(lists, nested values, URIs) are handled in the renderer; a test ensures that every field is handled.

It also decides which settings are rendered: all, or with `--unset-defaults` only explicit settings.
"""

from topologies.classic.broker import Broker, KahaDb
from topologies.classic.network_connectors import (
    FailoverDiscovery,
    MulticastDiscovery,
    NetworkConnector,
    StaticDiscovery,
)
from topologies.classic.policies import BridgeFilter, DeadLetters, DestinationPolicy
from topologies.classic.transport_connectors import TransportConnector
from topologies.model.explicit_fields import Written, explicit_or, write_all
from topologies.model.site import Site
from topologies.render.xml import camel_case, every_field_spelled, spelled

SYSTEM_USAGE = spelled(camel_case, "send_fail_if_no_space send_fail_if_no_space_after_timeout_ms")
BROKER = {"own_name": "brokerName"} | every_field_spelled(
    camel_case,
    Broker,
    without=" ".join(SYSTEM_USAGE)
    + " name broker_name region standby_of connectors policies persistence memory_percent_of_heap memory_limit_bytes"
    " store_limit_bytes temp_limit_bytes trace_broker_path users jvm",
    split_system_usage="splitSystemUsageForProducersConsumers",
    producer_system_usage_percent="producerSystemUsagePortion",
    consumer_system_usage_percent="consumerSystemUsagePortion",
)
KAHADB = every_field_spelled(camel_case, KahaDb, without="lock_acquire_sleep_interval_ms")
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

# Transport connector URI options: for every protocol, then by protocol.
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

POLICY = every_field_spelled(camel_case, DestinationPolicy, without="pattern kind dead_letters bridge_filter")
DEAD_LETTERS = every_field_spelled(camel_case, DeadLetters, without="kind queue")
BRIDGE_FILTER = every_field_spelled(camel_case, BridgeFilter)
NETWORK_CONNECTOR_LISTS = spelled(
    camel_case,
    "excluded_destinations dynamically_included_destinations statically_included_destinations",
)
NETWORK_TTL = spelled(camel_case, "network_ttl")
NETWORK_CONNECTOR = every_field_spelled(
    camel_case,
    NetworkConnector,
    without=" ".join(NETWORK_CONNECTOR_LISTS)
    + " opened_by to user_name impairment destination_filter max_inactivity_ms discovery network_ttl",
    use_broker_name_as_id_seed="useBrokerNameAsIdSees",
)
STATIC_DISCOVERY = every_field_spelled(camel_case, StaticDiscovery)
FAILOVER_DISCOVERY = every_field_spelled(camel_case, FailoverDiscovery)
MULTICAST_DISCOVERY = every_field_spelled(camel_case, MulticastDiscovery, without="address port group")


NEEDED = {
    Broker: ("own_name", "use_jmx", "trace_broker_path"),
    # With the broker's own default, a busy load generator may delay a heartbeat by only one agreed interval.
    TransportConnector: ("name", "published_host", "heartbeat_grace_multiplier"),
    DestinationPolicy: ("max_browse_page_size",),
    NetworkConnector: ("name", "duplex", "message_ttl", "consumer_ttl"),
}
"""Fields that a run needs: names, figures that it reads from brokers, and hop limits for predicted paths."""

DISPENSABLE = ("populateJMSXUserID", "useMirroredQueues")
"""Attributes without a field in the model that no run needs."""


def written_at(site: Site) -> Written:
    return explicit_or(NEEDED) if site.unset_defaults else write_all
