"""How does a broker tell by multicast where each link finds it, when every link has a proxy of its own before it?

A transport connector tells one address, in one group. So there is an agent for each link, of the class that the
connector would have: it tells the link's address in the link's group. They are services of the broker, which starts
them once its connectors listen (a standby's, once it has taken over) and stops them with itself.
"""

from lxml import etree

from topologies.brokers import Broker
from topologies.model import Topology
from topologies.render.classic_links import tellings
from topologies.render.site import Site
from topologies.render.xml import SPRING, add

FACTORY = "org.apache.activemq.transport.discovery.DiscoveryAgentFactory"
INVOKING = "org.springframework.beans.factory.config.MethodInvokingBean"


def add_tellers(root: etree._Element, topology: Topology, broker: Broker, site: Site) -> None:
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
