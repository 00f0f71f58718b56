"""Builds the command line that starts a Classic broker as a Java process, and the start script for its image.

The command matches the distribution's ``bin/activemq`` script, without the script: same jar, same exports. Its JMX
switches are left out (Jolokia's agent reads the MBeans from inside the JVM), and only options that isolate a run are
added. The arguments contain no password: they name files.
"""

import re
from dataclasses import replace
from pathlib import PurePosixPath

from topologies.classic.broker import Broker
from topologies.classic.render.broker_xml import LOG4J2_PROPERTIES
from topologies.classic.render.network_connectors import discovery_of
from topologies.jvm.distribution import apache_archive, ensure
from topologies.jvm.launch import JavaParts, JvmLaunch, jvm
from topologies.model import site as names
from topologies.model.broker import AnyBroker
from topologies.model.explicit_fields import replace_explicitly
from topologies.model.launch import BrokerPlace, ProductImage
from topologies.model.site import (
    DATA_PROPERTY,
    KEYSTORE_PROPERTY,
    SECRETS_PROPERTY,
    STORE_PROPERTY,
    TRUSTSTORE_PROPERTY,
)
from topologies.model.topology import Topology
from topologies.render.log4j import LOG_CONFIG_PROPERTY
from topologies.render.start_script import CONF, HEAD, INSIDE, PRIVATE, STORE, home_of, java, needed

DISTRIBUTIONS = (
    apache_archive(
        "activemq-classic",
        "apache-activemq",
        "5.18.3",
        "61abc4a08b9e1db6a5b1062bb1c839171e93bcb571817fd81744dd19874d7138"
        "40bba99c7979d45bcb832d13ea01986b76fb11720f5ec63a0283e7d1934a33cc",
    ),
    apache_archive(
        "activemq-classic",
        "apache-activemq",
        "5.16.6",
        "3f73cb737d5b19dcd4df44a0f0f9bf30d33fb818f6d3eac78f626942848e7fdd"
        "61b74cc7bdb4d51bae38cf9be5f836f4180fa1b693cfbb8a016eb68e3805b210",
    ),
)
"""The pinned versions, the default first."""
IMAGE = ProductImage(
    upstream="apache/activemq-classic:5.18.3",
    built="brokerbench/activemq-classic:5.18.3",
    recipe="activemq-classic",
    home=PurePosixPath("/opt/apache-activemq"),
    home_variable="ACTIVEMQ_HOME",
    archive=lambda: (ensure(replace(DISTRIBUTIONS[0], folder="")), DISTRIBUTIONS[0].sha512),
)
OPENED = (
    "--add-reads=java.xml=java.logging",
    "--add-opens=java.base/java.security=ALL-UNNAMED",
    "--add-opens=java.base/java.net=ALL-UNNAMED",
    "--add-opens=java.base/java.lang=ALL-UNNAMED",
    "--add-opens=java.base/java.util=ALL-UNNAMED",
    "--add-opens=java.naming/javax.naming.spi=ALL-UNNAMED",
    "--add-opens=java.rmi/sun.rmi.transport.tcp=ALL-UNNAMED",
    "--add-opens=java.base/java.util.concurrent=ALL-UNNAMED",
    "--add-opens=java.base/java.util.concurrent.atomic=ALL-UNNAMED",
    "--add-exports=java.base/sun.net.www.protocol.http=ALL-UNNAMED",
    "--add-exports=java.base/sun.net.www.protocol.https=ALL-UNNAMED",
    "--add-exports=java.base/sun.net.www.protocol.jar=ALL-UNNAMED",
)


def arguments(parts: JavaParts, place: BrokerPlace) -> list[str]:
    """Return the arguments for one broker."""
    home, folders = parts.distribution, place.folders
    return [
        *jvm(parts, place),
        *OPENED,
        f"-Dactivemq.classpath={folders.conf}",
        f"-Dactivemq.home={home}",
        f"-Dactivemq.base={home}",
        f"-Dactivemq.conf={folders.conf}",
        f"-D{DATA_PROPERTY}={folders.data}",
        *([f"-D{STORE_PROPERTY}={place.store}"] if place.store else []),
        f"-D{LOG_CONFIG_PROPERTY}={folders.conf}/{LOG4J2_PROPERTIES}",  # ignored by log4j 1, in 5.16
        f"-D{SECRETS_PROPERTY}={place.secrets}",
        *([f"-D{KEYSTORE_PROPERTY}={place.stores.keys}"] if place.stores else []),
        *([f"-D{TRUSTSTORE_PROPERTY}={place.stores.trusted}"] if place.stores else []),
        "-jar",
        f"{home}/bin/activemq.jar",
        "start",
    ]


LAUNCH = JvmLaunch(
    product="classic",
    name="activemq",
    distributions=DISTRIBUTIONS,
    jar="bin/activemq.jar",
    needs=("lib/activemq-broker-*.jar", "lib/activemq-spring-*.jar"),
    arguments=arguments,
    image=IMAGE,
    bind_failed=re.compile(r"Failed to bind to server socket: \S*?:(\d+)(?:[/?]\S*)? due to"),
)
DATA = INSIDE / "data"


def start_script() -> str:
    secrets, home = PRIVATE / "brokers.properties", home_of(IMAGE)
    wanted = "\n".join(f"    printf '{key}=%s\\n' \"{needed(key)}\"" for key in names.SECRET_KEYS)
    options = (
        *OPENED,
        f"-Dactivemq.classpath={CONF}",
        f"-Dactivemq.home={home}",
        f"-Dactivemq.base={home}",
        f"-Dactivemq.conf={CONF}",
        f"-D{names.DATA_PROPERTY}={DATA}",
        f"-D{names.STORE_PROPERTY}={STORE}",
        f"-D{LOG_CONFIG_PROPERTY}={CONF}/{LOG4J2_PROPERTIES}",
        f"-D{names.SECRETS_PROPERTY}={secrets}",
    )
    return f"{HEAD}{{\n{wanted}\n}} >{secrets}\n" + java(*options) + f'    -jar "{home}/bin/activemq.jar" start\n'


def why_no_container(topology: Topology, broker: AnyBroker) -> str:
    """Return why a broker cannot run in a container, with the next step; '' if it can. Pure."""
    if isinstance(broker, Broker) and discovery_of(topology, broker) and _updates_clients(broker):
        return (
            f"broker {broker.name!r} is discovered by multicast and has update_cluster_clients: in a container it has"
            " different addresses for brokers and clients, but announces only one; use --runtime processes, or"
            " give the links that lead to it a static discovery"
        )
    return ""


def in_container(topology: Topology, broker: AnyBroker) -> AnyBroker:
    """Return the broker with the addresses that it announces in a container.

    It announces its IP address to clients; this machine publishes its ports at that address. A broker that others
    discover by multicast announces its host name, at which they reach it, because it announces the same address to
    everyone.
    """
    if not isinstance(broker, Broker):
        return broker
    host = "hostname" if discovery_of(topology, broker) else "ipaddress"
    return replace_explicitly(
        broker, connectors=tuple(replace_explicitly(connector, published_host=host) for connector in broker.connectors)
    )


def _updates_clients(broker: Broker) -> bool:
    return any(connector.update_cluster_clients for connector in broker.connectors)
