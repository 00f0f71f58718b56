"""Builds the command line that starts a Classic broker as a Java process, and the start script for its image.

The command matches the distribution's ``bin/activemq`` script, without the script: same jar, same exports. Its JMX
switches are left out (Jolokia's agent reads the MBeans from inside the JVM), and only options that isolate a run are
added. The arguments contain no password: they name files.
"""

from pathlib import Path, PurePosixPath

from topologies.classic.broker import Broker
from topologies.classic.render.broker_xml import LOG4J2_PROPERTIES
from topologies.classic.render.network_connectors import discovery_of
from topologies.model import site as names
from topologies.model.broker import AnyBroker
from topologies.model.explicit_fields import replace_explicitly
from topologies.model.launch import BrokerFolders, Launch, ProductImage, jvm
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

IMAGE = ProductImage(
    upstream="apache/activemq-classic:5.18.3",
    built="brokerbench/activemq-classic:5.18.3",
    recipe="activemq-classic",
    home=PurePosixPath("/opt/apache-activemq"),
    home_variable="ACTIVEMQ_HOME",
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


def command(launch: Launch, folders: BrokerFolders, agent_file: Path, store: Path | None = None) -> list[str]:
    """Return the arguments for one broker.

    ``agent_file``: see `agent_properties`. ``store``: for a standby, the active's data folder.
    """
    home = launch.distribution
    return [
        *jvm(launch, folders, agent_file),
        *OPENED,
        f"-Dactivemq.classpath={folders.conf}",
        f"-Dactivemq.home={home}",
        f"-Dactivemq.base={home}",
        f"-Dactivemq.conf={folders.conf}",
        f"-D{DATA_PROPERTY}={folders.data}",
        *([f"-D{STORE_PROPERTY}={store}"] if store else []),
        f"-D{LOG_CONFIG_PROPERTY}={folders.conf}/{LOG4J2_PROPERTIES}",  # ignored by log4j 1, in 5.16
        f"-D{SECRETS_PROPERTY}={launch.secrets_file}",
        *([f"-D{KEYSTORE_PROPERTY}={launch.stores.keys}"] if launch.stores else []),
        *([f"-D{TRUSTSTORE_PROPERTY}={launch.stores.trusted}"] if launch.stores else []),
        "-jar",
        f"{home}/bin/activemq.jar",
        "start",
    ]


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
