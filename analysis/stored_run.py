"""A run folder at a URI such as s3a://bucket/run, which Spark's file systems read and write.

The driver copies run.json and the events to a temporary folder to check them against the seal. The tasks read the
events where they are stored (`analysis.event_files`), and the executors write the tables of parts there. The driver
writes the other results, summary.json, and finally the list of digests. Until then, the run does not count as analyzed.

Credentials come from the environment or from Spark's configuration. URIs with credentials are rejected.
"""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from py4j.protocol import Py4JError, Py4JJavaError
from pyspark.errors import PySparkException, PythonException
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from analysis.event_files import AS_NAMED
from analysis.pipeline import RunLocations
from records.analysis_command import is_uri
from records.errors import RunUnreadable, UserError, has_password, without_user_info
from records.store.digests import read_list, write_list
from records.store.rundir import RunDirectory
from records.store.streams import SUFFIX
from records.tables.results import RESULT_TABLES, WRITTEN_BY_PARTS

OBJECT_STORES = ("s3a", "gs", "abfs", "abfss", "wasb", "wasbs", "oss", "cosn")
"""Schemes whose URIs begin with a bucket or a container."""
S3_CREDENTIALS = "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"
UNFINISHED = "results/.unfinished"
_NO_JAR = re.compile(r"ClassNotFoundException|NoClassDefFoundError|ClassNotFound")
_NO_SCHEME = re.compile(r"No FileSystem for scheme|UnsupportedFileSystemException")
_NO_BUCKET = re.compile(r"UnknownStoreException|NoSuchBucket|bucket does not exist", re.IGNORECASE)
_NO_CREDENTIALS = re.compile(r"NoAuthWithAWSException|NoAwsCredentials|CredentialInitializationException")
_DENIED = re.compile(r"AccessDenied|AccessControlException|InvalidAccessKeyId|SignatureDoesNotMatch|Forbidden")
_NOT_THERE = re.compile(r"FileNotFoundException|PATH_NOT_FOUND")


class StoredRun:
    """A stored run. Raises UserError if Spark cannot use the URI, and RunUnreadable if it is not a sealed run."""

    def __init__(self, spark: SparkSession, uri: str) -> None:
        self.uri = usable_uri(uri)
        self._spark = spark
        jvm: Any = spark._jvm
        self._hadoop: Any = jvm.org.apache.hadoop
        with self.explained():
            self._root = self._hadoop.fs.Path(self.uri)
            self._files: Any = self._root.getFileSystem(spark._jsc.hadoopConfiguration())

    @property
    def places(self) -> RunLocations:
        return RunLocations(f"{self.uri}/events", f"{self.uri}/{UNFINISHED}")

    def fetch(self, folder: Path) -> RunDirectory:
        """Copy run.json and the events to a local folder."""
        with self.explained():
            names = list(self._names())
            if "run.json" not in names:
                raise RunUnreadable(f"{self.uri}: not a run folder, as it has no run.json: give one such as {_EXAMPLE}")
            if streams := [name for name in names if name.startswith("streams/") and name.endswith(SUFFIX)]:
                raise RunUnreadable(f"{self.uri}/{streams[0]}: not sealed yet: {_ANALYSE_FIRST}")
            if "events/seal.json" not in names and not any(name.startswith("events/") for name in names):
                raise RunUnreadable(f"{self.uri}: the run has no events: {_ANALYSE_FIRST}")
            for name in names:
                if name in ("run.json", "analysis.sha256") or name.startswith("events/"):
                    (folder / name).parent.mkdir(parents=True, exist_ok=True)
                    self._files.copyToLocalFile(False, self._path(name), self._local(folder / name), True)
        directory = RunDirectory.open(folder)
        if not directory.has_seal:
            raise RunUnreadable(f"{self.uri}: its events come from a version without a seal: {_ANALYSE_FIRST}")
        return directory

    def publish(self, directory: RunDirectory) -> None:
        """Replace the stored results with the local results and the tables that the executors wrote."""
        with self.explained():
            self._files.delete(self._path("analysis.sha256"), False)
            for table in RESULT_TABLES:
                self._files.delete(self._path(f"results/{table}"), True)
                if table in WRITTEN_BY_PARTS:
                    written = self._path(f"{UNFINISHED}/{table}")
                    if not self._files.rename(written, self._path(f"results/{table}")):
                        raise UserError(f"{written}: cannot be renamed: {_TRY_AGAIN}")
                else:
                    for file in sorted(directory.results(table).glob("*.parquet")):
                        self._put(file, f"results/{table}/{file.name}")
            self._put(directory.summary_path, directory.summary_path.name)
            listed = {**read_list(directory.digests_path), **self._digests_of_parts()}
            write_list(directory.digests_path, dict(sorted(listed.items())))
            self._put(directory.digests_path, directory.digests_path.name)
            self._files.delete(self._path(UNFINISHED), True)

    def _digests_of_parts(self) -> dict[str, str]:
        """Return the SHA-256 digests of the files that the executors wrote. The executors compute them."""
        folders = [f"{self.uri}/results/{table}" for table in WRITTEN_BY_PARTS]
        reader = self._spark.read.format("binaryFile").option(AS_NAMED, "false")
        files = reader.option("pathGlobFilter", "*.parquet").load(folders)
        rows = files.select("path", F.sha2("content", 256)).collect()
        return {"/".join(["results", *path.split("/")[-2:]]): digest for path, digest in rows}

    def _put(self, file: Path, name: str) -> None:
        self._files.copyFromLocalFile(False, True, self._local(file), self._path(name))

    def _names(self) -> Iterator[str]:
        found = self._files.listFiles(self._root, True)
        begin = len(self._files.makeQualified(self._root).toUri().getPath().rstrip("/")) + 1
        while found.hasNext():
            yield found.next().getPath().toUri().getPath()[begin:]

    def _path(self, name: str) -> Any:
        return self._hadoop.fs.Path(f"{self.uri}/{name}")

    def _local(self, path: Path) -> Any:
        return self._hadoop.fs.Path(f"file://{path.resolve()}")

    @contextmanager
    def explained(self) -> Iterator[None]:
        """Convert errors of Spark's file systems to a one-sentence error."""
        try:
            yield
        except (Py4JError, PySparkException) as error:
            if isinstance(error, PythonException):  # raised by our own code in a task
                raise
            raise UserError(self._sentence(error)) from None

    def _sentence(self, error: Exception) -> str:
        causes = [str(cause.toString()) for cause in _causes(error)] or [str(error)]
        text, scheme = "\n".join(causes), urlsplit(self.uri).scheme
        if _NO_SCHEME.search(text):
            return f"{self.uri}: Spark has no file system for {scheme}://: write s3a://, hdfs:// or file://"
        if _NO_JAR.search(text):
            version = self._hadoop.util.VersionInfo.getVersion()
            package = "hadoop-aws" if scheme == "s3a" else f"hadoop's module for {scheme}"
            return (
                f"{self.uri}: Spark lacks the jars for {scheme}://: add them with "
                f"--packages org.apache.hadoop:{package}:{version}"
            )
        if _NO_BUCKET.search(text):
            return f"{self.uri}: there is no bucket {urlsplit(self.uri).netloc!r}: create it, or correct its name"
        if _NO_CREDENTIALS.search(text):
            return f"{self.uri}: there are no credentials: set {S3_CREDENTIALS} in the environment"
        if _DENIED.search(text):
            of_s3 = f"check {S3_CREDENTIALS} and what they permit" if scheme == "s3a" else "check its permissions"
            return f"{self.uri}: access was denied: {of_s3}"
        if _NOT_THERE.search(text):
            return f"{self.uri}: there is no such folder: give the folder of a run, such as {_EXAMPLE}"
        return f"{self.uri}: cannot be read or written ({causes[0].splitlines()[0]}): {_TRY_AGAIN}"


_EXAMPLE = "s3a://BUCKET/runs/<run id>"
_ANALYSE_FIRST = "analyse the folder where it was recorded, and copy it again"
_TRY_AGAIN = "check the address and that the storage works, then analyse again"


def usable_uri(uri: str) -> str:
    """Return a run's URI without a trailing slash. Raises UserError; the error hides credentials in the URI."""
    parts = urlsplit(uri)
    if parts.scheme in OBJECT_STORES and has_password(uri):
        raise UserError(f"{without_user_info(uri)}: contains credentials: remove them, and set {S3_CREDENTIALS}")
    if parts.scheme in ("s3", "s3n"):
        raise UserError(f"{uri}: Spark has no file system for {parts.scheme}://: write s3a://")
    if parts.scheme in OBJECT_STORES and not parts.netloc:
        raise UserError(f"{uri}: has no bucket: write {_EXAMPLE}")
    if parts.scheme == "file" and parts.netloc:
        raise UserError(f"{uri}: has a host: write file:///FOLDER")
    return uri.rstrip("/")


def name_of(run: Path | str) -> str:
    """Return the name of a run's folder."""
    return unquote(str(run).rstrip("/").rpartition("/")[2]) if is_uri(str(run)) else Path(run).name


def _causes(error: Exception) -> Iterator[Any]:
    """Yield an error's Java exception and its causes."""
    java = error.java_exception if isinstance(error, Py4JJavaError) else getattr(error, "_origin", None)
    while java is not None:
        yield java
        java = java.getCause()
