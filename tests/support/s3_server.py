"""Runs an S3 server on loopback: Versity's gateway (`.ci/install-s3-server.sh`), which checks signatures as S3 does."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from pyarrow import fs

from tests.support.locust_run import REPOSITORY, free_port
from tests.support.servers import listens, running

REGION = "us-east-1"
BUCKET = "bucket"
HADOOP_AWS = "org.apache.hadoop:hadoop-aws"
SDK = "software.amazon.awssdk"
SDK_VERSION = "2.35.4"
"""As hadoop-aws 3.5.0 requires it. Its modules have 20 MB, and the bundle that hadoop-aws would fetch has 600 MB."""


@dataclass(frozen=True)
class S3Server:
    """``secret_key`` is not shown, so that no failed test prints it."""

    url: str
    access_key: str
    secret_key: str = field(repr=False)

    def files(self) -> fs.FileSystem:
        keys = {"access_key": self.access_key, "secret_key": self.secret_key}
        return fs.S3FileSystem(**keys, endpoint_override=self.url, region=REGION, allow_bucket_creation=True)

    @property
    def environment(self) -> dict[str, str]:
        """For a driver: its credentials, and where S3 is."""
        keys = {"AWS_ACCESS_KEY_ID": self.access_key, "AWS_SECRET_ACCESS_KEY": self.secret_key}
        return {**keys, "AWS_ENDPOINT_URL": self.url}


def write_spark_defaults(folder: Path, hadoop_version: str) -> None:
    """Write spark-defaults.conf for runs in S3, as docs/running.md describes it."""
    modules = ",".join(f"{SDK}:{name}:{SDK_VERSION}" for name in ("s3-transfer-manager", "sts"))
    settings = {
        "spark.jars.packages": f"{HADOOP_AWS}:{hadoop_version},{modules}",
        "spark.jars.excludes": f"{SDK}:bundle,org.slf4j:slf4j-api",
        "spark.hadoop.fs.s3a.path.style.access": "true",
        "spark.hadoop.fs.s3a.endpoint.region": REGION,
    }
    folder.mkdir()
    text = "".join(f"{name} {value}\n" for name, value in settings.items())
    (folder / "spark-defaults.conf").write_text(text)


@contextmanager
def s3_server(folder: Path) -> Iterator[S3Server]:
    """A server with one empty bucket. It is gone when this ends."""
    subprocess.run(["bash", ".ci/install-s3-server.sh"], cwd=REPOSITORY, check=True)
    port = free_port()
    server = S3Server(f"http://127.0.0.1:{port}", "tester", os.urandom(16).hex())
    (folder / "objects").mkdir(parents=True)
    program = Path(sys.executable).parent / "versitygw"
    command = [program, "--quiet", "--port", f"127.0.0.1:{port}", "posix", folder / "objects"]
    keys = {"ROOT_ACCESS_KEY": server.access_key, "ROOT_SECRET_KEY": server.secret_key}
    with running(command, folder / "log", lambda: listens(port), keys):
        server.files().create_dir(BUCKET)
        yield server
