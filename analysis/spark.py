"""Makes the Spark session of one analysis. The session leaves no files behind.

Locally it keeps to the loopback interface, needs no network, says nothing, and has its scratch files in a temporary
folder of its own. Java is found by JAVA_HOME, then PATH.
"""

import atexit
import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

from pyspark import SparkConf, SparkContext
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from records.analysis_command import SCRATCH
from records.temporary import make_folder, remove_folder, temporary_folder

LOCAL = "local[*]"
LOOPBACK = "127.0.0.1"
BRIEF_JOB_ROWS = 3_000_000
"""Up to so many events the JVM's full optimising compiler costs more time than it saves."""
SMALL_ROWS = 200_000
"""Up to so many events it costs more to compile and re-plan a query than to run it: half of the CPU of a small run."""

_SMALL = {
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.adaptive.enabled": "false",
}

_UNCHECKED = {
    "spark.shuffle.checksum.enabled": "false",
    "spark.sql.shuffle.orderIndependentChecksum.enabled": "false",
    "spark.sql.shuffle.orderIndependentChecksum.enableFullRetryOnMismatch": "false",
    "spark.sql.shuffle.orderIndependentChecksum.enableQueryLevelRollbackOnMismatch": "false",
}
"""Spark hashes every row that it shuffles, in case a stage must be run again: a tenth of the time of a large run."""

_QUIET = """\
rootLogger.level = error
rootLogger.appenderRef.stderr.ref = stderr
appender.stderr.type = Console
appender.stderr.name = stderr
appender.stderr.target = SYSTEM_ERR
appender.stderr.layout.type = PatternLayout
appender.stderr.layout.pattern = spark: %p %c{1}: %m%n%ex{short.message}
logger.gateway.name = org.apache.spark.api.python.PythonGatewayServer
logger.gateway.level = error
"""
"""With a level of its own the gateway, which takes itself for a shell, does not tell how to change the level."""


class SparkUnavailable(RuntimeError):
    """Spark did not start."""


@contextmanager
def session(master: str | None = None, *, rows: int = 0) -> Iterator[SparkSession]:
    """A Spark session for ``rows`` events; one that is active already is used and left running.

    ``master`` None: what spark-submit was given, or else all cores of this machine. SparkUnavailable if it fails.
    """
    active = SparkSession.getActiveSession()
    if active is not None:
        yield active
        return
    with temporary_folder(f"{SCRATCH}spark-") as scratch:
        spark = _start(master, scratch, rows)
        try:
            yield spark
        finally:
            spark.stop()


def _start(master: str | None, scratch: Path, rows: int) -> SparkSession:
    _give_java_a_temporary_folder()
    settings = settings_for(master or _submitted_master() or LOCAL, scratch, rows)
    builder = SparkSession.builder.appName("brokerbench").config(map=settings)  # type: ignore[arg-type]
    try:
        spark = builder.getOrCreate()
    except (PySparkException, OSError) as error:
        where = f"JAVA_HOME={os.environ['JAVA_HOME']}" if "JAVA_HOME" in os.environ else "java from PATH"
        raise SparkUnavailable(
            f"Spark could not start ({where}, master {master or LOCAL}): {error}: "
            "set JAVA_HOME to a JDK of version 17 or newer, and --master to one that answers"
        ) from None
    spark.sparkContext.setLogLevel("ERROR")
    return spark


@cache
def _give_java_a_temporary_folder() -> None:
    """Where Spark's JVM unpacks libraries and the like; it lives as long as this process, and so does the folder."""
    folder = make_folder(f"{SCRATCH}java-")
    atexit.register(remove_folder, folder)
    options = os.environ.get("SPARK_SUBMIT_OPTS", "")  # on any master, beside the options that its user has set
    os.environ["SPARK_SUBMIT_OPTS"] = f'{options} "-Djava.io.tmpdir={folder}"'.strip()


def _submitted_master() -> str | None:
    """The master that spark-submit was given. It started the JVM before us, so options of Java come too late."""
    if "PYSPARK_GATEWAY_PORT" not in os.environ:
        return None
    SparkContext._ensure_initialized()  # connects to that JVM; SparkConf then reads its configuration
    return SparkConf().get("spark.master")


def session_settings() -> dict[str, str]:
    """What holds on every master."""
    return {
        "spark.sql.adaptive.enabled": "true",
        "spark.sql.requireAllClusterKeysForCoPartition": "false",  # frames laid out by message need no second shuffle
        "spark.sql.inMemoryColumnarStorage.compressed": "false",  # to find the best compression costs more
        "spark.sql.execution.arrow.compression.codec": "zstd",  # results pass through the driver's memory
        "spark.driver.maxResultSize": "0",
        **_UNCHECKED,
    }


def settings_for(master: str, scratch: Path, rows: int) -> dict[str, str]:
    """All settings of a session on a master; on a local one, also what keeps it quiet and to itself."""
    settings = {**session_settings(), "spark.master": master, "spark.ui.showConsoleProgress": "false"}
    if rows <= SMALL_ROWS:  # anywhere: more partitions would be more tasks, of no rows
        settings |= {**_SMALL, "spark.sql.shuffle.partitions": str(_shuffle_partitions(rows))}
    if master.startswith("local"):
        settings.update(_local_settings(scratch, rows))
    return settings


def _local_settings(scratch: Path, rows: int) -> dict[str, str]:
    log_settings = scratch / "log4j2.properties"
    log_settings.write_text(_QUIET, encoding="utf-8")
    os.environ.setdefault("SPARK_LOCAL_IP", LOOPBACK)  # read by the launcher only; else it warns of its choice
    java = [f"-Dlog4j2.configurationFile={log_settings.as_uri()}", f'"-Dderby.system.home={scratch}"']
    java.append("-XX:MetaspaceSize=256m")  # Spark's classes fit from the start: growing costs full collections
    if rows <= BRIEF_JOB_ROWS:
        java += ["-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC"]
    else:
        java.append("-XX:+UseParallelGC")  # pauses do not matter: G1's barriers and threads are a tenth of the CPU
    return {
        "spark.ui.enabled": "false",
        "spark.driver.bindAddress": LOOPBACK,
        "spark.driver.host": LOOPBACK,
        "spark.driver.memory": "2g",
        "spark.driver.extraJavaOptions": " ".join(java),
        "spark.local.dir": str(scratch),
        "spark.sql.warehouse.dir": str(scratch / "warehouse"),
        "spark.sql.catalogImplementation": "in-memory",
        "spark.sql.shuffle.partitions": str(_shuffle_partitions(rows)),
        "spark.default.parallelism": str(os.cpu_count() or 1),
    }


def _shuffle_partitions(rows: int) -> int:
    """One a core for a small run, else two, and more where one would exceed its share of memory (a million rows)."""
    cores = os.cpu_count() or 1
    return cores if rows <= SMALL_ROWS else max(2 * cores, rows // 1_000_000)
