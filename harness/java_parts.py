"""Finds the Java, the compiler and the brokers' own clients that a process's Java clients consist of.

Each client comes from the pinned distribution of the brokers: OpenWire's is ActiveMQ Classic's, to brokers of either
kind, Core's is Artemis'. The Eclipse compiler needs no JDK. It is pinned and fetched like the distributions.
"""

from collections.abc import Collection, Iterable
from functools import partial

from drivers.contract import DriverError
from drivers.jvm import vm
from drivers.jvm.compiler import Compiler
from drivers.jvm.vm import JavaParts
from topologies.runtimes.distribution import (
    Distribution,
    DistributionUnavailable,
    cache_folder,
    ensure,
    pinned,
    pinned_versions,
)
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


def use_java_clients(version: str = "") -> None:
    """Have this process's Java clients come from here. ``version``: of those that have it; '' for the defaults."""
    vm.use(partial(find_java_parts, version=version), version)


def why_no_client(version: str, protocols: Collection[str]) -> str:
    """Why none of these protocols has Java clients of that version, with the next step; '' if one has."""
    versions_by_protocol = {name: pinned_versions(CLIENTS[name][0]) for name in protocols if name in CLIENTS}
    if not versions_by_protocol:
        return f"clients of {' and '.join(protocols)} have no version; choose --protocol {' or '.join(CLIENTS)}"
    if version in {pinned_version for versions in versions_by_protocol.values() for pinned_version in versions}:
        return ""
    choices = "; ".join(f"{name} {', '.join(versions)}" for name, versions in versions_by_protocol.items())
    return f"not known of these clients; write one of {choices}"


def java_client_versions(protocols: Iterable[str], version: str = "") -> dict[str, str]:
    """The version of each Java client among these protocols: ``openwire client`` to ``5.18.3``."""
    return {f"{name} client": _distribution(name, version).version for name in protocols if name in CLIENTS}


def _distribution(protocol: str, version: str) -> Distribution:
    """Of two protocols only one may have clients of that version: the other has its default."""
    name = CLIENTS[protocol][0]
    return pinned(name, version if version in pinned_versions(name) else None)


def find_java_parts(protocol: str, version: str = "") -> JavaParts:
    """The Java and the jars of this machine; fetches those that are not cached. Raises DriverError."""
    patterns = CLIENTS[protocol][1]
    try:
        java = find_java()
        distribution, jar = ensure(_distribution(protocol, version)), ensure(pinned(COMPILER))
    except (NoJava, DistributionUnavailable) as error:
        raise DriverError(f"Java clients: {error}") from error
    client = tuple(client_jar for pattern in patterns for client_jar in sorted((distribution / "lib").glob(pattern)))
    return JavaParts(java.home, Compiler(java.home, jar, cache_folder() / CLASSES), client)
