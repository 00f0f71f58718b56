"""Which brokers need certificates, and how are they told of them?"""

from lxml import etree

from topologies.brokers import Broker
from topologies.model import Topology
from topologies.render.site import (
    KEYSTORE_PASSWORD,
    KEYSTORE_PROPERTY,
    TRUSTSTORE_PASSWORD,
    TRUSTSTORE_PROPERTY,
)
from topologies.render.xml import add


def needs_tls(topology: Topology, broker: Broker) -> bool:
    """Whether it listens by TLS or opens a link to one that does."""
    called = [link.to for link in topology.opened_by(broker.standby_of or broker.name)]
    connectors = [end.connector("openwire") for end in called if isinstance(end, Broker)]
    return any(connector.is_secure for connector in (*broker.connectors, *connectors))


def anyone_needs_tls(topology: Topology) -> bool:
    return any(isinstance(broker, Broker) and needs_tls(topology, broker) for broker in topology.brokers)


def add_tls(parent: etree._Element, topology: Topology, broker: Broker) -> None:
    """Both stores at once: a broker of a pair shows its certificate and verifies that of the others."""
    if needs_tls(topology, broker):
        stores = {
            "keyStore": f"file:${{{KEYSTORE_PROPERTY}}}",
            "keyStorePassword": f"${{{KEYSTORE_PASSWORD}}}",
            "keyStoreType": "pkcs12",
            "trustStore": f"file:${{{TRUSTSTORE_PROPERTY}}}",
            "trustStorePassword": f"${{{TRUSTSTORE_PASSWORD}}}",
            "trustStoreType": "pkcs12",
        }
        add(add(parent, "sslContext"), "sslContext", stores)
