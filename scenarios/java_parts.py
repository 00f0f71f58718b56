"""Where do Java, the brokers' own clients and the compiler come from, that a process's Java clients consist of?

Each client is that of the pinned distribution which the brokers run from: OpenWire's is ActiveMQ Classic's, to brokers
of either kind, Core's is Artemis'. Janino, which compiles drivers/java/ without a
JDK, is shipped with PySpark; its folder is looked up, for importing Spark here would cost seconds and memory.
"""

from importlib.util import find_spec
from pathlib import Path

from drivers.contract import DriverError
from drivers.jvm.vm import JavaParts
from topologies.runtimes.distribution import DistributionUnavailable, ensure, pinned
from topologies.runtimes.java import NoJava, find_java

COMPILER = ("janino-*.jar", "commons-compiler-*.jar")
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


def find_java_parts(protocol: str) -> JavaParts:
    """The Java and the jars of this machine; fetches the distribution where it is not cached. Raises DriverError."""
    name, patterns = CLIENTS[protocol]
    try:
        java = find_java()
        distribution = ensure(pinned(name))
    except (NoJava, DistributionUnavailable) as error:
        raise DriverError(f"Java clients: {error}") from error
    client = tuple(jar for pattern in patterns for jar in sorted((distribution / "lib").glob(pattern)))
    return JavaParts(java.home, _compiler(), client)


def _compiler() -> tuple[Path, ...]:
    spark = find_spec("pyspark")
    folder = Path(spark.origin).parent / "jars" if spark and spark.origin else Path("pyspark/jars")
    jars = tuple(next(folder.glob(pattern), folder / pattern) for pattern in COMPILER)
    if absent := [jar.name for jar in jars if not jar.exists()]:
        raise DriverError(
            f"Java clients: {folder} lacks {', '.join(absent)}; install pyspark as requirements.lock has it"
        )
    return jars
