"""Checks that Spark's start prints nothing in `brokerbench analyse`, `compare` and `nightly`."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from analysis.spark import log_settings, settings_for
from records.errors import UserError
from topologies.jvm.java import find_java, spark_environment

COUNT_TO_TEN = """
from analysis.spark import session
with session("local[1]") as spark:
    print("counted", spark.range(10).count())
"""


def test_the_gateway_logs_no_hint_on_log_levels(tmp_path: Path) -> None:
    """It has the same level as all other loggers."""
    settings = settings_for("local[1]", tmp_path)
    assert (
        f"-Dlog4j2.configurationFile={tmp_path.as_uri()}/log4j2.properties" in settings["spark.driver.extraJavaOptions"]
    )
    lines = (tmp_path / "log4j2.properties").read_text(encoding="utf-8").splitlines()
    assert {"rootLogger.level = error", "logger.gateway.level = error"} <= set(lines)


def test_an_event_log_takes_a_folder_that_exists_or_a_url(tmp_path: Path) -> None:
    assert log_settings(None) == {}
    assert log_settings(str(tmp_path))["spark.eventLog.dir"] == tmp_path.as_uri()
    assert log_settings("hdfs://host/logs")["spark.eventLog.dir"] == "hdfs://host/logs"
    with pytest.raises(UserError, match=r"--event-log \S+/missing: the folder does not exist: make it first"):
        log_settings(str(tmp_path / "missing"))


@pytest.mark.nightly  # the other test covers the responsible setting
@pytest.mark.spark
def test_a_session_starts_and_ends_without_a_word(tmp_path: Path) -> None:
    environment = {**os.environ, **spark_environment(find_java(), tmp_path / "java")}
    finished = subprocess.run(
        [sys.executable, "-c", COUNT_TO_TEN], env=environment, capture_output=True, text=True, timeout=120, check=True
    )
    assert (finished.stdout, finished.stderr) == ("counted 10\n", "")


WHERE = """
import os, signal, sys
from pathlib import Path
from analysis.spark import session
with session("local[1]") as spark:
    spark.range(10).repartition(2).count()
    print(spark._jvm.java.lang.System.getProperty("java.io.tmpdir"), flush=True)
    if sys.argv[1:] == ["killed"]:
        os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.nightly  # starts Spark three times; records/ covers the removal of dead processes' folders
@pytest.mark.spark
def test_spark_and_its_java_leave_nothing_in_the_folder_for_temporary_files(tmp_path: Path) -> None:
    temporary = tmp_path / "with space"
    temporary.mkdir()
    java = spark_environment(find_java(), tmp_path / "java")
    environment = {**os.environ, **java, "TMPDIR": str(temporary)}
    command = [sys.executable, "-c", WHERE]
    killed = subprocess.run([*command, "killed"], env=environment, capture_output=True, text=True, timeout=120)
    assert Path(killed.stdout.strip()).parent == temporary
    assert list(temporary.glob("brokerbench-analysis-spark-*"))
    finished = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120, check=True)
    assert Path(finished.stdout.strip()).parent == temporary
    assert finished.stderr == ""
    assert list(temporary.iterdir()) == []
