"""Finds which brokers need certificates, and renders where they find them."""

from lxml import etree

from topologies.classic.broker import Broker
from topologies.model.broker import AnyBroker
from topologies.model.topology import Topology
from topologies.render.site import (
    KEYSTORE_PASSWORD,
    KEYSTORE_PROPERTY,
    TRUSTSTORE_PASSWORD,
    TRUSTSTORE_PROPERTY,
)
from topologies.render.xml import add


def needs_tls(topology: Topology, broker: AnyBroker) -> bool:
    """Whether it listens by TLS or opens a link to one that does."""
    if not isinstance(broker, Broker):
        return False
    called = [link.to for link in topology.opened_by(broker.active)]
    connectors = [end.connector("openwire") for end in called if isinstance(end, Broker)]
    return any(connector.is_secure for connector in (*broker.connectors, *connectors))


def add_tls(parent: etree._Element, topology: Topology, broker: Broker) -> None:
    """Both stores at once: a broker of a pair shows its certificate, and verifies the others' certificates."""
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
