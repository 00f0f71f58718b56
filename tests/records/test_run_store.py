"""Checks addresses of runs in S3, and that a store which fails leaves the run on this machine, whole."""

import io
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from records.errors import UserError, without_user_info
from records.store.reader import seal
from records.store.run_store import KEYS, StoreAddress, missing_credentials, open_store, reason, store_run
from records.store.rundir import RunDirectory
from tests.analysis.runs import healthy, make

ADDRESS = StoreAddress("bucket", "team/runs")


class StoredObject(io.BytesIO):
    """It is stored when it is closed, as in S3."""

    def __init__(self, store: "PlantedStore", name: str) -> None:
        super().__init__()
        self._store, self._name = store, name

    def close(self) -> None:
        if not self.closed:
            self._store.objects[self._name] = self.getvalue()[: self._store.keeps_bytes]
        super().close()


@dataclass
class PlantedStore:
    """A store in memory. ``room``: objects that it takes; ``keeps_bytes``: of each object."""

    room: int = 10_000
    keeps_bytes: int | None = None
    objects: dict[str, bytes] = field(default_factory=dict)

    def open_output_stream(self, name: str) -> StoredObject:
        if len(self.objects) >= self.room:
            raise OSError("When completing multipart upload: AWS Error UNKNOWN: No space left")
        return StoredObject(self, name)

    def get_file_info(self, name: str) -> Any:
        return SimpleNamespace(size=len(self.objects[name]))


def files_of(folder: Path) -> dict[str, bytes]:
    paths = [path for path in folder.rglob("*") if path.is_file() and not path.name.startswith(".")]
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in paths}


@pytest.fixture
def directory(tmp_path: Path) -> RunDirectory:
    return make(tmp_path, healthy)


def test_every_file_is_stored_and_run_json_last(directory: RunDirectory) -> None:
    """The run was not analyzed yet. Its events are sealed first, as an analysis at a URI needs it."""
    store = PlantedStore()
    uri = store_run(directory, ADDRESS, store)  # type: ignore[arg-type]
    assert uri == f"s3://bucket/team/runs/{directory.path.name}"
    assert directory.seal_path.exists()
    prefix = f"bucket/team/runs/{directory.path.name}/"
    assert {name.removeprefix(prefix): content for name, content in store.objects.items()} == files_of(directory.path)
    assert [*store.objects][-1] == f"{prefix}run.json"


def test_a_full_store_gets_no_run_json(directory: RunDirectory) -> None:
    """So nothing takes the copied part for a run. The folder stays as it was."""
    seal(directory)
    before, store = files_of(directory.path), PlantedStore(room=3)
    with pytest.raises(OSError, match="No space left"):
        store_run(directory, ADDRESS, store)  # type: ignore[arg-type]
    assert files_of(directory.path) == before
    assert [name for name in store.objects if name.endswith("run.json")] == []


def test_a_store_that_keeps_less_is_found_out(directory: RunDirectory) -> None:
    with pytest.raises(OSError, match=r"the store has 7 of \d+ bytes of "):
        store_run(directory, ADDRESS, PlantedStore(keeps_bytes=7))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("s3://bucket", "bucket"),
        ("s3a://bucket/", "bucket"),
        ("s3://my.bucket-1/a/b c/", "my.bucket-1/a/b c"),
    ],
)
def test_an_address_is_a_bucket_and_a_prefix(text: str, path: str) -> None:
    assert StoreAddress.parse(text).path == path
    assert str(StoreAddress.parse(text)) == f"s3://{path}"


@pytest.mark.parametrize("text", ["s3://key:s3cret@bucket/runs", "s3://key:a/s3cret@bucket/runs"])
def test_credentials_are_never_shown(text: str) -> None:
    """A secret key may contain slashes."""
    assert without_user_info(text) == "s3://bucket/runs"
    with pytest.raises(UserError, match="contains credentials; remove them, and set AWS_ACCESS_KEY_ID") as refused:
        StoreAddress.parse(text)
    assert "s3cret" not in str(refused.value)


@pytest.mark.parametrize("given", [{}, {KEYS[0]: "a"}, {KEYS[1]: "a"}, {KEYS[0]: "", KEYS[1]: "a"}])
def test_missing_credentials_are_named(given: dict[str, str]) -> None:
    """No other source of credentials is tried, such as an instance's metadata."""
    missing = missing_credentials(given)
    assert [name for name in KEYS if name in missing] == [name for name in KEYS if not given.get(name)]
    with pytest.raises(UserError, match="not set; set it in the environment, the only source of S3's credentials"):
        open_store(ADDRESS, given)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("When initiating upload: AWS Error NO_SUCH_BUCKET during PutObject", "there is no bucket 'bucket'; create it"),
        ("AWS Error ACCESS_DENIED during PutObject operation", "access was denied; check AWS_ACCESS_KEY_ID and"),
        ("AWS Error SIGNATURE_DOES_NOT_MATCH during PutObject", "access was denied; check AWS_ACCESS_KEY_ID and"),
        (
            "AWS Error NETWORK_CONNECTION: curlCode: 7",
            "the server cannot be reached; check the network, and AWS_ENDPOINT",
        ),
        ("AWS Error SLOW_DOWN {x}", "the store cannot be used (AWS Error SLOW_DOWN {x}); check it, and repeat"),
    ],
)
def test_reasons_have_a_next_step(text: str, said: str) -> None:
    assert reason(OSError(text), ADDRESS, {}).startswith(said)
