"""Builds the command line that starts an Artemis broker as a Java process, and the start script for its image.

The command matches an instance's ``bin/artemis run`` script, without the script or an instance: same boot jar, same
exports. Its JMX switches and web console are left out (Jolokia's agent reads the MBeans from inside the JVM). The
arguments contain no password: they name files.
"""

import platform
from pathlib import Path, PurePath, PurePosixPath

from topologies.artemis.render.files import BROKER_PROPERTIES, LOG4J2, LOGIN_CONFIG
from topologies.model import site as names
from topologies.model.launch import BrokerFolders, Launch, ProductImage, jvm
from topologies.model.site import DATA_PROPERTY, SECRETS_PROPERTY, STORE_PROPERTY
from topologies.render.log4j import LOG_CONFIG_PROPERTY
from topologies.render.start_script import CONF, HEAD, PRIVATE, SECRETS_SCRIPT, STORE, home_of, java, needed

IMAGE = ProductImage(
    upstream="apache/activemq-artemis:2.44.0",
    built="brokerbench/activemq-artemis:2.44.0",
    recipe="activemq-artemis",
    home=PurePosixPath("/opt/activemq-artemis"),
    home_variable="ARTEMIS_HOME",
)
MAIN = "org.apache.activemq.artemis.boot.Artemis"


def command(launch: Launch, folders: BrokerFolders, agent_file: Path, store: Path | None = None) -> list[str]:
    """Return the arguments for one broker. ``launch.secrets_file`` is the folder with its filled secrets.

    ``agent_file``: see `topologies.model.launch.agent_properties`. ``store``: for a standby, the active's data folder.
    """
    home = launch.distribution
    return [
        *jvm(launch, folders, agent_file),
        "-XX:AutoBoxCacheMax=20000",
        f"-Djava.library.path={home}/bin/lib/linux-{platform.machine()}",
        *settings(str(home), folders.conf, folders.data, store),
        *([f"-Djdk.net.hosts.file={launch.hosts_file}"] if launch.hosts_file else []),
        f"-D{SECRETS_PROPERTY}={launch.secrets_file}",
        *started(str(home), folders.conf, launch.secrets_file),
    ]


def settings(home: str, conf: PurePath, data: PurePath, store: PurePath | None) -> list[str]:
    """Return JVM options with the broker's paths, for every runtime. ``home`` may be a shell variable."""
    return [
        "--add-opens=java.base/jdk.internal.misc=ALL-UNNAMED",
        f"-Djava.security.auth.login.config={conf}/{LOGIN_CONFIG}",
        f"-D{LOG_CONFIG_PROPERTY}={conf}/{LOG4J2}",
        "-Dlog4j2.disableJmx=true",
        f"-D{DATA_PROPERTY}={data}",
        *([f"-D{STORE_PROPERTY}={store}"] if store else []),
        f"-Dartemis.home={home}",
        f"-Dartemis.instance={data}",  # must be writable: the broker writes a lock file there
        f"-Dartemis.instance.etc={conf}",
        f"-Dartemis.instance.etc.uri={conf.as_uri()}",
    ]


def started(home: str, conf: PurePath, secrets: PurePath) -> list[str]:
    """Return the arguments after the JVM options. ``secrets``: the folder with the filled `BROKER_PROPERTIES`."""
    return [
        "-classpath",
        f"{conf}:{home}/lib/artemis-boot.jar",
        MAIN,
        "run",
        "--properties",
        f"{secrets}/{PurePath(BROKER_PROPERTIES).name}",
    ]


DATA = PurePosixPath("/var/lib/artemis-instance")
"""Created by upstream's image for its user, so that user also owns a volume mounted there."""


def start_script() -> str:
    home = home_of(IMAGE)
    wanted = "\n".join(f': "{needed(key)}"' for key in names.SECRET_KEYS)
    options = settings(home, CONF, DATA, STORE)
    last = " ".join(f'"{argument}"' for argument in started(home, CONF, PRIVATE))
    return (
        f"{HEAD}{wanted}\n. {CONF / SECRETS_SCRIPT}\n"
        + java(*options, f"-D{names.SECRETS_PROPERTY}={PRIVATE}")
        + f"    {last}\n"
    )
