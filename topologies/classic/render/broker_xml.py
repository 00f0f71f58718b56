"""Renders the configuration of an ActiveMQ Classic 5.18.3 broker. Pure: returns text, writes no files.

Every property that affects a benchmark is written out, even at its default, because defaults changed between versions.
With `Site.unset_defaults` only properties that were set explicitly, or that a run needs (see `names.NEEDED`), are
written. Secrets are ``${…}`` placeholders. Spring fills them from the file that the system property `SECRETS_PROPERTY`
names. model/site.py names the values that a runtime must pass. The broker's child elements are in alphabetical order:
every version of the schema accepts that.
"""

from dataclasses import fields

from lxml import etree

from topologies.classic.broker import Broker
from topologies.classic.policies import BridgeFilter, DeadLetters, DestinationPolicy
from topologies.classic.render import names
from topologies.classic.render.authorization import BRIDGES, CLIENTS, add_authorization
from topologies.classic.render.names import DISPENSABLE, written_at
from topologies.classic.render.network_connectors import (
    add_discovery_agents,
    add_network_connectors,
    add_services,
    announcement_uri,
)
from topologies.classic.transport_connectors import TransportConnector
from topologies.classic.users import authorizes
from topologies.model.broker import AnyBroker
from topologies.model.explicit_fields import Written
from topologies.model.site import (
    BRIDGE_PASSWORD,
    BRIDGE_USERNAME,
    CLIENT_PASSWORD,
    CLIENT_USERNAME,
    DATA_PROPERTY,
    KEYSTORE_PASSWORD,
    KEYSTORE_PROPERTY,
    SECRETS_PROPERTY,
    STORE_PROPERTY,
    TRUSTSTORE_PASSWORD,
    TRUSTSTORE_PROPERTY,
    Site,
    is_before,
)
from topologies.model.topology import Topology
from topologies.model.users import password_key
from topologies.render.log4j import log4j1_properties, log4j2_properties
from topologies.render.xml import ACTIVEMQ, SCHEMA_LOCATION, SPRING, add, attributes_of, root_of, text, to_text


def needs_tls(topology: Topology, broker: AnyBroker) -> bool:
    """Whether it listens with TLS or opens a link to a broker that does."""
    if not isinstance(broker, Broker):
        return False
    called = [link.to for link in topology.opened_by(broker.active)]
    connectors = [end.connector("openwire") for end in called if isinstance(end, Broker)]
    return any(connector.is_secure for connector in (*broker.connectors, *connectors))


def add_tls(parent: etree._Element, topology: Topology, broker: Broker) -> None:
    """Add both stores: a broker of a pair presents its certificate, and verifies the certificates of others."""
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


BROKER_PATH_PROPERTY = "bbBrokerPath"
"""Message property (a STOMP header) with the names of the brokers that a message has left, separated by commas."""

ACTIVEMQ_XML = "activemq.xml"
LOG4J2_PROPERTIES = "log4j2.properties"
LOG4J_PROPERTIES = "log4j.properties"
LOG4J2_SINCE = (5, 17)

LIMITS = ("memory_limit_bytes", "memory_percent_of_heap", "store_limit_bytes", "temp_limit_bytes")
HOUSEKEEPING = {
    "dataDirectory": f"${{{DATA_PROPERTY}}}",
    "deleteAllMessagesOnStartup": "false",  # a restarted broker still has its data
    "schedulePeriodForDestinationPurge": "0",  # no queue and its counters disappear during a run
    "useShutdownHook": "true",  # SIGTERM shuts the broker down cleanly
    "systemExitOnShutdown": "false",
    "startAsync": "false",
    "enableStatistics": "true",
    "populateJMSXUserID": "false",
    "useMirroredQueues": "false",
}


def render(topology: Topology, broker: Broker, site: Site) -> dict[str, str]:
    """Map file names to texts: activemq.xml and the log settings. Raises KeyError if the site lacks a needed port."""
    root = root_of(SPRING, "beans")
    root.set(SCHEMA_LOCATION, f"{SPRING} {SPRING}/spring-beans.xsd {ACTIVEMQ} {ACTIVEMQ}/activemq-core.xsd")
    _add_placeholders(root)
    add_discovery_agents(root, topology, broker, site)
    root.append(_broker(topology, broker, site))
    return {ACTIVEMQ_XML: to_text(root), **_logging(site.version)}


def _logging(version: str) -> dict[str, str]:
    """The log settings. log4j 1 finds its file by name on the class path, which begins with the broker's ``conf``."""
    if is_before(version, LOG4J2_SINCE):
        return {LOG4J_PROPERTIES: log4j1_properties()}
    return {LOG4J2_PROPERTIES: log4j2_properties()}


def store_property(broker: Broker) -> str:
    """The system property with the folder of this broker's store; a standby uses its active broker's folder."""
    return STORE_PROPERTY if broker.standby_of else DATA_PROPERTY


def _add_placeholders(root: etree._Element) -> None:
    configurer = "org.springframework.beans.factory.config.PropertyPlaceholderConfigurer"
    bean = etree.SubElement(root, f"{{{SPRING}}}bean", {"class": configurer})
    location = f"file:${{{SECRETS_PROPERTY}}}"
    etree.SubElement(bean, f"{{{SPRING}}}property", {"name": "location", "value": location})


def _broker(topology: Topology, broker: Broker, site: Site) -> etree._Element:
    written = written_at(site)
    attributes = attributes_of(broker, names.BROKER, written) | {"persistent": text(broker.persistence is not None)}
    housekeeping = {
        name: value for name, value in HOUSEKEEPING.items() if not (site.unset_defaults and name in DISPENSABLE)
    }
    element = root_of(ACTIVEMQ, "broker", attributes | housekeeping)
    _add_policies(element, broker, written)
    management = {"createConnector": "false"}  # management goes through Jolokia's agent, not through an RMI port
    add(add(element, "managementContext"), "managementContext", management)
    add_network_connectors(element, topology, broker, site)
    _add_persistence(element, broker, written)
    _add_plugins(element, broker)
    add_services(element, topology, broker, site)
    add_tls(element, topology, broker)
    _add_limits(element, broker, written)
    connectors = add(element, "transportConnectors")
    for connector in broker.connectors:
        added = _add_connector(connectors, connector, _listening_uri(broker, connector, site, written), written)
        if connector.protocol == "openwire" and (telling := announcement_uri(topology, broker, site)):
            added.set("discoveryUri", telling)
    return element


def _add_policies(parent: etree._Element, broker: Broker, written: Written) -> None:
    if broker.policies:
        entries = add(add(add(parent, "destinationPolicy"), "policyMap"), "policyEntries")
        for policy in broker.policies:
            _add_policy(entries, policy, written)


def _add_policy(parent: etree._Element, policy: DestinationPolicy, written: Written) -> None:
    entry = add(parent, "policyEntry", {policy.kind: policy.pattern} | attributes_of(policy, names.POLICY, written))
    if _any(policy.dead_letters, written):
        _add_dead_letters(add(entry, "deadLetterStrategy"), policy.dead_letters, written)
    if _any(policy.bridge_filter, written):
        bridge_filter = attributes_of(policy.bridge_filter, names.BRIDGE_FILTER, written)
        add(add(entry, "networkBridgeFilterFactory"), "conditionalNetworkBridgeFilterFactory", bridge_filter)


def _any(part: DeadLetters | BridgeFilter, written: Written) -> bool:
    return any(written(part, field.name) for field in fields(part))


def _add_dead_letters(parent: etree._Element, dead_letters: DeadLetters, written: Written) -> None:
    attributes = attributes_of(dead_letters, names.DEAD_LETTERS, written)
    if dead_letters.kind == "shared":
        shared = add(parent, "sharedDeadLetterStrategy", attributes)
        add(add(shared, "deadLetterQueue"), "queue", {"physicalName": dead_letters.queue})
    else:
        prefixes = {"queuePrefix": f"{dead_letters.queue}.Queue.", "topicPrefix": f"{dead_letters.queue}.Topic."}
        add(parent, "individualDeadLetterStrategy", attributes | prefixes)


def _add_persistence(parent: etree._Element, broker: Broker, written: Written) -> None:
    if broker.persistence is not None:
        attributes = attributes_of(broker.persistence, names.KAHADB, written)
        store = {"directory": f"${{{store_property(broker)}}}/kahadb"}
        kahadb = add(add(parent, "persistenceAdapter"), "kahaDB", store | attributes)
        if lock := attributes_of(broker.persistence, names.STORE_LOCK, written):
            add(add(kahadb, "locker"), "shared-file-locker", lock)


def _add_plugins(parent: etree._Element, broker: Broker) -> None:
    plugins = add(parent, "plugins")
    users = add(add(plugins, "simpleAuthenticationPlugin", {"anonymousAccessAllowed": "false"}), "users")
    logins = [
        (f"${{{CLIENT_USERNAME}}}", CLIENT_PASSWORD, CLIENTS),
        (f"${{{BRIDGE_USERNAME}}}", BRIDGE_PASSWORD, BRIDGES),
        *((user.login, password_key(user.name, other=user.other_password), user.login) for user in broker.users),
    ]
    for username, password, groups in logins:
        login = {"username": username, "password": f"${{{password}}}", "groups": groups}
        add(users, "authenticationUser", login)
    if authorizes(broker.users):
        add_authorization(plugins, broker.users)
    if broker.trace_broker_path:
        add(plugins, "traceBrokerPathPlugin", {"stampProperty": BROKER_PATH_PROPERTY})


def _add_limits(parent: etree._Element, broker: Broker, written: Written) -> None:
    """Write all limits or none: if only one is set, 5.18.3 drops the others and lets its memory fill up."""
    if not any(written(broker, field) for field in (*names.SYSTEM_USAGE, *LIMITS)):
        return
    usage = add(add(parent, "systemUsage"), "systemUsage", attributes_of(broker, names.SYSTEM_USAGE, written))
    if broker.memory_limit_bytes:
        memory = {"limit": str(broker.memory_limit_bytes)}
    else:
        memory = {"percentOfJvmHeap": str(broker.memory_percent_of_heap)}
    add(add(usage, "memoryUsage"), "memoryUsage", memory)
    add(add(usage, "storeUsage"), "storeUsage", {"limit": str(broker.store_limit_bytes)})
    add(add(usage, "tempUsage"), "tempUsage", {"limit": str(broker.temp_limit_bytes)})


def _add_connector(parent: etree._Element, connector: TransportConnector, uri: str, written: Written) -> etree._Element:
    attributes = attributes_of(connector, names.TRANSPORT_CONNECTOR, written)
    element = add(parent, "transportConnector", attributes | {"uri": uri})
    if connector.update_cluster_filter:
        element.set("updateClusterFilter", connector.update_cluster_filter)
    strategy = {"publishedHostStrategy": connector.published_host.upper()}
    add(add(element, "publishedAddressPolicy"), "publishedAddressPolicy", strategy)
    return element


def _listening_uri(broker: Broker, connector: TransportConnector, site: Site, written: Written) -> str:
    start = f"{connector.scheme}://{site.bind_host}:{site.port(broker.name, connector.protocol)}"
    options = _listening_options(connector, written) | dict(connector.transport_options)
    return f"{start}?{'&'.join(f'{key}={value}' for key, value in options.items())}" if options else start


def _listening_options(connector: TransportConnector, written: Written) -> dict[str, str]:
    if connector.is_http:  # Jetty and its XML support none of these options
        return {}
    table = names.LISTENING | names.LISTENING_BY.get(connector.protocol, {})
    return attributes_of(connector, table, written)
