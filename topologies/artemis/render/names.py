"""Maps each field of the model to Artemis's name for it, an XML element or attribute; one table per class.

Spellings follow the broker's schema (artemis-configuration.xsd of 2.44.0). Fields that need more than a name are
handled in the renderer; a test ensures that every field is handled.

It also decides which settings are rendered: all, or with `--unset-defaults` only explicit settings.
Elements are created with lxml, which escapes all text.
"""

from collections.abc import Mapping

from lxml import etree

from topologies.artemis.addresses import AddressSetting
from topologies.artemis.broker import Acceptor, ArtemisBroker, HaPolicy, Journal
from topologies.artemis.links import BrokerConnection, ClusterConnection, Mirror
from topologies.model.explicit_fields import Written, explicit_or, write_all
from topologies.model.site import Site
from topologies.render.xml import camel_case, every_field_spelled, hyphenated, spelled

BROKER = {"own_name": "name"} | every_field_spelled(
    hyphenated,
    ArtemisBroker,
    without="name broker_name region standby_of acceptors address_settings addresses persistence ha jvm"
    " memory_percent_of_heap memory_limit_bytes users",
    memory_limit_messages="global-max-messages",
    graceful_shutdown="graceful-shutdown-enabled",
    wildcard_routing="wild-card-routing-enabled",
    mirror_ack_queue_attempts="mirror-ack-manager-queue-attempts",
    mirror_ack_page_attempts="mirror-ack-manager-page-attempts",
    mirror_ack_retry_delay_ms="mirror-ack-manager-retry-delay",
)

JOURNAL = every_field_spelled(
    lambda field: f"journal-{hyphenated(field)}",
    Journal,
    kind="journal-type",
    large_message_sync="large-message-sync",
    file_size_bytes="journal-file-size",
    compact_percent="journal-compact-percentage",
    device_block_bytes="journal-device-block-size",
    buffer_bytes="journal-buffer-size",
    page_max_concurrent_io="page-max-concurrent-io",
)

# The values that 2.44.0 itself uses for a journal of each kind if the setting is 0.
JOURNAL_BY_KIND = {
    "NIO": {"journal-buffer-timeout": "3333333", "journal-max-io": "1"},
    "ASYNCIO": {"journal-buffer-timeout": "500000", "journal-max-io": "4096"},
}

ADDRESS_SETTING = every_field_spelled(
    hyphenated,
    AddressSetting,
    without="match max_redelivery_delay_ms default_routing",
    max_size_bytes="max-size-bytes",
    page_size_bytes="page-size-bytes",
    max_read_page_bytes="max-read-page-bytes",
    default_consumer_window_bytes="default-consumer-window-size",
    default_exclusive="default-exclusive-queue",
    default_last_value="default-last-value-queue",
    send_to_dead_letters_on_no_route="send-to-dla-on-no-route",
)

# Acceptor URI options: for every protocol, then by protocol.
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

CLUSTER_CONNECTION = every_field_spelled(
    hyphenated,
    ClusterConnection,
    without="name",
    min_large_message_bytes="min-large-message-size",
    confirmation_window_bytes="confirmation-window-size",
    producer_window_bytes="producer-window-size",
)

# High availability: by kind, and by whether the broker is the backup.
_VOTES = every_field_spelled(
    hyphenated,
    HaPolicy,
    without="kind failover_on_shutdown wait_for_activation allow_failback restart_backup check_for_active_server",
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

MIRROR = every_field_spelled(hyphenated, Mirror, without="address_filter properties")


NEEDED = {
    ArtemisBroker: ("own_name",),
    Acceptor: ("anycast_prefix", "multicast_prefix"),
    AddressSetting: (
        "dead_letter_address",
        "expiry_address",
        "auto_delete_queues",
        "auto_delete_addresses",
        "default_routing",
        "management_message_attribute_size_limit",
    ),
    HaPolicy: ("check_for_active_server",),
    BrokerConnection: ("name",),
    ClusterConnection: ("max_hops",),
}
"""Fields that a run needs: names, routes of messages, counted and browsed queues, and the roles in a pair."""

DISPENSABLE = ("message-counter-enabled",)
"""Elements without a field in the model that no run needs."""


def written_at(site: Site) -> Written:
    return explicit_or(NEEDED) if site.unset_defaults else write_all


CONFIGURATION, CORE = "urn:activemq", "urn:activemq:core"


def element(namespace: str, tag: str) -> etree._Element:
    """An element without a parent. Its namespace is the default for its descendants."""
    prefixes: dict[str | None, str] = {None: namespace}
    return etree.Element(f"{{{namespace}}}{tag}", nsmap=prefixes)  # type: ignore[arg-type]


def add(
    parent: etree._Element, tag: str, attributes: Mapping[str, str] | None = None, text: str | None = None
) -> etree._Element:
    """Add a child of ``parent`` in the namespace of ``core``."""
    child = etree.SubElement(parent, f"{{{CORE}}}{tag}", dict(attributes or {}))
    child.text = text
    return child


def add_all(parent: etree._Element, values: Mapping[str, str]) -> None:
    """Add a child for each entry: tag to text."""
    for tag, value in values.items():
        add(parent, tag, {}, value)
