"""Downloads the brokers' distributions once, and keeps them in a cache.

They come from Maven's central repository, by coordinate; Maven itself is not needed (jgo downloads them). Each is
pinned by its SHA-512 and unpacked once into a folder in the user's cache; from then on no network is needed.

Disks fail and people edit files, so every use checks all files that a start may read. A jar or archive is compared with
its pin. An unpacked folder is compared with the digests that were listed when it was unpacked: 60 MB, about a tenth of
a second. Files that differ are downloaded again.
"""

import errno
import hashlib
import os
import shutil
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from jgo.maven import MavenContext

from records.errors import UserError
from records.files import locked
from records.store.digests import digests, find_changed_files, read_list, write_list
from records.temporary import remove_stale, temporary_folder

CACHE_VARIABLE = "BROKERBENCH_CACHE"
SCRATCH = "fetch-"
NETWORK_TIMEOUT_S = 30
NAMED_AT_MOST = 3  # files
OF_THE_CACHE = (errno.ENOSPC, errno.EDQUOT, errno.EACCES, errno.EROFS)
"""Errors of the cache folder; any other error is about the downloaded file."""


class DistributionUnavailable(UserError):
    """A distribution could not be fetched, checked or unpacked; names it, the folder and the next step."""


@dataclass(frozen=True)
class PinnedArtifact:
    """A pinned artifact: ``name`` is what callers use, ``folder`` the archive's top folder ('' for a jar)."""

    name: str
    group: str
    artifact: str
    version: str
    packaging: str
    classifier: str
    sha512: str
    folder: str = ""

    @property
    def coordinate(self) -> str:
        return ":".join(filter(None, (self.group, self.artifact, self.version, self.packaging, self.classifier)))

    @property
    def filename(self) -> str:
        return "-".join(filter(None, (self.artifact, self.version, self.classifier))) + f".{self.packaging}"


def apache_archive(name: str, artifact: str, version: str, sha512: str) -> PinnedArtifact:
    """Return a broker distribution as published by Apache."""
    folder = f"{artifact}-{version}"
    return PinnedArtifact(name, "org.apache.activemq", artifact, version, "tar.gz", "bin", sha512, folder)


Fetch = Callable[[PinnedArtifact, Path], Path]
"""(distribution, empty folder) -> the file, somewhere below that folder. Any exception explains why there is none."""


def cache_folder() -> Path:
    """Return BROKERBENCH_CACHE, otherwise ``brokerbench`` in XDG_CACHE_HOME or ~/.cache."""
    if chosen := os.environ.get(CACHE_VARIABLE):
        return Path(chosen).expanduser().absolute()
    xdg = os.environ.get("XDG_CACHE_HOME", "")  # the specification requires that relative values are ignored
    return (Path(xdg) if xdg.startswith("/") else Path.home() / ".cache") / "brokerbench"


def fetch_by_maven(distribution: PinnedArtifact, folder: Path) -> Path:
    """Download by coordinate, to an empty local repository, so that no partial download of another tool is used."""
    component = MavenContext(repo_cache=folder, timeout=NETWORK_TIMEOUT_S).project(
        distribution.group, distribution.artifact
    )
    artifact = component.at_version(distribution.version).artifact(
        classifier=distribution.classifier, packaging=distribution.packaging
    )
    return Path(artifact.resolve())


def ensure(
    distribution: PinnedArtifact,
    cache: Path | None = None,
    fetch: Fetch = fetch_by_maven,
    *,
    check: Callable[[Path], object] = lambda _folder: None,
    progress: Callable[[str], None] = lambda _line: None,
) -> Path:
    """Return the unpacked folder (or the jar) of ``distribution``.

    It is fetched first if the cached copy is missing or damaged. ``check`` may raise for a newly unpacked folder, which
    is then removed. ``progress`` is called before a download. Safe for concurrent processes: one downloads, the others
    wait. Raises DistributionUnavailable.
    """
    cache = cache_folder() if cache is None else cache
    final = _place(distribution, cache)
    remove_stale(SCRATCH, cache)
    try:
        if not _flaw(distribution, final):
            return final
        with locked(cache / f"{distribution.filename}.lock"), _scratch(cache, distribution) as scratch:
            if flaw := _flaw(distribution, final):
                progress(f"fetching {distribution.coordinate} (once; later runs take it from the cache): it {flaw}")
                _install(distribution, scratch, final, fetch, check)
    except OSError as error:
        raise DistributionUnavailable(_cache_problem(distribution, cache, error)) from error
    return final


def _flaw(distribution: PinnedArtifact, final: Path) -> str:
    """Return why the cached copy cannot be used; '' if it can."""
    if not final.exists():
        return f"is not cached in {final.parent.parent}"
    if not distribution.folder:
        damaged = "" if final.is_file() and _sha512(final) == distribution.sha512 else final.name
    else:
        try:
            listed = read_list(_list_of(final))
        except FileNotFoundError:
            return f"is in {final} without the digests of its files"
        except ValueError as error:
            return f"is in {final}, and of the digests of its files {error}"
        jars = {jar.relative_to(final).as_posix() for jar in final.rglob("*.jar")}
        damaged = ", ".join([*find_changed_files(final, listed), *sorted(jars - listed.keys())][:NAMED_AT_MOST])
    return f"is damaged in {final.parent} ({damaged})" if damaged else ""


def _list_of(folder: Path) -> Path:
    return folder.with_name(f"{folder.name}.sha256")


def _place(distribution: PinnedArtifact, cache: Path) -> Path:
    """Return the cache path. It contains the checksum, so a changed pin never gets the old files."""
    return cache / distribution.sha512[:16] / (distribution.folder or distribution.filename)


@contextmanager
def _scratch(cache: Path, distribution: PinnedArtifact) -> Iterator[Path]:
    """Make a folder next to the final place. Leftovers of a killed process are removed first (we hold the lock)."""
    prefix = f"{SCRATCH}{distribution.filename}-"
    for stale in cache.glob(f"{prefix}*"):
        shutil.rmtree(stale, ignore_errors=True)
    with temporary_folder(prefix, cache) as folder:
        yield folder


def _install(
    distribution: PinnedArtifact, scratch: Path, final: Path, fetch: Fetch, check: Callable[[Path], object]
) -> None:
    """Install the distribution in ``scratch``; one rename makes the result visible and replaces a damaged copy."""
    archive = _fetched(distribution, scratch / "repository", final, fetch)
    _verify(distribution, archive)
    ready = archive
    if distribution.folder:
        ready = _unpacked(distribution, archive, scratch / "unpacked")
        check(ready)
    final.parent.mkdir(parents=True, exist_ok=True)
    if final.is_dir() or (distribution.folder and final.exists()):  # a folder cannot replace anything
        final.rename(scratch / "damaged")
    if distribution.folder:
        write_list(_list_of(final), digests(ready, (path for path in ready.rglob("*") if path.is_file())))
    ready.rename(final)


def _fetched(distribution: PinnedArtifact, folder: Path, final: Path, fetch: Fetch) -> Path:
    folder.mkdir()
    try:
        return fetch(distribution, folder)
    except Exception as error:  # jgo raises its own, requests' and urllib3's errors: each means that there is no file
        if isinstance(error, OSError) and error.errno in OF_THE_CACHE:
            raise
        raise DistributionUnavailable(
            f"{distribution.coordinate} {_flaw(distribution, final)} and could not be fetched "
            f"({type(error).__name__}: {_first_line(error)}). Connect to the network once (behind a proxy set "
            f"HTTPS_PROXY), or copy that folder from a machine that has it, and set its path in {CACHE_VARIABLE}"
        ) from error


def _verify(distribution: PinnedArtifact, archive: Path) -> None:
    actual = _sha512(archive)
    if actual != distribution.sha512:
        archive.unlink()
        raise DistributionUnavailable(
            f"{distribution.coordinate}: the file {archive.name} has SHA-512 {actual} but {distribution.sha512} is "
            "pinned. It was removed and not used. Try again; if it differs again, the file was changed between the "
            "repository and this machine"
        )


def _sha512(file: Path) -> str:
    with file.open("rb") as content:
        return hashlib.file_digest(content, "sha512").hexdigest()


def _unpacked(distribution: PinnedArtifact, archive: Path, folder: Path) -> Path:
    try:
        if distribution.packaging == "zip":
            with zipfile.ZipFile(archive) as file:
                file.extractall(folder)  # nothing outside the folder
        else:
            with tarfile.open(archive) as tar:
                _extract(tar, folder)
    except (tarfile.TarError, zipfile.BadZipFile, EOFError, zlib.error, RuntimeError, OSError) as error:
        if isinstance(error, OSError) and error.errno in OF_THE_CACHE:
            raise
        raise DistributionUnavailable(f"{distribution.coordinate}: cannot unpack {archive.name}: {error}") from error
    if not (folder / distribution.folder).is_dir():
        raise DistributionUnavailable(f"{distribution.coordinate}: no folder {distribution.folder} in {archive.name}")
    return folder / distribution.folder


def _extract(tar: tarfile.TarFile, folder: Path) -> None:
    """Extract only inside the folder.

    Python before 3.11.4, still in some Linux distributions, has no filter for this.
    """
    if hasattr(tarfile, "data_filter"):
        tar.extractall(folder, filter="data")
        return
    for member in tar.getmembers():
        inside = (folder / member.name).resolve().is_relative_to(folder.resolve())
        if not inside or not (member.isfile() or member.isdir()):
            raise tarfile.TarError(f"{member.name} is not a file or folder inside the archive's own folder")
    tar.extractall(folder)


def _cache_problem(distribution: PinnedArtifact, cache: Path, error: OSError) -> str:
    problem = f"{distribution.coordinate} cannot be kept in the cache folder {cache}: {error.strerror or error}"
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        free_mib = shutil.disk_usage(cache).free >> 20
        return f"{problem} ({free_mib} MiB free). Free some space there, or set another folder in {CACHE_VARIABLE}"
    return f"{problem}. Make that folder writable, or set another folder in {CACHE_VARIABLE}"


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or [""])[0]
