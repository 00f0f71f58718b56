"""How does a link become a ``networkConnector``, and what URI does it call?"""

from collections.abc import Mapping

from lxml import etree

from topologies.brokers import AnyBroker, Broker
from topologies.links import MulticastDiscovery, NetworkConnector
from topologies.model import Topology
from topologies.render import classic_names as names
from topologies.render.site import BRIDGE_PASSWORD, BRIDGE_USERNAME, Site
from topologies.render.xml import add, attributes_of
from topologies.validity import TopologyInvalid


def add_network_connectors(parent: etree._Element, topology: Topology, broker: Broker, site: Site) -> None:
    """The links that this broker opens; the other end learns of a duplex link by itself.

    A standby has its active's: it opens them once it has taken over, for only then does it start.
    """
    opener = broker.standby_of or broker.name
    links = [link for link in topology.opened_by(opener) if isinstance(link, NetworkConnector)]
    if links:
        connectors = add(parent, "networkConnectors")
        for link in links:
            _add_network_connector(connectors, link, bridge_uri(topology, link, site))


def bridge_uri(topology: Topology, link: NetworkConnector, site: Site) -> str:
    """``static:(tcp://host:port?…)?…``, ``masterslave:(…)`` where a standby waits behind the end, or ``multicast://…``."""
    if isinstance(link.discovery, MulticastDiscovery):
        return _listening_uri(link, link.discovery, site)
    standbys = [broker for broker in topology.brokers if broker.standby_of == link.to.name]
    called = (link.to, *standbys)
    uris = ",".join(_called_uri(link, each, site.address_for(link.name, each.name, "openwire")) for each in called)
    options = _query(attributes_of(link.discovery, names.STATIC_DISCOVERY))
    return f"{'masterslave' if standbys else 'static'}:({uris})?{options}"


def _called_uri(link: NetworkConnector, broker: AnyBroker, address: str) -> str:
    """One address of the link's end, by the scheme that its OpenWire connector listens for."""
    assert isinstance(broker, Broker)  # what else could a networkConnector lead to
    connector = broker.connector("openwire")
    options: dict[str, str] = {}
    if not connector.is_http:  # its XML has no such negotiation
        options["wireFormat.maxInactivityDuration"] = str(link.max_inactivity_ms)
    if connector.called_by == "ssl":
        options["socket.verifyHostName"] = "true"
    uri = f"{connector.called_by}://{address}"
    return f"{uri}?{_query(options)}" if options else uri


def telling_uri(topology: Topology, broker: Broker, site: Site) -> str:
    """Where a broker, or its standby in its place, tells that it is there; empty if no link looks for it so."""
    discovery = looked_for(topology, broker)
    return _multicast_uri(discovery, broker.standby_of or broker.name, site, {}) if discovery else ""


def looked_for(topology: Topology, broker: Broker) -> MulticastDiscovery | None:
    """How links look for a broker by multicast; None if none does."""
    reached = broker.standby_of or broker.name
    for link in topology.links:
        if link.to.name == reached and isinstance(discovery := getattr(link, "discovery", None), MulticastDiscovery):
            return discovery
    return None


def _listening_uri(link: NetworkConnector, discovery: MulticastDiscovery, site: Site) -> str:
    if (link.name, link.to.name) in site.link_addresses:
        raise TopologyInvalid(
            f"link {link.name!r} finds its end by multicast, which tells the end's own address: it cannot go through"
            " a proxy; give the link a static discovery"
        )
    inactivity = {"discovered.wireFormat.maxInactivityDuration": str(link.max_inactivity_ms)}
    return _multicast_uri(discovery, link.to.name, site, inactivity)


def _multicast_uri(discovery: MulticastDiscovery, reached: str, site: Site, more: Mapping[str, str]) -> str:
    # With the port in it, no other run on this machine has the same group.
    options = {"group": f"{reached}-{site.port(reached, 'openwire')}"}
    if site.bind_host.startswith("127."):
        options |= {"joinNetworkInterface": site.loopback_interface, "networkInterface": site.loopback_interface}
    options |= attributes_of(discovery, names.MULTICAST_DISCOVERY) | dict(more)
    return f"multicast://{discovery.address}:{discovery.port}?{_query(options)}"


def _query(options: Mapping[str, str]) -> str:
    return "&".join(f"{key}={value}" for key, value in options.items())


def _add_network_connector(parent: etree._Element, link: NetworkConnector, uri: str) -> None:
    login = {"userName": f"${{{BRIDGE_USERNAME}}}", "password": f"${{{BRIDGE_PASSWORD}}}", "uri": uri}
    element = add(parent, "networkConnector", attributes_of(link, names.NETWORK_CONNECTOR) | login)
    if link.destination_filter:
        element.set("destinationFilter", link.destination_filter)
    for field, tag in names.NETWORK_CONNECTOR_LISTS.items():
        _add_destinations(element, tag, getattr(link, field))


def _add_destinations(parent: etree._Element, tag: str, destinations: tuple[str, ...]) -> None:
    if destinations:
        listed = add(parent, tag)
        for destination in destinations:
            kind, _, name = destination.partition("://")
            add(listed, kind, {"physicalName": name})
