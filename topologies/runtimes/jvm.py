"""How is a Classic broker started as a Java process? Argument list, environment, folders.

What the distribution's own ``bin/activemq`` script ends up running, without the script: same jar, same exports. Left
out are its JMX switches (Jolokia's agent reads the MBeans from inside), added is only what keeps a run to itself.
No password is among the arguments: they name files.
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from topologies.endpoints import ManagementEndpoint
from topologies.render.classic import LOG4J2_PROPERTIES
from topologies.render.log4j import LOG_CONFIG_PROPERTY
from topologies.render.site import (
    DATA_PROPERTY,
    KEYSTORE_PROPERTY,
    SECRETS_PROPERTY,
    STORE_PROPERTY,
    TRUSTSTORE_PROPERTY,
)
from topologies.runtimes.certificates import Stores
from topologies.runtimes.private import properties

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
KEPT_TO_ITSELF = (
    "-Djava.awt.headless=true",
    "-Djava.net.preferIPv4Stack=true",  # 127.0.0.1 is meant literally
    "-XX:+DisableAttachMechanism",
    "-XX:-UsePerfData",  # no file of counters in the shared temporary folder, which a killed JVM would leave there
)
CHANGES_A_JVM = ("JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS", "_JAVA_OPTIONS", "CLASSPATH")


@dataclass(frozen=True)
class BrokerFolders:
    """One broker's folders in the run's: ``conf`` and ``log`` stay, ``data`` may be removed with the run."""

    root: Path

    @property
    def conf(self) -> Path:
        return self.root / "conf"

    @property
    def data(self) -> Path:
        return self.root / "data"

    @property
    def temporary(self) -> Path:
        return self.data / "tmp"

    @property
    def log(self) -> Path:
        return self.root / "log"

    @property
    def log_file(self) -> Path:
        return self.log / "broker.log"

    def make(self) -> None:
        for folder in (self.conf, self.temporary, self.log):
            folder.mkdir(parents=True, exist_ok=True)


@dataclass(frozen=True)
class Launch:
    """What all brokers of a run are started with."""

    java: Path  # the executable
    distribution: Path  # the unpacked folder
    agent: Path  # Jolokia's jar
    secrets_file: Path
    memory_mb: int
    stores: Stores | None = None  # where brokers speak TLS
    hosts_file: Path | None = None  # the names that an Artemis broker knows, instead of this machine's


def command(launch: Launch, folders: BrokerFolders, agent_file: Path, store: Path | None = None) -> list[str]:
    """The argument list of one broker. ``agent_file``: as `agent_properties` has it; ``store``: of a pair, the active's
    data folder."""
    home = launch.distribution
    return [
        str(launch.java),
        f"-Xms{launch.memory_mb}m",  # as much as -Xmx: a heap that grows meanwhile would be measured too
        f"-Xmx{launch.memory_mb}m",
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
        f"-D{LOG_CONFIG_PROPERTY}={folders.conf}/{LOG4J2_PROPERTIES}",
        f"-D{SECRETS_PROPERTY}={launch.secrets_file}",
        *([f"-D{KEYSTORE_PROPERTY}={launch.stores.keys}"] if launch.stores else []),
        *([f"-D{TRUSTSTORE_PROPERTY}={launch.stores.trusted}"] if launch.stores else []),
        "-jar",
        f"{home}/bin/activemq.jar",
        "start",
    ]


def environment(inherited: Mapping[str, str] = os.environ) -> dict[str, str]:
    """The caller's, without what would change the JVM or the broker behind our back."""
    return {
        name: value
        for name, value in inherited.items()
        if name not in CHANGES_A_JVM and not name.startswith(("ACTIVEMQ_", "ARTEMIS_"))
    }


def agent_properties(endpoint: ManagementEndpoint) -> str:
    """Configuration of the Jolokia agent that answers at ``endpoint``; holds its password, so for a private file."""
    url = urlsplit(endpoint.url)
    return properties(
        {
            "host": str(url.hostname),
            "port": str(url.port),
            "user": endpoint.username,
            "password": endpoint.password,
            "discoveryEnabled": "false",  # it would answer multicasts of the local network
        }
    )
