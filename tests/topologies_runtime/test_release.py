"""Checks which version or build of the brokers is started, and which are rejected before the start."""

import io
import shutil
import tarfile
import zipfile
from dataclasses import replace
from pathlib import Path

import pytest

from records.errors import UserError
from topologies.artemis.links import ClusterLink
from topologies.catalogue.lookup import build
from topologies.jvm.distribution import CACHE_VARIABLE
from topologies.jvm.release import OwnBuild
from topologies.model.topology import Topology
from topologies.runtimes.release import release_of

CLASSIC = ("bin/activemq.jar", "lib/activemq-broker-5.19.0.jar", "lib/activemq-spring-5.19.0.jar")
ARTEMIS = ("lib/artemis-boot.jar", "lib/artemis-server-2.45.0.jar")
VERSION = "5.19.0-SNAPSHOT"
MANIFEST = f"Implementation-Version: {VERSION}"


def unpacked(folder: Path, files: tuple[str, ...] = CLASSIC, manifest: str = MANIFEST) -> Path:
    """Create a folder of jars that contain only a manifest."""
    for name in files:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        with zipfile.ZipFile(folder / name, "w") as jar:
            jar.writestr("META-INF/MANIFEST.MF", f"Manifest-Version: 1.0\r\n{manifest}\r\n")
    return folder


def refusal(path: Path, topology: str = "mesh") -> str:
    with pytest.raises(UserError) as refused:
        release_of(build(topology), path=path)
    message = str(refused.value)
    assert message.startswith(f"--distribution {path}: ")
    assert "\n" not in message
    return message.removeprefix(f"--distribution {path}: ")


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv(CACHE_VARIABLE, str(tmp_path / "cache"))
    return tmp_path / "cache"


def test_without_options_brokers_are_of_the_default_version() -> None:
    assert [release_of(build(entry)).version for entry in ("mesh", "cluster")] == ["5.18.3", "2.44.0"]


@pytest.mark.parametrize(
    ("entry", "version"), [("mesh", "5.18.3"), ("mesh", "5.16.6"), ("cluster", "2.44.0"), ("cluster", "2.40.0")]
)
def test_a_known_version_is_that_of_the_topologys_product(entry: str, version: str) -> None:
    assert release_of(build(entry), version).version == version


@pytest.mark.parametrize(
    ("entry", "version", "versions"),
    [
        ("mesh", "5.17.0", "classic brokers have no such version here; write one of 5.18.3, 5.16.6"),
        ("mesh", "2.44.0", "classic brokers have no such version here; write one of 5.18.3, 5.16.6"),
        ("cluster", "5.18.3", "artemis brokers have no such version here; write one of 2.44.0, 2.40.0"),
    ],
)
def test_another_version_is_refused_with_those_of_the_product(entry: str, version: str, versions: str) -> None:
    with pytest.raises(UserError) as refused:
        release_of(build(entry), version)
    assert str(refused.value) == (
        f"--broker-version {version}: {versions}, or name a distribution of another version with --distribution"
    )


def test_a_version_and_a_distribution_are_one_too_many(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"^--broker-version 5\.16\.6 --distribution .*; leave one out$"):
        release_of(build("mesh"), "5.16.6", tmp_path)


def scanning() -> Topology:
    built = build("cluster")
    links = [link for link in built.links if isinstance(link, ClusterLink)]
    return replace(
        built,
        links=tuple(
            replace(cluster_link, cluster=replace(cluster_link.cluster, topology_scanner_attempts=5))
            for cluster_link in links
        ),
    )


def test_a_setting_that_the_version_does_not_know_is_refused_before_the_start(tmp_path: Path) -> None:
    with pytest.raises(UserError) as refused:
        release_of(scanning(), "2.40.0")
    assert str(refused.value) == (
        "--broker-version 2.40.0: cluster 'cluster' sets topology_scanner_attempts, which Artemis supports since 2.41, "
        "but this is 2.40.0; leave the setting out, or choose a later version"
    )
    old_build = unpacked(tmp_path / "old", ARTEMIS, "Implementation-Version: 2.39.0")
    with pytest.raises(UserError, match=r"^--distribution .*since 2\.41, but this is 2\.39\.0; leave the"):
        release_of(scanning(), path=old_build)
    assert release_of(scanning(), "2.44.0").version == "2.44.0"


def test_a_build_is_its_folder_with_the_version_that_its_jar_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    unpacked(tmp_path / "mine")
    monkeypatch.chdir(tmp_path)
    assert release_of(build("mesh"), path=Path("mine")) == OwnBuild(Path("mine"), tmp_path / "mine", VERSION)


def test_of_a_build_its_path_and_a_digest_of_its_jars_are_recorded(tmp_path: Path) -> None:
    def recorded() -> dict[str, str]:
        release = release_of(build("mesh"), path=tmp_path)
        assert isinstance(release, OwnBuild)
        return release.recorded("activemq")

    unpacked(tmp_path)
    before = recorded()
    assert before["activemq-distribution"] == str(tmp_path)
    (tmp_path / "data").mkdir()
    assert recorded() == before
    with zipfile.ZipFile(tmp_path / CLASSIC[1], "w") as jar:
        jar.writestr("changed", "")
    assert {name for name, value in recorded().items() if value != before[name]} == {"activemq-build"}


@pytest.mark.parametrize("form", ["gztar", "zip"])
def test_an_archive_is_unpacked_into_the_cache_once(tmp_path: Path, cache: Path, form: str) -> None:
    unpacked(tmp_path / "made" / "apache-activemq-5.19")
    archive = Path(shutil.make_archive(str(tmp_path / "mine"), form, tmp_path / "made", "apache-activemq-5.19"))
    release = release_of(build("mesh"), path=archive)
    assert isinstance(release, OwnBuild)
    assert (release.path, release.version, release.home.name) == (archive, VERSION, "apache-activemq-5.19")
    assert release.home.is_relative_to(cache)
    (release.home / "still here").touch()
    assert release_of(build("mesh"), path=archive) == release
    assert (release.home / "still here").exists()


def test_another_archive_of_the_same_name_is_another_build(tmp_path: Path, cache: Path) -> None:
    homes = []
    for version in ("1", "2"):
        unpacked(tmp_path / "made" / "broker", manifest=f"Implementation-Version: {version}")
        archive = Path(shutil.make_archive(str(tmp_path / "mine"), "zip", tmp_path / "made", "broker"))
        release = release_of(build("mesh"), path=archive)
        assert isinstance(release, OwnBuild)
        assert release.version == version
        homes.append(release.home)
    assert homes[0] != homes[1]


def packed(archive: Path, entries: dict[str, bytes]) -> Path:
    """Create an archive with exactly these entry names. A name that ends with a slash is a folder."""
    if archive.suffix == ".zip":
        with zipfile.ZipFile(archive, "w") as file:
            for name, content in entries.items():
                file.writestr(name, content)
        return archive
    with tarfile.open(archive, "w:gz") as tar:
        for name, content in entries.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            if name.endswith("/"):
                entry.type, entry.mode = tarfile.DIRTYPE, 0o755
            tar.addfile(entry, io.BytesIO(content))
    return archive


def jars(tmp_path: Path, manifest: str = MANIFEST) -> dict[str, bytes]:
    folder = unpacked(tmp_path / "jars", manifest=manifest)
    return {name: (folder / name).read_bytes() for name in CLASSIC}


@pytest.mark.parametrize("packaging", ["tar.gz", "zip"])
@pytest.mark.parametrize("before", ["./", "/", "//", "/./"])
def test_an_archive_whose_names_begin_with_a_dot_or_a_slash_is_read(
    tmp_path: Path, cache: Path, packaging: str, before: str
) -> None:
    entries = {before: b"", **{f"{before}broker/{name}": content for name, content in jars(tmp_path).items()}}
    release = release_of(build("mesh"), path=packed(tmp_path / f"mine.{packaging}", entries))
    assert isinstance(release, OwnBuild)
    assert (release.version, release.home.name) == (VERSION, "broker")
    assert release.home.is_relative_to(cache)


@pytest.mark.parametrize("packaging", ["tar.gz", "zip"])
def test_an_archive_beside_its_own_folder_or_without_one_is_told_so(
    tmp_path: Path, cache: Path, packaging: str
) -> None:
    above = packed(tmp_path / f"above.{packaging}", {f"../{name}": b"" for name in CLASSIC})
    assert refusal(above).startswith("has files outside its own folder (its first is in ..); name an unpacked")
    bare = packed(tmp_path / f"bare.{packaging}", jars(tmp_path))
    assert refusal(bare).startswith("has no bin/activemq.jar in its folder bin, which classic brokers need to start; ")
    empty = packed(tmp_path / f"empty.{packaging}", {"./": b""})
    assert refusal(empty).startswith("is empty; ")
    assert [path.name for path in cache.iterdir() if path.suffix != ".lock"] == []


@pytest.mark.parametrize("packaging", ["tar.gz", "zip"])
@pytest.mark.parametrize(
    ("manifest", "files", "problem"),
    [
        ("Built-By: me", CLASSIC, "bin/activemq.jar has no Implementation-Version in its manifest"),
        (MANIFEST, CLASSIC[:2], "has no lib/activemq-spring-*.jar in its folder broker"),
        (MANIFEST, ARTEMIS, "has artemis brokers, but topology 'mesh-of-3' needs classic brokers"),
    ],
)
def test_nothing_of_a_refused_archive_stays_in_the_cache(
    tmp_path: Path, cache: Path, packaging: str, manifest: str, files: tuple[str, ...], problem: str
) -> None:
    folder = unpacked(tmp_path / "jars", files, manifest)
    entries = {f"broker/{name}": (folder / name).read_bytes() for name in files}
    entries["broker/data"] = bytes(20_000_000)
    assert refusal(packed(tmp_path / f"mine.{packaging}", entries)).startswith(problem)
    assert [path.name for path in cache.iterdir() if path.suffix != ".lock"] == []


def marked(archive: Path, in_local: int, in_directory: int, value: int) -> Path:
    """Set a byte at these offsets in both headers of the zip's last entry."""
    content = bytearray(archive.read_bytes())
    content[content.rfind(b"PK\x03\x04") + in_local] = value
    content[content.rfind(b"PK\x01\x02") + in_directory] = value
    archive.write_bytes(content)
    return archive


def test_an_archive_that_python_cannot_unpack_is_refused_for_what_it_is(tmp_path: Path, cache: Path) -> None:
    good = {f"broker/{name}": content for name, content in jars(tmp_path).items()}
    encrypted = marked(packed(tmp_path / "encrypted.zip", {**good, "broker/more": b"x"}), 6, 8, 1)
    assert "is encrypted, password required" in refusal(encrypted)
    assert refusal(encrypted).count("unpack") == 2, "cannot be unpacked, and name an unpacked distribution"
    method = marked(packed(tmp_path / "method.zip", {**good, "broker/more": b"x"}), 8, 10, 99)
    assert "That compression method is not supported" in refusal(method)
    for packaging in ("zip", "tar.gz"):
        long = packed(tmp_path / f"long.{packaging}", {**good, f"broker/{'n' * 300}": b"x"})
        assert "cannot unpack long" in refusal(long)
        clash = packed(tmp_path / f"clash.{packaging}", {**good, "broker/bin": b"x"})
        assert "cannot unpack clash" in refusal(clash)
    assert [path.name for path in cache.iterdir() if path.suffix != ".lock"] == []


def test_a_damaged_build_in_the_cache_is_unpacked_again(tmp_path: Path, cache: Path) -> None:
    entries = {f"broker/{name}": content for name, content in jars(tmp_path).items()}
    archive = packed(tmp_path / "mine.zip", entries)
    release = release_of(build("mesh"), path=archive)
    assert isinstance(release, OwnBuild)
    (release.home / CLASSIC[1]).write_bytes(b"damaged")
    assert release_of(build("mesh"), path=archive) == release
    assert (release.home / CLASSIC[1]).read_bytes() == entries[f"broker/{CLASSIC[1]}"]


@pytest.mark.usefixtures("cache")
def test_what_is_no_archive_though_its_name_says_so_is_refused(tmp_path: Path) -> None:
    for name in ("mine.zip", "mine.tar.gz"):
        (tmp_path / name).write_text("text", encoding="utf-8")
        assert refusal(tmp_path / name).startswith("cannot be unpacked: ")
    with tarfile.open(tmp_path / "empty.tar.gz", "w:gz"):
        pass
    assert refusal(tmp_path / "empty.tar.gz").startswith("is empty; name an unpacked distribution, or its")


def test_what_is_not_there_or_another_kind_of_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "broker.jar").touch()
    assert refusal(tmp_path / "none") == (
        "there is no such file or folder; name an unpacked distribution, or its .tar.gz or .zip"
    )
    assert refusal(tmp_path / ("n" * 300)).startswith("cannot be unpacked: [Errno 36] File name too long")
    assert refusal(tmp_path / "broker.jar").startswith("is neither a folder nor a .tar.gz or .zip; name an unpacked")


@pytest.mark.parametrize("lacking", CLASSIC)
def test_a_folder_without_a_file_that_a_start_takes_is_refused(tmp_path: Path, lacking: str) -> None:
    unpacked(tmp_path, tuple(name for name in CLASSIC if name != lacking))
    pattern = lacking.replace("5.19.0", "*")
    assert refusal(tmp_path).startswith(f"has no {pattern}, which classic brokers need to start; name an unpacked")


@pytest.mark.parametrize(
    ("topology", "files", "problem"),
    [
        ("mesh", ARTEMIS, "has artemis brokers, but topology 'mesh-of-3' needs classic brokers; "),
        ("cluster", CLASSIC, "has classic brokers, but topology 'cluster-of-3' needs artemis brokers; "),
    ],
)
def test_a_distribution_of_the_other_product_is_refused(
    tmp_path: Path, topology: str, files: tuple[str, ...], problem: str
) -> None:
    assert refusal(unpacked(tmp_path, files), topology).startswith(problem)


def test_a_build_that_does_not_say_its_version_is_refused(tmp_path: Path) -> None:
    unpacked(tmp_path, manifest="Built-By: me")
    assert refusal(tmp_path).startswith("bin/activemq.jar has no Implementation-Version in its manifest; ")
    (tmp_path / "bin" / "activemq.jar").write_text("no jar", encoding="utf-8")
    assert refusal(tmp_path).startswith("bin/activemq.jar has no Implementation-Version in its manifest; ")
    with zipfile.ZipFile(tmp_path / "bin" / "activemq.jar", "w") as jar:
        jar.writestr("META-INF/MANIFEST.MF", b"Implementation-Version: \xff")
    assert refusal(tmp_path).startswith("bin/activemq.jar has no Implementation-Version in its manifest; ")
