"""Checks that the analysis runs on a real standalone Spark cluster, with a folder that driver and workers share."""

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from pyarrow import fs

from records.store.digests import changed_after_analysis
from records.store.rundir import RunDirectory
from records.tables.results import RESULT_TABLES
from records.verdicts import CANNOT_ANALYSE
from tests.analysis.runs import healthy, make
from tests.support.locust_run import REPOSITORY, nothing_left
from tests.support.s3_server import BUCKET, s3_server, write_spark_defaults
from tests.support.spark_cluster import SPARK, WORKERS, SparkCluster, spark_cluster

pytestmark = [pytest.mark.spark, pytest.mark.timeout(900)]

PASS = 0
FROM_ARCHIVE = "imported from the archive"
ANALYSE = (sys.executable, "-c", "from brokerbench.cli import main; main()", "analyse")
STORE = (*ANALYSE[:-1], "store")
SUBMIT = (str(SPARK / "bin" / "spark-submit"),)
NO_OTHER_FILE_SYSTEM = (
    "--conf",
    "spark.hadoop.fs.defaultFS=hdfs://127.0.0.1:1",
)  # like HDFS on YARN; nothing listens there


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkCluster]:
    folder = tmp_path_factory.mktemp("cluster")
    with spark_cluster(folder) as running:
        yield running
    assert nothing_left(folder)


@pytest.fixture(scope="module")
def analysed_here(tmp_path_factory: pytest.TempPathFactory, cluster: SparkCluster) -> dict[str, Any]:
    """Return the summary of the planted run, computed on this machine alone."""
    directory = make(tmp_path_factory.mktemp("here"), healthy)
    return _summary(directory, cluster, [*ANALYSE, str(directory.path)])


def _summary(directory: RunDirectory, cluster: SparkCluster, command: Sequence[str]) -> dict[str, Any]:
    process = _run(command, cluster)
    assert process.returncode == PASS, process.stdout
    summary: dict[str, Any] = json.loads(directory.summary_path.read_text())
    assert summary["messages"]["received"] == 1_000
    return summary


def _run(
    command: Sequence[str], cluster: SparkCluster, cwd: Path = REPOSITORY, variables: Mapping[str, str] | None = None
) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        command,
        cwd=cwd,
        env={**cluster.environment, **(variables or {})},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )


@pytest.mark.nightly  # the test below covers the cluster's workers too
def test_a_cluster_of_two_workers_gives_the_same_summary_as_this_machine_alone(
    cluster: SparkCluster, analysed_here: dict[str, Any], tmp_path: Path
) -> None:
    directory = make(tmp_path, healthy)
    before = [cluster.applications(name) for name in WORKERS]
    command = [*ANALYSE, str(directory.path), "--master", cluster.url]
    assert _summary(directory, cluster, command) == analysed_here
    (added,) = {
        frozenset(cluster.applications(name) - earlier) for name, earlier in zip(WORKERS, before, strict=True)
    }  # the same application on both workers
    assert len(added) == 1


@pytest.mark.nightly  # a cluster of two workers takes long to start
def test_spark_submit_takes_the_analysis_as_a_script_and_an_archive(
    cluster: SparkCluster, analysed_here: dict[str, Any], tmp_path: Path
) -> None:
    """No other file of the project is there, and the cluster's default file system is not the run's."""
    directory = make(tmp_path, healthy)
    alone = tmp_path / "alone"
    alone.mkdir()
    shutil.copy(REPOSITORY / "analysis" / "jobs.py", alone)
    archive = _archive(tmp_path)
    command = [*SUBMIT, "--master", cluster.url, "--py-files", str(archive), *NO_OTHER_FILE_SYSTEM]
    process = _run([*command, str(alone / "jobs.py"), str(directory.path)], cluster, cwd=alone)
    assert (process.returncode, FROM_ARCHIVE in process.stdout) == (PASS, True), process.stdout
    assert json.loads(directory.summary_path.read_text()) == analysed_here
    assert cluster.applications(WORKERS[0]) == cluster.applications(WORKERS[1])


def _archive(folder: Path) -> Path:
    """Make the archive that docs/running.md makes by `git archive`, but of the current files."""
    for package in ("analysis", "records"):
        shutil.copytree(REPOSITORY / package, folder / "packed" / package, ignore=shutil.ignore_patterns("__pycache__"))
    with (folder / "packed" / "analysis" / "__init__.py").open("a") as package:
        package.write(f"print({FROM_ARCHIVE!r})\n")
    return Path(shutil.make_archive(str(folder / "brokerbench"), "zip", folder / "packed"))


@pytest.mark.nightly  # Spark's own behavior: only a new Spark changes it
def test_a_standalone_cluster_takes_no_driver_in_python(cluster: SparkCluster, tmp_path: Path) -> None:
    """docs/running.md says so. If Spark adds it, the docs and the test above must cover it."""
    jobs = str(REPOSITORY / "analysis" / "jobs.py")
    process = _run([*SUBMIT, "--master", cluster.url, "--deploy-mode", "cluster", jobs, "run"], cluster, cwd=tmp_path)
    assert process.returncode != PASS
    assert "Cluster deploy mode is currently not supported for python" in process.stdout


@pytest.mark.nightly  # Go builds the S3 server; analysis/test_stored_runs.py has the same steps at file://
def test_workers_without_shared_disk_analyse_s3_run(
    cluster: SparkCluster, analysed_here: dict[str, Any], tmp_path: Path
) -> None:
    """`brokerbench store` has stored the run. It is only in S3, and only the driver's environment has credentials.

    Denied access gives one line.
    """
    directory = make(tmp_path / "recorded", healthy)
    hadoop = re.search(r"hadoop-client-api-(\S+)\.jar", " ".join(file.name for file in SPARK.glob("jars/*")))
    assert hadoop
    write_spark_defaults(tmp_path / "conf", hadoop[1])
    stored = f"{BUCKET}/runs/{directory.path.name}"
    uri = f"s3://{stored}"
    with s3_server(tmp_path / "s3") as server:
        process = _run([*STORE, str(directory.path), f"s3://{BUCKET}/runs"], cluster, variables=server.environment)
        assert (process.returncode, process.stdout.strip()) == (PASS, uri)
        shutil.rmtree(directory.path)
        before = [cluster.applications(name) for name in WORKERS]
        variables = {**server.environment, "SPARK_CONF_DIR": str(tmp_path / "conf")}
        process = _run([*ANALYSE, uri, "--master", cluster.url], cluster, variables=variables)
        assert process.returncode == PASS, process.stdout
        assert all(cluster.applications(name) - earlier for name, earlier in zip(WORKERS, before, strict=True))
        assert server.secret_key not in process.stdout
        fs.copy_files(stored, str(directory.path), source_filesystem=server.files())
        assert json.loads(directory.summary_path.read_text()) == analysed_here
        assert changed_after_analysis(directory) == []
        assert all(list(directory.results(name).glob("*.parquet")) for name in RESULT_TABLES)
        process = _run([*ANALYSE, uri], cluster, variables={**variables, "AWS_SECRET_ACCESS_KEY": "another"})
        assert process.returncode == CANNOT_ANALYSE
        assert f"error: s3a://{stored}: access was denied: check AWS_ACCESS_KEY_ID" in process.stdout
        process = _run([*ANALYSE, "s3a://no-such-bucket/run"], cluster, variables=variables)
        assert "there is no bucket 'no-such-bucket'" in process.stdout
