"""Starts a Spark session for an analysis, and removes its files afterwards.

A local session uses only the loopback interface, prints nothing, and keeps its files in a temporary folder. Java is
found by JAVA_HOME, then PATH.
"""

import atexit
import os
import sys
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

from pyspark import SparkConf, SparkContext
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from records.analysis_command import SCRATCH, is_local
from records.environment import for_java, without_spark
from records.errors import UserError
from records.temporary import make_folder, remove_folder, temporary_folder

LOCAL = "local[*]"
LOOPBACK = "127.0.0.1"
PROJECT = Path(__file__).resolve().parent.parent
OURS = ("analysis", "records")
"""The packages that executors on other machines receive."""
CLASSES = Path(sys.prefix) / "share" / "brokerbench" / "spark-classes.jsa"
"""Archive of Spark's classes that Java maps into memory instead of loading them (`brokerbench.spark_classes`).

Java ignores the archive if it was made with another Java version or with other jars of Spark.
"""

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
"""The gateway acts like a shell, and explains how to change the log level unless its own level is set."""


@contextmanager
def session(master: str | None = None, event_log: str | None = None, *, stored: bool = False) -> Iterator[SparkSession]:
    """Yield a Spark session: the active one, which is left running, or a new one.

    ``master`` None: what spark-submit was given, or else all cores of this machine. ``event_log``: the folder for the
    log that Spark's history server shows. ``stored``: for a run at a URI, so Spark's own variables and configuration
    files count on any master. Raises UserError if Spark cannot start.
    """
    active = SparkSession.getActiveSession()
    if active is not None:
        yield active
        return
    with temporary_folder(f"{SCRATCH}spark-") as scratch:
        spark = _start(master, scratch, event_log, stored)
        try:
            yield spark
        finally:
            spark.stop()


def _start(master: str | None, scratch: Path, event_log: str | None, stored: bool) -> SparkSession:
    submitted = _submitted_master()
    if submitted is None and is_local(master) and not stored:
        _keep_to_our_settings()
    settings = settings_for(master or submitted or LOCAL, scratch) | log_settings(event_log)
    _give_java_a_temporary_folder()
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)  # read by Spark: what its executors run
    try:
        spark = (
            SparkSession.builder.appName("brokerbench")
            .config(conf=SparkConf().setAll(list(settings.items())))
            .getOrCreate()
        )
    except (PySparkException, OSError) as error:
        where = f"JAVA_HOME={os.environ['JAVA_HOME']}" if "JAVA_HOME" in os.environ else "java from PATH"
        raise UserError(
            f"Spark could not start ({where}, master {master or LOCAL}): {error}: "
            "set JAVA_HOME to a JDK of version 17 or newer, and --master to one that answers"
        ) from None
    context = spark.sparkContext
    context.setLogLevel("ERROR")
    spark.conf.set("spark.sql.shuffle.partitions", context.defaultParallelism)  # the merged rows are few
    if not settings["spark.master"].startswith("local") and PROJECT.is_dir():  # else it was given as --py-files
        context.addPyFile(str(_packed_code(scratch)))
    return spark


def _packed_code(scratch: Path) -> Path:
    """Pack this project's packages for executors on other machines, which also need polars and pyarrow."""
    path = scratch / "brokerbench.zip"
    with zipfile.ZipFile(path, "w") as packed:
        for package in OURS:
            for module in sorted((PROJECT / package).rglob("*.py")):
                packed.write(module, module.relative_to(PROJECT))
    return path


def _keep_to_our_settings() -> None:
    """Remove the variables that Spark and Java read from this process, as a local session sets all options itself.

    On a cluster, and with spark-submit, users configure Spark by these variables.
    """
    ours = for_java(without_spark(os.environ))
    os.environ |= ours
    for name in os.environ.keys() - ours:
        del os.environ[name]


@cache
def _give_java_a_temporary_folder() -> None:
    """Give Spark's JVM a folder for unpacked libraries. The JVM and the folder exist until this process ends."""
    folder = make_folder(f"{SCRATCH}java-")
    atexit.register(remove_folder, folder)
    options = os.environ.get("SPARK_SUBMIT_OPTS", "")  # on any master, with the options that the user has set
    os.environ["SPARK_SUBMIT_OPTS"] = f'{options} "-Djava.io.tmpdir={folder}"'.strip()


def _submitted_master() -> str | None:
    """Return the master of spark-submit. It has already started the JVM, so Java options have no effect."""
    if "PYSPARK_GATEWAY_PORT" not in os.environ:
        return None
    SparkContext._ensure_initialized()  # connects to that JVM; SparkConf then reads its configuration
    return SparkConf().get("spark.master")


def settings_for(master: str, scratch: Path) -> dict[str, str]:
    """Return all settings of a session. A local session prints nothing and uses only the loopback interface."""
    settings = {
        "spark.master": master,
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.maxResultSize": "0",
        "spark.executorEnv.POLARS_MAX_THREADS": "1",  # a core has a part of its own
        "spark.sql.adaptive.enabled": "false",  # the plans are few, and their sizes known
        "spark.sql.codegen.wholeStage": "false",  # few rows: to compile a plan takes longer than to interpret it
        "spark.sql.codegen.factoryMode": "NO_CODEGEN",
        "spark.sql.objectHashAggregate.sortBased.fallbackThreshold": "1000",  # keys of a task; above, Spark sorts rows
        "spark.sql.extensions.test.loadFromCp": "false",  # the functions of MLlib, which take a second to register
        "spark.sql.sources.parallelPartitionDiscovery.threshold": "10000",  # the driver looks up the few event files
        "spark.hadoop.mapreduce.fileoutputcommitter.marksuccessfuljobs": "false",  # the digests are the mark
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.catalogImplementation": "in-memory",
        "spark.sql.warehouse.dir": (scratch / "warehouse").as_uri(),  # Spark makes this folder, on any master
    }
    if master.startswith("local"):
        settings |= _local_settings(scratch)
    return settings


def log_settings(event_log: str | None) -> dict[str, str]:
    """Return the settings of Spark's event log. Raises UserError if the folder does not exist; Spark checks a URL."""
    if event_log is None:
        return {}
    if "://" not in event_log:
        folder = Path(event_log).resolve()
        if not folder.is_dir():
            raise UserError(f"--event-log {event_log}: the folder does not exist: make it first")
        event_log = folder.as_uri()
    return {"spark.eventLog.enabled": "true", "spark.eventLog.dir": event_log}


def shared_classes() -> list[str]:
    """Return the Java option that uses the archive `CLASSES`, if that file exists."""
    return [f'"-XX:SharedArchiveFile={CLASSES}"'] if CLASSES.exists() else []


def _local_settings(scratch: Path) -> dict[str, str]:
    log_settings = scratch / "log4j2.properties"
    log_settings.write_text(_QUIET, encoding="utf-8")
    os.environ.setdefault("SPARK_LOCAL_IP", LOOPBACK)  # read by the launcher only; else it warns of its choice
    java = [f"-Dlog4j2.configurationFile={log_settings.as_uri()}", f'"-Dderby.system.home={scratch}"']
    java.append("-XX:MetaspaceSize=128m")  # Spark's classes fit from the start: growing costs full collections
    java += ["-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC"]  # the work is done in Python's processes
    java += ["-Xlog:cds=off", "-Xlog:cds+dynamic=off", "-Xlog:class+path=off"]  # another Java's file is ignored
    java += shared_classes()
    return {
        "spark.ui.enabled": "false",
        "spark.driver.bindAddress": LOOPBACK,
        "spark.driver.host": LOOPBACK,
        "spark.driver.memory": "1g",
        "spark.driver.extraJavaOptions": " ".join(java),
        "spark.local.dir": str(scratch),
        "spark.python.daemon.module": "analysis.daemon",
        "spark.executorEnv.PYTHONPATH": str(PROJECT),
    }
