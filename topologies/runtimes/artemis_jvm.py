"""How is an Artemis broker started as a Java process? Argument list.

What an instance's own ``bin/artemis run`` script ends up running, without the script and without an instance: same boot
jar, same exports. Left out are its JMX switches and its web console (Jolokia's agent reads the MBeans from inside).
No password is among the arguments: they name files.
"""

import platform
from pathlib import Path, PurePath

from topologies.render.artemis_files import BROKER_PROPERTIES, LOG4J2, LOGIN_CONFIG
from topologies.render.log4j import LOG_CONFIG_PROPERTY
from topologies.render.site import DATA_PROPERTY, SECRETS_PROPERTY, STORE_PROPERTY
from topologies.runtimes.jvm import KEPT_TO_ITSELF, BrokerFolders, Launch

MAIN = "org.apache.activemq.artemis.boot.Artemis"


def command(launch: Launch, folders: BrokerFolders, agent_file: Path, store: Path | None = None) -> list[str]:
    """The argument list of one broker. ``launch.secrets_file`` is the folder with its filled secrets.

    ``agent_file``: as topologies.runtimes.jvm.agent_properties has it; ``store``: of a pair, the active's data folder.
    """
    home = launch.distribution
    return [
        str(launch.java),
        f"-Xms{launch.memory_mb}m",  # as much as -Xmx: a heap that grows meanwhile would be measured too
        f"-Xmx{launch.memory_mb}m",
        *KEPT_TO_ITSELF,
        f"-XX:ErrorFile={folders.log}/jvm-error-%p.log",
        "-XX:AutoBoxCacheMax=20000",
        f"-Djava.io.tmpdir={folders.temporary}",
        f"-Djava.library.path={home}/bin/lib/linux-{platform.machine()}",
        f"-javaagent:{launch.agent}=config={agent_file}",
        *settings(str(home), folders.conf, folders.data, store),
        *([f"-Djdk.net.hosts.file={launch.hosts_file}"] if launch.hosts_file else []),
        f"-D{SECRETS_PROPERTY}={launch.secrets_file}",
        *started(str(home), folders.conf, launch.secrets_file),
    ]


def settings(home: str, conf: PurePath, data: PurePath, store: PurePath | None) -> list[str]:
    """JVM options by which a broker finds what is its own, wherever it runs; ``home`` may be a shell's variable."""
    return [
        "--add-opens=java.base/jdk.internal.misc=ALL-UNNAMED",
        f"-Djava.security.auth.login.config={conf}/{LOGIN_CONFIG}",
        f"-D{LOG_CONFIG_PROPERTY}={conf}/{LOG4J2}",
        "-Dlog4j2.disableJmx=true",
        f"-D{DATA_PROPERTY}={data}",
        *([f"-D{STORE_PROPERTY}={store}"] if store else []),
        f"-Dartemis.home={home}",
        f"-Dartemis.instance={data}",  # where it writes a lock file, so whoever runs it must be able to write there
        f"-Dartemis.instance.etc={conf}",
        f"-Dartemis.instance.etc.uri={conf.as_uri()}",
    ]


def started(home: str, conf: PurePath, secrets: PurePath) -> list[str]:
    """What comes after the JVM's options. ``secrets``: the folder with the filled `BROKER_PROPERTIES`."""
    return [
        "-classpath",
        f"{conf}:{home}/lib/artemis-boot.jar",
        MAIN,
        "run",
        "--properties",
        f"{secrets}/{PurePath(BROKER_PROPERTIES).name}",
    ]
