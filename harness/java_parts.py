"""Finds the parts of a process's Java clients: a Java runtime, a compiler, and the jars of the brokers' clients.

Each client comes from a pinned broker distribution. The OpenWire client is from ActiveMQ Classic, for brokers of both
products, and the Core client is from Artemis. The Eclipse compiler does not need a JDK. It is pinned and downloaded
like the distributions.
"""

from collections.abc import Collection, Iterable
from functools import partial

from drivers.contract import DriverError
from drivers.jvm import vm
from drivers.jvm.compiler import Compiler
from drivers.jvm.vm import JavaParts
from topologies.jvm.distribution import DistributionUnavailable, PinnedArtifact, cache_folder, ensure
from topologies.jvm.java import NoJava, find_java
from topologies.pinned import pinned, pinned_versions

COMPILER = "eclipse-compiler"
CLASSES = "java-classes"  # the cache folder of the compiled classes
# The logging jars are included, so that the clients' log lines are discarded without warnings.
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
"""By protocol: the distribution's name, and the patterns of the jars that are needed from its ``lib``."""


def use_java_clients(version: str = "") -> None:
    """Let this process find its Java clients here.

    ``version``: used for each client that has it; '' for the default versions.
    """
    vm.use(partial(find_java_parts, version=version), version)


def why_no_client(version: str, protocols: Collection[str]) -> str:
    """Return why none of these protocols has a Java client of that version, with the next step; '' if one has."""
    versions_by_protocol = {name: pinned_versions(CLIENTS[name][0]) for name in protocols if name in CLIENTS}
    if not versions_by_protocol:
        return f"{' and '.join(protocols)} clients have no version; choose --protocol {' or '.join(CLIENTS)}"
    if version in {pinned_version for versions in versions_by_protocol.values() for pinned_version in versions}:
        return ""
    choices = "; ".join(f"{name} {', '.join(versions)}" for name, versions in versions_by_protocol.items())
    return f"these clients have no such version; write one of {choices}"


def java_client_versions(protocols: Iterable[str], version: str = "") -> dict[str, str]:
    """Return the version of each Java client among these protocols: ``openwire client`` to ``5.18.3``."""
    return {f"{name} client": _distribution(name, version).version for name in protocols if name in CLIENTS}


def _distribution(protocol: str, version: str) -> PinnedArtifact:
    """Return the protocol's distribution in this version, or in its default version if there is none."""
    name = CLIENTS[protocol][0]
    return pinned(name, version if version in pinned_versions(name) else None)


def find_java_parts(protocol: str, version: str = "") -> JavaParts:
    """Return the Java runtime and the jars of this machine, after downloading missing ones. Raises DriverError."""
    patterns = CLIENTS[protocol][1]
    try:
        java = find_java()
        distribution, jar = ensure(_distribution(protocol, version)), ensure(pinned(COMPILER))
    except (NoJava, DistributionUnavailable) as error:
        raise DriverError(f"Java clients: {error}") from error
    client = tuple(client_jar for pattern in patterns for client_jar in sorted((distribution / "lib").glob(pattern)))
    return JavaParts(java.home, Compiler(java.home, jar, cache_folder() / CLASSES), client)
