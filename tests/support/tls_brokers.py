"""Makes a topology whose brokers speak only TLS."""

from dataclasses import replace

from topologies.classic.network_connectors import NetworkConnector
from topologies.classic.transport_connectors import TransportConnector
from topologies.model.topology import Topology


def over_tls(topology: Topology) -> Topology:
    """The same network with every connector, and so every bridge, over TLS."""
    connectors = (TransportConnector("openwire", transport="ssl"), TransportConnector("stomp", transport="ssl"))
    brokers = {broker.name: replace(broker, connectors=connectors) for broker in topology.brokers}
    links = tuple(
        replace(link, opened_by=brokers[link.opened_by.name], to=brokers[link.to.name])
        for link in topology.links
        if isinstance(link, NetworkConnector)
    )
    groups = tuple(replace(g, enter_at=tuple(brokers[b.name] for b in g.enter_at)) for g in topology.groups)
    return replace(topology, brokers=tuple(brokers.values()), links=links, groups=groups)
