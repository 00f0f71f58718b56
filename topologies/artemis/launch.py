"""Builds the command line that starts an Artemis broker as a Java process, and the start script for its image.

The command matches an instance's ``bin/artemis run`` script, without the script or an instance: same boot jar, same
exports. Its JMX switches and web console are left out (Jolokia's agent reads the MBeans from inside the JVM). The
arguments contain no password: they name files.
"""

import platform
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path, PurePath, PurePosixPath

from topologies.artemis import router
from topologies.artemis.render.files import BROKER_PROPERTIES, LOG4J2, LOGIN_CONFIG
from topologies.jvm.distribution import apache_archive, ensure
from topologies.jvm.launch import JavaParts, JvmLaunch, environment, jvm
from topologies.model import site as names
from topologies.model.broker import AnyBroker
from topologies.model.launch import BrokerCommand, BrokerPlace, ProductImage, Programs, Progress, Release
from topologies.model.site import DATA_PROPERTY, SECRETS_PROPERTY, STORE_PROPERTY
from topologies.render.log4j import LOG_CONFIG_PROPERTY
from topologies.render.start_script import CONF, HEAD, PRIVATE, SECRETS_SCRIPT, STORE, home_of, java, needed

DISTRIBUTIONS = (
    apache_archive(
        "activemq-artemis",
        "apache-artemis",
        "2.44.0",
        "d709eafe1ead38234216d324e9876ee0f66265a2deba36b526f64512de4da1e2"
        "5ae6b5430a03dc002071ed91553c72f3ef01211d7414b14752272cbec66883b4",
    ),
    apache_archive(
        "activemq-artemis",
        "apache-artemis",
        "2.40.0",
        "270a00dc3028fb3b93c6aa09aa3e40fbe76015029e5308e0aac241589299a72d"
        "ac9bb50a10e7e86ad66185e2d8bc7224626810df12f1ee05694322054ad32700",
    ),
)
"""The pinned versions, the default first."""
IMAGE = ProductImage(
    upstream="apache/activemq-artemis:2.44.0",
    built="brokerbench/activemq-artemis:2.44.0",
    recipe="activemq-artemis",
    home=PurePosixPath("/opt/activemq-artemis"),
    home_variable="ARTEMIS_HOME",
    archive=lambda: (ensure(replace(DISTRIBUTIONS[0], folder="")), DISTRIBUTIONS[0].sha512),
)
AIO_NOT_FOUND = "AMQ222018"
REPLACED_ASYNCIO = (
    "writes its journal with NIO instead of ASYNCIO, because libaio is missing (install the package libaio1 or "
    "libaio1t64, or set persistence: {kind: NIO}),"
)
MAIN = "org.apache.activemq.artemis.boot.Artemis"


def arguments(parts: JavaParts, place: BrokerPlace) -> list[str]:
    """Return the arguments for one broker. ``place.secrets`` is the folder with its filled secrets."""
    home, folders = parts.distribution, place.folders
    return [
        *jvm(parts, place),
        "-XX:AutoBoxCacheMax=20000",
        f"-Djava.library.path={home}/bin/lib/linux-{platform.machine()}",
        *settings(str(home), folders.conf, folders.data, place.store),
        *([f"-Djdk.net.hosts.file={place.hosts_file}"] if place.hosts_file else []),
        f"-D{SECRETS_PROPERTY}={place.secrets}",
        *started(str(home), folders.conf, place.secrets),
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


@dataclass(frozen=True)
class BrokersAndRouters:
    """What brokers are started from, and the program that runs the routers; None without routers."""

    brokers: Programs
    router: Path | None
    versions: Mapping[str, str]

    @property
    def mounts(self) -> Mapping[Path, Path]:
        return self.brokers.mounts

    def command(self, place: BrokerPlace) -> BrokerCommand:
        if not isinstance(place.broker, router.Router):
            return self.brokers.command(place)
        assert self.router is not None, "`find` found it for the routers of this topology"
        return BrokerCommand(router.command(self.router, place.folders), environment())


@dataclass(frozen=True, kw_only=True)
class ArtemisLaunch(JvmLaunch):
    """Launches brokers in JVMs, and the program of their routers."""

    def find(
        self, topology: str, brokers: Iterable[AnyBroker], release: Release, bind_host: str, progress: Progress
    ) -> Programs:
        program = router.find(topology, brokers, bind_host)
        versions = {router.QDROUTERD: router.version_of(program)} if program else {}
        programs = super().find(topology, brokers, release, bind_host, progress)
        return BrokersAndRouters(programs, program, {**programs.versions, **versions})

    def says_it_listens(self, lines: Iterable[str]) -> bool:
        return router.listens(lines)

    def failed_start(self, lines: Iterable[str]) -> str:
        """Return also whether a broker has replaced ASYNCIO: its figures would count as those of ASYNCIO."""
        logged = [*lines]
        return REPLACED_ASYNCIO if any(AIO_NOT_FOUND in line for line in logged) else super().failed_start(logged)


LAUNCH = ArtemisLaunch(
    product="artemis",
    name="artemis",
    distributions=DISTRIBUTIONS,
    jar="lib/artemis-boot.jar",
    needs=("lib/artemis-server-*.jar",),
    arguments=arguments,
    secrets="broker-{broker}",
    first_serves=False,
    image=IMAGE,
    bind_failed=re.compile(rf"Failed to bind acceptor \S+ to \S*?:(\d+)|{router.BIND_FAILED}"),
)
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
