"""Renders a link as a ``networkConnector`` with its URI, and the agents that announce its address by multicast.

A transport connector announces one address in one group. If each link has a separate proxy, each link also has a
discovery agent, of the class that the connector would use. It announces the link's address in the link's group. The
agents are services of the broker. It starts them once its connectors listen (a standby, once it has taken over) and
stops them when it stops.
"""

from collections.abc import Iterator, Mapping

from lxml import etree

from topologies.classic.broker import Broker
from topologies.classic.network_connectors import FailoverDiscovery, MulticastDiscovery, NetworkConnector
from topologies.classic.render import names
from topologies.classic.render.names import written_at
from topologies.model.broker import AnyBroker
from topologies.model.explicit_fields import Written
from topologies.model.site import BRIDGE_PASSWORD, BRIDGE_USERNAME, Site
from topologies.model.topology import Topology
from topologies.model.users import link_password_key, login_of
from topologies.render.xml import SPRING, add, attributes_of

INACTIVITY = "wireFormat.maxInactivityDuration"


def add_network_connectors(parent: etree._Element, topology: Topology, broker: Broker, site: Site) -> None:
    """The links that this broker opens; the other end of a duplex link needs no configuration.

    A standby has the active broker's links, and opens them after a takeover, because it starts only then.
    """
    opener = broker.active
    links = [link for link in topology.opened_by(opener) if isinstance(link, NetworkConnector)]
    if links:
        connectors = add(parent, "networkConnectors")
        for link in {link.connector: link for link in links}.values():
            _add_network_connector(connectors, link, bridge_uri(topology, link, site), written_at(site))


def bridge_uri(topology: Topology, link: NetworkConnector, site: Site) -> str:
    """``static:(tcp://host:port?…)?…``, ``masterslave:(…)`` if the end has a standby, or as its discovery says."""
    if isinstance(link.discovery, MulticastDiscovery):
        inactivity = attributes_of(link, {"max_inactivity_ms": f"discovered.{INACTIVITY}"}, written_at(site))
        return _multicast_uri(link.discovery, _group(link, site), site, inactivity)
    standbys = [broker for broker in topology.brokers if broker.standby_of == link.to.name]
    called = (link.to, *standbys)
    uris = ",".join(
        _with_options(link, _called_uri(end, site.address_for(link.name, end.name, "openwire")), written_at(site))
        for end in called
    )
    if isinstance(link.discovery, FailoverDiscovery):
        options = attributes_of(link.discovery, names.FAILOVER_DISCOVERY, written_at(site))
        return f"static:(failover:({uris}){'?' if options else ''}{_query(options)})"
    options = attributes_of(link.discovery, names.STATIC_DISCOVERY, written_at(site))
    return f"{'masterslave' if standbys else 'static'}:({uris}){'?' if options else ''}{_query(options)}"


def _called_uri(broker: AnyBroker, address: str) -> str:
    """The URI of a broker's OpenWire connector for another broker."""
    assert isinstance(broker, Broker)  # a networkConnector leads only to Classic brokers
    return f"{broker.connector('openwire').called_by}://{address}"


def _with_options(link: NetworkConnector, uri: str, written: Written) -> str:
    options: dict[str, str] = {}
    if not uri.startswith("http"):  # XML over HTTP has no such negotiation
        options |= attributes_of(link, {"max_inactivity_ms": INACTIVITY}, written)
    if uri.startswith("ssl:"):
        options["socket.verifyHostName"] = "true"
    return f"{uri}?{_query(options)}" if options else uri


def announcement_uri(topology: Topology, broker: Broker, site: Site) -> str:
    """Where a broker, or its standby in its place, announces its address; empty if no link discovers it this way."""
    discovery = discovery_of(topology, broker)
    if discovery is None or proxied_announcements(topology, broker, site):
        return ""
    return _multicast_uri(discovery, _group_of(discovery, broker.active, broker.active, site), site, {})


def discovery_of(topology: Topology, broker: Broker) -> MulticastDiscovery | None:
    """How links discover a broker by multicast; None if no link does."""
    return next((discovery for _, discovery in _lookers(topology, broker)), None)


def proxied_announcements(topology: Topology, broker: Broker, site: Site) -> dict[str, tuple[str, str]]:
    """For each link with discovery and a proxy: the multicast URI for the announcement, and the announced address.

    A link without a proxy gets the broker's own address, by `announcement_uri`; either all links have proxies or none.
    """
    return {
        link.name: (_multicast_uri(discovery, _group(link, site), site, {}), _called_uri(broker, address))
        for link, discovery in _lookers(topology, broker)
        if (address := site.link_addresses.get((link.name, broker.name)))
    }


def _lookers(topology: Topology, broker: Broker) -> Iterator[tuple[NetworkConnector, MulticastDiscovery]]:
    reached = broker.active
    links = (link for link in topology.links if isinstance(link, NetworkConnector) and link.to.name == reached)
    for link in links:
        if isinstance(link.discovery, MulticastDiscovery):
            yield link, link.discovery


def _group(link: NetworkConnector, site: Site) -> str:
    """The name of a link's group: per broker, per link through a proxy, or as its discovery says."""
    assert isinstance(link.discovery, MulticastDiscovery)
    proxied = (link.name, link.to.name) in site.link_addresses
    return _group_of(link.discovery, link.name if proxied else link.to.name, link.to.name, site)


def _group_of(discovery: MulticastDiscovery, own: str, reached: str, site: Site) -> str:
    """Return ``default-61616``: the port makes the group unique to this run on this machine."""
    port = min(site.ports.values()) if discovery.group else site.port(reached, "openwire")
    return f"{discovery.group or own}-{port}"


def _multicast_uri(discovery: MulticastDiscovery, group: str, site: Site, query: Mapping[str, str]) -> str:
    options = {"group": group}
    if site.bind_host.startswith("127."):
        options |= {"joinNetworkInterface": site.loopback_interface, "networkInterface": site.loopback_interface}
    options |= attributes_of(discovery, names.MULTICAST_DISCOVERY, written_at(site)) | dict(query)
    return f"multicast://{discovery.address}:{discovery.port}?{_query(options)}"


def _query(options: Mapping[str, str]) -> str:
    return "&".join(f"{key}={value}" for key, value in options.items())


def _add_network_connector(parent: etree._Element, link: NetworkConnector, uri: str, written: Written) -> None:
    attributes = attributes_of(link, network_connector_names(link), written) | {"name": link.connector}
    element = add(parent, "networkConnector", attributes | _login(link) | {"uri": uri})
    if link.destination_filter:
        element.set("destinationFilter", link.destination_filter)
    for field, tag in names.NETWORK_CONNECTOR_LISTS.items():
        _add_destinations(element, tag, getattr(link, field))


TTLS = ("message_ttl", "consumer_ttl")


def network_ttls(link: NetworkConnector) -> tuple[str, ...]:
    """Return the fields of a link that limit hops in its configuration: ``network_ttl`` replaces both TTLs."""
    return TTLS if link.network_ttl is None else ("network_ttl",)


def network_connector_names(link: NetworkConnector) -> dict[str, str]:
    """Map the fields of a link to the attributes of its networkConnector."""
    all_names = names.NETWORK_CONNECTOR | names.NETWORK_TTL
    left_out = {*TTLS, "network_ttl"} - {*network_ttls(link)}
    return {field: name for field, name in all_names.items() if field not in left_out}


def _login(link: NetworkConnector) -> dict[str, str]:
    if not link.user_name:
        return {"userName": f"${{{BRIDGE_USERNAME}}}", "password": f"${{{BRIDGE_PASSWORD}}}"}
    key = link_password_key(link.opened_by.link_users, link.user_name)
    return {"userName": login_of(link.user_name), "password": f"${{{key}}}"}


def _add_destinations(parent: etree._Element, tag: str, destinations: tuple[str, ...]) -> None:
    if destinations:
        listed = add(parent, tag)
        for destination in destinations:
            kind, _, name = destination.partition("://")
            add(listed, kind, {"physicalName": name})


FACTORY = "org.apache.activemq.transport.discovery.DiscoveryAgentFactory"
INVOKING = "org.springframework.beans.factory.config.MethodInvokingBean"


def add_discovery_agents(root: etree._Element, topology: Topology, broker: Broker, site: Site) -> None:
    """Add them to ``beans``, before the broker that refers to them."""
    for link, (group_uri, told_uri) in proxied_announcements(topology, broker, site).items():
        agent = _spring(root, "bean", {"id": _id(link), "class": FACTORY, "factory-method": "createDiscoveryAgent"})
        _spring(agent, "constructor-arg", {"value": group_uri})
        registering = _spring(root, "bean", {"class": INVOKING})
        _spring(registering, "property", {"name": "targetObject", "ref": _id(link)})
        _spring(registering, "property", {"name": "targetMethod", "value": "registerService"})
        _spring(registering, "property", {"name": "arguments", "value": told_uri})


def add_services(parent: etree._Element, topology: Topology, broker: Broker, site: Site) -> None:
    """Add the agents to the broker's services."""
    links = proxied_announcements(topology, broker, site)
    if links:
        services = add(parent, "services")
        for link in links:
            _spring(services, "ref", {"bean": _id(link)})


def _id(link: str) -> str:
    return f"tells-{link}"


def _spring(parent: etree._Element, tag: str, attributes: dict[str, str]) -> etree._Element:
    return etree.SubElement(parent, f"{{{SPRING}}}{tag}", attributes)
