"""Renders discovery agents: a broker announces an address for each link by multicast, if each link has its own proxy.

A transport connector announces one address in one group. Therefore there is an agent for each link, of the class that
the connector would have. It announces the link's address in the link's group. The agents are services of the broker. It
starts them once its connectors listen (a standby, once it has taken over) and stops them with itself.
"""

from lxml import etree

from topologies.classic.broker import Broker
from topologies.classic.render.network_connectors import tellings
from topologies.model.site import Site
from topologies.model.topology import Topology
from topologies.render.xml import SPRING, add

FACTORY = "org.apache.activemq.transport.discovery.DiscoveryAgentFactory"
INVOKING = "org.springframework.beans.factory.config.MethodInvokingBean"


def add_discovery_agents(root: etree._Element, topology: Topology, broker: Broker, site: Site) -> None:
    """To the ``beans``, before the broker that names them."""
    for link, (group_uri, told_uri) in tellings(topology, broker, site).items():
        agent = _spring(root, "bean", {"id": _id(link), "class": FACTORY, "factory-method": "createDiscoveryAgent"})
        _spring(agent, "constructor-arg", {"value": group_uri})
        registering = _spring(root, "bean", {"class": INVOKING})
        _spring(registering, "property", {"name": "targetObject", "ref": _id(link)})
        _spring(registering, "property", {"name": "targetMethod", "value": "registerService"})
        _spring(registering, "property", {"name": "arguments", "value": told_uri})


def add_services(parent: etree._Element, topology: Topology, broker: Broker, site: Site) -> None:
    """To the broker."""
    links = tellings(topology, broker, site)
    if links:
        services = add(parent, "services")
        for link in links:
            _spring(services, "ref", {"bean": _id(link)})


def _id(link: str) -> str:
    return f"tells-{link}"


def _spring(parent: etree._Element, tag: str, attributes: dict[str, str]) -> etree._Element:
    return etree.SubElement(parent, f"{{{SPRING}}}{tag}", attributes)
