"""Checks runs that are stored in S3 when they end: on a real S3 server, and what is rejected before a run."""

import json
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

import pytest
from pyarrow import fs

from tests.support.disk import small_disk
from tests.support.locust_run import LOCUST, REPOSITORY, RunOutcome, as_a_user_has_it, free_port
from tests.support.s3_server import BUCKET, S3Server, s3_server, write_spark_defaults
from tests.support.spark_cluster import SPARK

PASS, CANNOT_RUN = 0, 2
IN_MEMORY = ("--headless", "--runtime", "memory", "--protocol", "memory", "-t", "4s", "--warm-up", "1")
BROKERBENCH = (sys.executable, "-c", "from brokerbench.cli import main; main()")


def stored_run(folder: Path, address: str, *options: str, env: Mapping[str, str]) -> RunOutcome:
    """Make a run that is stored at ``address``. Its folder is below ``folder/runs``."""
    command = [str(LOCUST), "-f", str(REPOSITORY / "scenarios/steady.py"), *IN_MEMORY, "--runs", address, *options]
    environment = {**as_a_user_has_it(), **env}
    process = subprocess.run(
        command,
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=240,
        check=False,
    )
    return RunOutcome(process.returncode, process.stdout, folder / "runs")


@pytest.fixture
def server(tmp_path: Path) -> Iterator[S3Server]:
    with s3_server(tmp_path / "s3") as running:
        yield running


def test_an_unreachable_store_ends_the_run_first(tmp_path: Path) -> None:
    endpoint = f"http://127.0.0.1:{free_port()}"
    env = {"AWS_ACCESS_KEY_ID": "tester", "AWS_SECRET_ACCESS_KEY": "s3cret", "AWS_ENDPOINT_URL": endpoint}
    outcome = stored_run(tmp_path, "s3://bucket/runs", env=env)
    assert outcome.status == CANNOT_RUN, outcome.output
    said = f"the server cannot be reached; check the network, and AWS_ENDPOINT_URL (now: {endpoint})"
    assert f"--runs s3://bucket/runs: {said}" in outcome.output
    assert "s3cret" not in outcome.output
    assert not outcome.runs.exists()


@pytest.mark.nightly  # Go builds the S3 server; records/test_run_store.py has the same steps without one
@pytest.mark.spark
def test_a_stored_run_is_analysed_there(server: S3Server, tmp_path: Path) -> None:
    """Spark's summary of the run in S3 equals the local one. No file of the run has the secret key."""
    outcome = stored_run(tmp_path, f"s3://{BUCKET}/team/runs", env=server.environment)
    assert outcome.status == PASS, outcome.output
    uri = f"s3://{BUCKET}/team/runs/{outcome.run.name}"
    assert outcome.output.rstrip().endswith(f"Stored:  {uri}")
    copied = tmp_path / "copied"
    fs.copy_files(uri.removeprefix("s3://"), str(copied), source_filesystem=server.files())
    local = {path.relative_to(outcome.run): path.read_bytes() for path in outcome.run.rglob("*") if path.is_file()}
    assert {path.relative_to(copied): path.read_bytes() for path in copied.rglob("*") if path.is_file()} == local
    assert [name for name, content in local.items() if server.secret_key.encode() in content] == []
    assert server.secret_key not in outcome.output

    server.files().delete_file(f"{uri.removeprefix('s3://')}/summary.json")
    hadoop = re.search(r"hadoop-client-api-(\S+)\.jar", " ".join(file.name for file in SPARK.glob("jars/*")))
    assert hadoop
    write_spark_defaults(tmp_path / "conf", hadoop[1])
    environment = {**as_a_user_has_it(), **server.environment, "SPARK_CONF_DIR": str(tmp_path / "conf")}
    subprocess.run([*BROKERBENCH, "analyse", uri], env=environment, check=True, timeout=280)
    with server.files().open_input_stream(f"{uri.removeprefix('s3://')}/summary.json") as summary:
        assert json.loads(summary.read()) == outcome.summary


@pytest.mark.nightly
def test_a_store_that_accepts_nothing_ends_the_run_first(server: S3Server, tmp_path: Path) -> None:
    for changed, address, said in (
        (server, "s3://no-such-bucket/runs", "there is no bucket 'no-such-bucket'; create it, or correct its name"),
        (replace(server, secret_key="another"), f"s3://{BUCKET}/runs", "access was denied; check AWS_ACCESS_KEY_ID"),
    ):
        outcome = stored_run(tmp_path, address, env=changed.environment)
        assert outcome.status == CANNOT_RUN, outcome.output
        assert f"--runs {address}: {said}" in outcome.output
        assert not outcome.runs.exists()


@pytest.mark.nightly
@pytest.mark.namespaces  # a small disk needs root
def test_a_full_store_loses_nothing(tmp_path: Path) -> None:
    """The status is that of the verdict. The run is stored later by the command that the sentence names."""
    (tmp_path / "s3").mkdir()
    with small_disk(tmp_path / "s3", "64k"), s3_server(tmp_path / "s3") as server:
        outcome = stored_run(tmp_path, f"s3://{BUCKET}/runs", "--analyse-later", env=server.environment)
        assert outcome.status == PASS, outcome.output
        last = outcome.output.rstrip().splitlines()[-1]
        local = f"runs/{outcome.run.name}"
        assert last.startswith(f"Stored:  no, the run was not stored at s3://{BUCKET}/runs: ")
        command = f"brokerbench store {local} s3://{BUCKET}/runs"
        assert last.endswith(f"; {local} is complete, and `{command}` stores it")
        stored = server.files().get_file_info(f"{BUCKET}/runs/{outcome.run.name}/run.json")
        assert stored.type == fs.FileType.NotFound
    with s3_server(tmp_path / "larger") as server:
        environment = {**as_a_user_has_it(), **server.environment}
        words = command.removeprefix("brokerbench ").split()
        printed = subprocess.check_output([*BROKERBENCH, *words], cwd=tmp_path, env=environment, text=True)
        uri = printed.strip()
        assert uri == f"s3://{BUCKET}/runs/{outcome.run.name}"
        stored = server.files().get_file_info(f"{uri.removeprefix('s3://')}/run.json")
        assert stored.size == (outcome.run / "run.json").stat().st_size
