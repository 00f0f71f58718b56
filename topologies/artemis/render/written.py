"""Says which settings a rendered Artemis broker has: all, or by `--unset-defaults` those that somebody stated."""

from topologies.artemis.addresses import AddressSetting
from topologies.artemis.broker import Acceptor, ArtemisBroker, HaPolicy
from topologies.artemis.links import BrokerConnection, ClusterConnection
from topologies.model.site import Site
from topologies.model.stated import Written, every_field, stated_or

NEEDED = {
    ArtemisBroker: ("name",),
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
"""Fields that a run needs as they are: names, where messages go, what it counts and browses, who of a pair serves."""

DISPENSABLE = ("message-counter-enabled",)
"""Of the elements that no field has: those that no run needs."""


def written_at(site: Site) -> Written:
    return stated_or(NEEDED) if site.unset_defaults else every_field
