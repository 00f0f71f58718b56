"""Checks that only pinned distributions are used, and the errors if one cannot be fetched."""

import errno
import hashlib
import io
import multiprocessing
import os
import tarfile
import time
import zipfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import cast

import pytest

from records.temporary import make_folder
from topologies.classic import launch
from topologies.jvm import distribution
from topologies.jvm.distribution import DistributionUnavailable, Fetch, PinnedArtifact, ensure
from topologies.pinned import PINNED, pinned, pinned_versions
from topologies.products import DEFAULT
from topologies.runtimes.containers import image
from topologies.runtimes.containers.engine import Engine

TEMPLATE = PinnedArtifact("broker", "org.example", "broker", "1.0", "tar.gz", "bin", "", "broker-1.0")


def archive(entries: dict[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as tar:
        for name, content in entries.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            tar.addfile(entry, io.BytesIO(content))
    return buffer.getvalue()


def pin(content: bytes, template: PinnedArtifact = TEMPLATE) -> PinnedArtifact:
    return replace(template, sha512=hashlib.sha512(content).hexdigest())


def fetching(content: bytes) -> Fetch:
    def fetch(wanted: PinnedArtifact, folder: Path) -> Path:
        file = folder / wanted.filename
        file.write_bytes(content)
        return file

    return fetch


def failing(error: Exception) -> Fetch:
    def fetch(_wanted: PinnedArtifact, _folder: Path) -> Path:
        raise error

    return fetch


GOOD = archive({"broker-1.0/bin/run": b"#!/bin/sh", "broker-1.0/lib/a.jar": b"jar"})


def leftovers(cache: Path) -> list[str]:
    return [path.name for path in cache.iterdir() if path.name.startswith("fetch-")]


def test_an_archive_is_unpacked_into_the_cache(tmp_path: Path) -> None:
    folder = ensure(pin(GOOD), tmp_path, fetching(GOOD))
    assert (folder / "bin" / "run").read_bytes() == b"#!/bin/sh"
    assert folder.name == "broker-1.0"
    assert leftovers(tmp_path) == []


def test_a_jar_is_kept_as_it_is(tmp_path: Path) -> None:
    jar = pin(b"jar", replace(TEMPLATE, packaging="jar", classifier="agent", folder=""))
    assert ensure(jar, tmp_path, fetching(b"jar")).read_bytes() == b"jar"


def test_once_cached_nothing_is_fetched_again(tmp_path: Path) -> None:
    folder = ensure(pin(GOOD), tmp_path, fetching(GOOD))
    assert ensure(pin(GOOD), tmp_path, failing(AssertionError("fetched again"))) == folder


def test_another_checksum_is_refused_with_both_values_and_nothing_is_kept(tmp_path: Path) -> None:
    wrong = archive({"broker-1.0/bin/run": b"changed"})
    with pytest.raises(DistributionUnavailable) as refused:
        ensure(pin(GOOD), tmp_path, fetching(wrong))
    message = str(refused.value)
    assert hashlib.sha512(wrong).hexdigest() in message
    assert hashlib.sha512(GOOD).hexdigest() in message
    assert "broker-1.0-bin.tar.gz" in message
    assert [path.suffix for path in tmp_path.rglob("*")] == [".lock"]


def test_a_failed_download_names_artifact_folder_and_solution(tmp_path: Path) -> None:
    """Without a network, and with an empty cache."""
    with pytest.raises(DistributionUnavailable) as refused:
        ensure(pin(GOOD), tmp_path, failing(ConnectionError("name not known\nlong story")))
    message = str(refused.value)
    assert f"org.example:broker:1.0:tar.gz:bin is not cached in {tmp_path}" in message
    assert "ConnectionError: name not known)" in message
    assert "BROKERBENCH_CACHE" in message


def test_a_full_disk_is_told_with_the_space_that_is_free(tmp_path: Path) -> None:
    with pytest.raises(DistributionUnavailable, match=r"cache folder .*: No space left on device \(\d+ MiB free\)"):
        ensure(pin(GOOD), tmp_path, failing(OSError(errno.ENOSPC, "No space left on device")))


def test_a_cache_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(DistributionUnavailable, match=f"cache folder {tmp_path}/file/cache: .*set another"):
        ensure(pin(GOOD), tmp_path / "file" / "cache", fetching(GOOD))


def test_a_zip_is_unpacked_too_and_writes_nothing_outside(tmp_path: Path) -> None:
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as file:
        file.writestr("broker-1.0/bin/run", "#!/bin/sh")
        file.writestr("../escaped", "!")
    packed = pin(content.getvalue(), replace(TEMPLATE, packaging="zip"))
    folder = ensure(packed, tmp_path / "cache", fetching(content.getvalue()))
    assert (folder / "bin" / "run").read_bytes() == b"#!/bin/sh"
    assert not (tmp_path / "escaped").exists()


@pytest.mark.parametrize("packaging", ["zip", "tar.gz"])
def test_an_archive_that_ends_too_early_is_refused(tmp_path: Path, packaging: str) -> None:
    half = GOOD[: len(GOOD) // 2]
    with pytest.raises(DistributionUnavailable, match="cannot unpack"):
        ensure(pin(half, replace(TEMPLATE, packaging=packaging)), tmp_path, fetching(half))


def test_an_archive_may_not_write_outside_its_folder(tmp_path: Path) -> None:
    evil = archive({"broker-1.0/a": b"", "../escaped": b"!"})
    with pytest.raises(DistributionUnavailable, match="cannot unpack"):
        ensure(pin(evil), tmp_path / "cache", fetching(evil))
    assert not list(tmp_path.rglob("escaped"))


def test_python_before_3_11_4_unpacks_too_and_writes_nothing_outside(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr(tarfile, "data_filter", raising=False)
    assert ensure(pin(GOOD), tmp_path / "good", fetching(GOOD)).is_dir()
    evil = archive({"broker-1.0/a": b"", "../escaped": b"!"})
    with pytest.raises(DistributionUnavailable, match=r"cannot unpack.*\.\./escaped is not a file or folder inside"):
        ensure(pin(evil), tmp_path / "cache", fetching(evil))
    assert not list(tmp_path.rglob("escaped"))


def test_an_archive_without_its_folder_is_refused(tmp_path: Path) -> None:
    wrong_archive = archive({"something-else/a": b""})
    with pytest.raises(DistributionUnavailable, match=r"no folder broker-1\.0"):
        ensure(pin(wrong_archive), tmp_path, fetching(wrong_archive))


def test_what_a_killed_fetch_left_is_removed_by_the_next_of_any_distribution(tmp_path: Path) -> None:
    (tmp_path / "fetch-broker-1.0-bin.tar.gz-dead" / "repository").mkdir(parents=True)
    (tmp_path / "fetch-other.zip-dead" / "repository").mkdir(parents=True)
    (tmp_path / "fetch-other.zip-dead" / "lock").touch()
    ensure(pin(GOOD), tmp_path, fetching(GOOD))
    assert leftovers(tmp_path) == []


def test_what_a_killed_fetch_left_is_removed_by_the_next_use_of_the_cache(tmp_path: Path) -> None:
    ensure(pin(GOOD), tmp_path, fetching(GOOD))
    (tmp_path / "fetch-other.zip-dead" / "unpacked").mkdir(parents=True)
    (tmp_path / "fetch-other.zip-dead" / "lock").touch()
    ensure(pin(GOOD), tmp_path, failing(AssertionError("fetched again")))
    assert leftovers(tmp_path) == []


def test_the_folder_of_a_fetch_that_goes_on_stays(tmp_path: Path) -> None:
    scratch_folder = make_folder("fetch-other.zip-", tmp_path)
    ensure(pin(GOOD), tmp_path, fetching(GOOD))
    assert leftovers(tmp_path) == [scratch_folder.name]


def overwrite(file: Path) -> None:
    """Replace the content but keep size and time, as on a failing disk."""
    times_ns = (file.stat().st_atime_ns, file.stat().st_mtime_ns)
    file.write_bytes(bytes(file.stat().st_size))
    os.utime(file, ns=times_ns)


DAMAGES = pytest.mark.parametrize(
    ("damage", "flaw"),
    [
        (lambda folder: overwrite(folder / "lib" / "a.jar"), "lib/a.jar"),
        (lambda folder: (folder / "lib" / "a.jar").write_bytes(b""), "lib/a.jar"),
        (lambda folder: (folder / "bin" / "run").unlink(), "bin/run"),
        (lambda folder: (folder / "lib" / "more.jar").touch(), "lib/more.jar"),
    ],
    ids=["overwritten", "cut", "removed", "added"],
)


@DAMAGES
def test_a_damaged_folder_is_fetched_again_and_says_which_file_is_damaged(
    tmp_path: Path, damage: Callable[[Path], object], flaw: str
) -> None:
    folder = ensure(pin(GOOD), tmp_path, fetching(GOOD))
    damage(folder)
    lines: list[str] = []
    assert ensure(pin(GOOD), tmp_path, fetching(GOOD), progress=lines.append) == folder
    assert lines == [
        "fetching org.example:broker:1.0:tar.gz:bin (once; later runs take it from the cache): "
        f"it is damaged in {folder.parent} ({flaw})"
    ]
    assert {path.name: path.read_bytes() for path in folder.rglob("*") if path.is_file()} == {
        "run": b"#!/bin/sh",
        "a.jar": b"jar",
    }
    assert leftovers(tmp_path) == []
    ensure(pin(GOOD), tmp_path, failing(AssertionError("fetched again")))


@DAMAGES
def test_without_network_a_damaged_folder_is_refused_and_kept(
    tmp_path: Path, damage: Callable[[Path], object], flaw: str
) -> None:
    folder = ensure(pin(GOOD), tmp_path, fetching(GOOD))
    damage(folder)
    with pytest.raises(DistributionUnavailable) as refused:
        ensure(pin(GOOD), tmp_path, failing(ConnectionError("no network")))
    assert f"({flaw}) and could not be fetched (ConnectionError: no network)" in str(refused.value)
    assert folder.is_dir()
    assert leftovers(tmp_path) == []


@pytest.mark.parametrize("packaging", ["jar", "tar.gz"])
def test_a_damaged_jar_or_archive_is_fetched_again(tmp_path: Path, packaging: str) -> None:
    pinned_archive = pin(GOOD, replace(TEMPLATE, packaging=packaging, folder=""))
    file = ensure(pinned_archive, tmp_path, fetching(GOOD))
    overwrite(file)
    with pytest.raises(DistributionUnavailable, match=rf"\({file.name}\) and could not be fetched"):
        ensure(pinned_archive, tmp_path, failing(ConnectionError("no network")))
    assert ensure(pinned_archive, tmp_path, fetching(GOOD)).read_bytes() == GOOD


def test_no_image_is_built_from_a_damaged_archive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    archive = replace(pin(GOOD), folder="")
    overwrite(ensure(archive, tmp_path, fetching(GOOD)))
    without_network = failing(ConnectionError("no network"))
    monkeypatch.setattr(launch, "DISTRIBUTIONS", (archive,))
    monkeypatch.setattr(launch, "ensure", lambda wanted: ensure(wanted, tmp_path, without_network))
    with pytest.raises(DistributionUnavailable, match=r"is damaged in .* \(broker-1\.0-bin\.tar\.gz\)"):
        image.build(cast(Engine, None), "base", DEFAULT, "tag")


def test_a_folder_without_the_list_of_its_digests_is_fetched_again(tmp_path: Path) -> None:
    folder = ensure(pin(GOOD), tmp_path, fetching(GOOD))
    (list_of_digests,) = folder.parent.glob("*.sha256")
    for spoil in (lambda: list_of_digests.unlink(), lambda: list_of_digests.write_text("nothing")):
        spoil()
        with pytest.raises(DistributionUnavailable, match="digests of its files"):
            ensure(pin(GOOD), tmp_path, failing(ConnectionError("no network")))
        ensure(pin(GOOD), tmp_path, fetching(GOOD))


def test_nothing_stays_of_what_a_check_refuses(tmp_path: Path) -> None:
    def refuse(_folder: Path) -> None:
        raise KeyError("not what it should be")

    with pytest.raises(KeyError, match="not what it should be"):
        ensure(pin(GOOD), tmp_path, fetching(GOOD), check=refuse)
    assert [path.suffix for path in tmp_path.rglob("*")] == [".lock"]


def _slowly(cache: Path, log_file: Path, content: bytes) -> None:
    def fetch(wanted: PinnedArtifact, folder: Path) -> Path:
        with log_file.open("a") as file:
            file.write("fetched\n")
        time.sleep(0.5)
        return fetching(content)(wanted, folder)

    ensure(pin(content), cache, fetch)


def test_two_processes_at_once_fetch_once(tmp_path: Path) -> None:
    log_file = tmp_path / "told"
    start = multiprocessing.get_context("spawn").Process
    processes = [start(target=_slowly, args=(tmp_path / "cache", log_file, GOOD)) for _ in range(2)]
    for process in processes:
        process.start()
    for process in processes:
        process.join(60)
    assert [process.exitcode for process in processes] == [0, 0]
    assert log_file.read_text() == "fetched\n"


@pytest.mark.parametrize(
    ("variables", "expected"),
    [
        ({"BROKERBENCH_CACHE": "/a/b", "XDG_CACHE_HOME": "/x"}, "/a/b"),
        ({"XDG_CACHE_HOME": "/x"}, "/x/brokerbench"),
        ({"XDG_CACHE_HOME": "relative"}, "/h/.cache/brokerbench"),
        ({}, "/h/.cache/brokerbench"),
    ],
)
def test_the_cache_folder_follows_the_environment(
    monkeypatch: pytest.MonkeyPatch, variables: dict[str, str], expected: str
) -> None:
    for name in ("BROKERBENCH_CACHE", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", "/h")
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert distribution.cache_folder() == Path(expected)


def test_of_each_product_two_versions_are_pinned_the_default_first() -> None:
    assert pinned_versions("activemq-classic") == ("5.18.3", "5.16.6")
    assert pinned_versions("activemq-artemis") == ("2.44.0", "2.40.0")
    assert pinned("activemq-artemis", "2.40.0").folder == "apache-artemis-2.40.0"


def test_an_unknown_distribution_is_answered_with_those_there_are() -> None:
    assert pinned("activemq-classic").version == "5.18.3"
    with pytest.raises(KeyError, match=r"no pinned distribution rabbit .*activemq-classic 5\.18\.3"):
        pinned("rabbit")


@pytest.mark.parametrize("entry", PINNED, ids=lambda entry: f"{entry.name} {entry.version}")
def test_every_pin_is_a_whole_sha512(entry: PinnedArtifact) -> None:
    assert len(bytes.fromhex(entry.sha512)) == 64


@pytest.mark.brokers
@pytest.mark.parametrize("entry", PINNED, ids=lambda entry: f"{entry.name} {entry.version}")
def test_every_pinned_distribution_is_there_or_can_be_fetched(entry: PinnedArtifact) -> None:
    assert ensure(entry).exists()
