"""How does a link become a ``networkConnector``, and what URI does it call?"""

from lxml import etree

from topologies.brokers import Broker
from topologies.links import NetworkConnector
from topologies.model import Topology
from topologies.render import classic_names as names
from topologies.render.site import BRIDGE_PASSWORD, BRIDGE_USERNAME, Site
from topologies.render.xml import add, attributes_of


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
    """``static:(tcp://host:port?…)?…``; ``masterslave:(…)`` where standbys wait behind the link's end."""
    standbys = [broker.name for broker in topology.brokers if broker.standby_of == link.to.name]
    first = site.link_addresses.get(link.name) or site.address(link.to.name, "openwire")
    addresses = [first, *(site.address(standby, "openwire") for standby in standbys)]
    uris = ",".join(f"tcp://{it}?wireFormat.maxInactivityDuration={link.max_inactivity_ms}" for it in addresses)
    options = "&".join(f"{key}={value}" for key, value in attributes_of(link.discovery, names.STATIC_DISCOVERY).items())
    return f"{'masterslave' if standbys else 'static'}:({uris})?{options}"


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
