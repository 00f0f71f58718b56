"""Makes the command line that starts a Classic broker as a Java process, and names the image with that broker.

It is the command that the distribution's own ``bin/activemq`` script runs, without the script: same jar, same exports.
Left out are its JMX switches (Jolokia's agent reads the MBeans from inside), added is only what keeps a run to itself.
No password is among the arguments: they name files.
"""

from pathlib import Path, PurePosixPath

from topologies.classic.render.broker_xml import LOG4J2_PROPERTIES
from topologies.model.launch import KEPT_TO_ITSELF, BrokerFolders, Launch
from topologies.model.product import ProductImage
from topologies.render.log4j import LOG_CONFIG_PROPERTY
from topologies.render.site import (
    DATA_PROPERTY,
    KEYSTORE_PROPERTY,
    SECRETS_PROPERTY,
    STORE_PROPERTY,
    TRUSTSTORE_PROPERTY,
)

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
    """The argument list of one broker. ``agent_file``: as `agent_properties` has it; ``store``: of a pair, the active's
    data folder."""
    home = launch.distribution
    return [
        str(launch.java),
        *launch.heap_and_options,
        *KEPT_TO_ITSELF,
        f"-XX:ErrorFile={folders.log}/jvm-error-%p.log",
        f"-Djava.io.tmpdir={folders.temporary}",
        *OPENED,
        f"-javaagent:{launch.agent}=config={agent_file}",
        f"-Dactivemq.classpath={folders.conf}",
        f"-Dactivemq.home={home}",
        f"-Dactivemq.base={home}",
        f"-Dactivemq.conf={folders.conf}",
        f"-D{DATA_PROPERTY}={folders.data}",
        *([f"-D{STORE_PROPERTY}={store}"] if store else []),
        f"-D{LOG_CONFIG_PROPERTY}={folders.conf}/{LOG4J2_PROPERTIES}",  # log4j 1, of 5.16, does not read it
        f"-D{SECRETS_PROPERTY}={launch.secrets_file}",
        *([f"-D{KEYSTORE_PROPERTY}={launch.stores.keys}"] if launch.stores else []),
        *([f"-D{TRUSTSTORE_PROPERTY}={launch.stores.trusted}"] if launch.stores else []),
        "-jar",
        f"{home}/bin/activemq.jar",
        "start",
    ]
