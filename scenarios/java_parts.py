"""Where do Java, ActiveMQ's own client and the compiler come from, that a process's Java clients consist of?

The client is that of the pinned distribution which the brokers run from. Janino, which compiles drivers/java/ without a
JDK, is shipped with PySpark; its folder is looked up, for importing Spark here would cost seconds and memory.
"""

from importlib.util import find_spec
from pathlib import Path

from drivers.contract import DriverError
from drivers.java_vm import JavaParts
from topologies.runtimes.distribution import DistributionUnavailable, ensure, pinned
from topologies.runtimes.java import NoJava, find_java

COMPILER = ("janino-*.jar", "commons-compiler-*.jar")
CLIENT = ("*.jar", "optional/log4j-*.jar")  # log4j, so that the client's logging has somewhere to go: nowhere


def find_java_parts() -> JavaParts:
    """The jars and the Java of this machine; fetches the distribution where it is not cached. Raises DriverError."""
    try:
        java = find_java()
        distribution = ensure(pinned("activemq-classic"))
    except (NoJava, DistributionUnavailable) as error:
        raise DriverError(f"Java clients: {error}") from error
    client = [jar for pattern in CLIENT for jar in sorted((distribution / "lib").glob(pattern))]
    return JavaParts(java.home, (*client, *_compiler()))


def _compiler() -> tuple[Path, ...]:
    spark = find_spec("pyspark")
    folder = Path(spark.origin).parent / "jars" if spark and spark.origin else Path("pyspark/jars")
    jars = tuple(next(folder.glob(pattern), folder / pattern) for pattern in COMPILER)
    if absent := [jar.name for jar in jars if not jar.exists()]:
        raise DriverError(
            f"Java clients: {folder} lacks {', '.join(absent)}; install pyspark as requirements.lock has it"
        )
    return jars
