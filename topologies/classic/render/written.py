"""Says which settings a rendered Classic broker has: all, or by `--unset-defaults` those that somebody stated."""

from topologies.classic.broker import Broker
from topologies.classic.network_connectors import NetworkConnector
from topologies.classic.policies import DestinationPolicy
from topologies.classic.transport_connectors import TransportConnector
from topologies.model.site import Site
from topologies.model.stated import Written, every_field, stated_or

NEEDED = {
    Broker: ("name", "use_jmx", "trace_broker_path"),
    # An agreed interval of heart-beats is all the time that the broker's own default leaves a busy load generator.
    TransportConnector: ("name", "published_host", "heartbeat_grace_multiplier"),
    DestinationPolicy: ("max_browse_page_size",),
    NetworkConnector: ("name", "duplex", "message_ttl", "consumer_ttl"),
}
"""Fields that a run needs as they are: names, what it asks brokers for, and the hops by which it predicts paths."""

DISPENSABLE = ("populateJMSXUserID", "useMirroredQueues")
"""Of the attributes that no field has: those that no run needs."""


def written_at(site: Site) -> Written:
    return stated_or(NEEDED) if site.unset_defaults else every_field
