"""Finds the Java, the compiler and the brokers' own clients that a process's Java clients consist of.

Each client comes from the pinned distribution of the brokers: OpenWire's is ActiveMQ Classic's, to brokers of either
kind, Core's is Artemis'. The Eclipse compiler needs no JDK. It is pinned and fetched like the distributions.
"""

from collections.abc import Iterable

from drivers.contract import DriverError
from drivers.jvm.compiler import Compiler
from drivers.jvm.vm import JavaParts
from topologies.runtimes.distribution import DistributionUnavailable, cache_folder, ensure, pinned
from topologies.runtimes.java import NoJava, find_java

COMPILER = "eclipse-compiler"
CLASSES = "java-classes"  # the folder of the cache for compiled classes
# The logging's jars too, so that what the clients log has somewhere to go: nowhere.
CLIENTS = {
    "openwire": ("activemq-classic", ("*.jar", "optional/log4j-*.jar")),
    "core": (
        "activemq-artemis",
        (
            *(f"artemis-{name}-[0-9]*.jar" for name in ("commons", "core-client", "jms-client", "selector")),
            *("netty-*.jar", "jakarta.jms-api-*.jar", "commons-beanutils-*.jar", "commons-collections-*.jar"),
            *("commons-logging-*.jar", "slf4j-api-*.jar", "log4j-*.jar", "jgroups-*.jar"),
        ),
    ),
}
"""By protocol: the distribution's name, and the patterns of what is needed out of its ``lib``."""


def java_client_versions(protocols: Iterable[str]) -> dict[str, str]:
    """The version of each Java client among these protocols: ``openwire client`` to ``5.18.3``."""
    return {f"{name} client": pinned(CLIENTS[name][0]).version for name in protocols if name in CLIENTS}


def find_java_parts(protocol: str) -> JavaParts:
    """The Java and the jars of this machine; fetches those that are not cached. Raises DriverError."""
    name, patterns = CLIENTS[protocol]
    try:
        java = find_java()
        distribution, jar = ensure(pinned(name)), ensure(pinned(COMPILER))
    except (NoJava, DistributionUnavailable) as error:
        raise DriverError(f"Java clients: {error}") from error
    client = tuple(each for pattern in patterns for each in sorted((distribution / "lib").glob(pattern)))
    return JavaParts(java.home, Compiler(java.home, jar, cache_folder() / CLASSES), client)
