"""Runs a standalone Spark cluster on loopback: a master and two workers of the pyspark package."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import pyspark

from tests.support.locust_run import free_port
from tests.support.waiting import until
from topologies.jvm.java import find_java, spark_environment
from topologies.runtimes.processes import guard

SPARK = Path(pyspark.__file__).parent
DEPLOY = "org.apache.spark.deploy"
WORKERS = ("worker-1", "worker-2")
START_S = 240.0
STOP_S = 60.0


@dataclass(frozen=True)
class SparkCluster:
    """``environment``: variables that make a driver on this machine use the same Java and loopback."""

    url: str
    folder: Path
    environment: dict[str, str]

    def applications(self, worker: str) -> set[str]:
        """Return the applications that have had an executor on a worker."""
        return {folder.name for folder in (self.folder / worker).glob("app-*")}


@contextmanager
def spark_cluster(folder: Path) -> Iterator[SparkCluster]:
    """Each worker has one core and works in ``folder``. All processes are gone when this ends, however it ends."""
    java = spark_environment(find_java(), folder / "java")
    ours = {"SPARK_HOME": str(SPARK), "SPARK_LOCAL_IP": "127.0.0.1", "PYSPARK_PYTHON": sys.executable}
    environment = {**os.environ, **java, **ours}
    cluster = SparkCluster(f"spark://127.0.0.1:{free_port()}", folder, environment)
    address = ("--host", "127.0.0.1", "--webui-port", "0")
    with ExitStack() as undo:
        master = ("master.Master", *address, "--port", cluster.url.rpartition(":")[2])
        undo.enter_context(_daemon(cluster, "master", *master))
        until(lambda: "I have been elected leader" in _log(cluster, "master"), START_S)
        for name in WORKERS:
            offer = ("--cores", "1", "--memory", "1g", "--work-dir", str(folder / name))
            undo.enter_context(_daemon(cluster, name, "worker.Worker", *address, *offer, cluster.url))
        until(lambda: all("registered with master" in _log(cluster, name) for name in WORKERS), START_S)
        yield cluster


@contextmanager
def _daemon(cluster: SparkCluster, name: str, class_name: str, *arguments: str) -> Iterator[None]:
    """Start a daemon, with a guard that kills it and its executors if the tests are killed."""
    command = guard.command_line([SPARK / "bin" / "spark-class", f"{DEPLOY}.{class_name}", *arguments])
    with (cluster.folder / f"{name}.log").open("w") as log:
        process = subprocess.Popen(
            command,
            env=cluster.environment,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    try:
        yield
    finally:
        process.terminate()
        try:
            process.wait(STOP_S)
        except subprocess.TimeoutExpired:
            process.kill()  # the guard's end is that of the daemon
            process.wait()


def _log(cluster: SparkCluster, name: str) -> str:
    return (cluster.folder / f"{name}.log").read_text()
