"""A user's own build of the brokers, as the release to start them from.

A build is an unpacked distribution or its archive. An archive is unpacked into the cache, once. Its checksum is not
checked, but it must be of the topology's product, and contain the files that a start requires.
"""

import hashlib
import shutil
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from records.errors import UserError
from topologies.jvm.distribution import DistributionUnavailable, PinnedArtifact, cache_folder, ensure

ARCHIVES = ("tar.gz", "zip")
MANIFEST = "META-INF/MANIFEST.MF"
NAME_ONE = "name an unpacked distribution, or its .tar.gz or .zip"


@dataclass(frozen=True)
class OwnBuild:
    """A user's build. ``path``: as the user wrote it; ``home``: the unpacked folder; ``version``: from its jar."""

    path: Path
    home: Path
    version: str

    @property
    def digest(self) -> str:
        """A digest of its jars, which distinguishes builds of one version at the same path."""
        digest = hashlib.sha256()
        for jar in sorted(self.home.rglob("*.jar")):
            digest.update(str(jar.relative_to(self.home)).encode())
            digest.update(jar.read_bytes())
        return digest.hexdigest()[:12]

    def recorded(self, product: str) -> dict[str, str]:
        """Return the entries of run.json in addition to the version. ``product``: the version's name there."""
        return {f"{product}-distribution": str(self.path), f"{product}-build": self.digest}


def own_build(path: Path, version_of: Callable[[Path], str]) -> OwnBuild:
    """Unpack and check a build. A rejected archive leaves nothing in the cache. Raises UserError.

    ``version_of``: returns the version of the unpacked folder, or raises UserError.
    """
    home = _home_of(path, version_of)
    return OwnBuild(path, home, version_of(home))


def _home_of(path: Path, check: Callable[[Path], object]) -> Path:
    """Return the folder of a build. An archive's folder is in the cache, if ``check`` does not raise."""
    try:
        if path.is_dir():
            return path.absolute()
        if not path.is_file():
            raise refused(path, f"there is no such file or folder; {NAME_ONE}")
        return _unpacked(path, check)
    except DistributionUnavailable as error:
        cause = error.__cause__  # from the archive itself, or from the cache, about which the error says more
        why = error if cause is None or getattr(cause, "errno", None) else cause
        raise refused(path, f"cannot be unpacked: {why}; {NAME_ONE}") from error
    except (tarfile.TarError, zipfile.BadZipFile, EOFError, zlib.error, OSError) as error:
        raise refused(path, f"cannot be unpacked: {error}; {NAME_ONE}") from error


def _unpacked(path: Path, check: Callable[[Path], object]) -> Path:
    """Unpack into the cache, in a folder named by the archive's digest."""
    packaging = next((ending for ending in ARCHIVES if path.name.endswith(f".{ending}")), None)
    if packaging is None:
        raise refused(path, f"is neither a folder nor a .tar.gz or .zip; {NAME_ONE}")
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha512").hexdigest()
    archive = PinnedArtifact(
        name=path.name,
        group="",
        artifact=path.name.removesuffix(f".{packaging}"),
        version="",
        packaging=packaging,
        classifier="",
        sha512=digest,
        folder=_top_folder(path, packaging),
    )
    return ensure(
        archive, cache_folder(), lambda _archive, folder: Path(shutil.copy(path, folder / path.name)), check=check
    )


def _top_folder(archive: Path, packaging: str) -> str:
    """Return the folder of the archive's first entry: a distribution has one folder with everything below it.

    A leading "/" or "./" is ignored, as it is when an archive is unpacked.
    """
    if packaging == "zip":
        with zipfile.ZipFile(archive) as file:
            name = _first_below(file.namelist())
    else:
        with tarfile.open(archive, "r:gz") as tar:
            name = _first_below(entry.name for entry in tar)
    if not name:
        raise refused(archive, f"is empty; {NAME_ONE}")
    if name == "..":
        raise refused(archive, f"has files outside its own folder (its first is in ..); {NAME_ONE}")
    return name


def _first_below(names: Iterable[str]) -> str:
    """Return the first part of the first name that has any; '' if none has."""
    parts = (PurePosixPath(name.lstrip("/")).parts for name in names)
    return next((part for part, *_ in filter(None, parts)), "")


def manifest_version(jar: Path) -> str:
    """Return the Implementation-Version of a jar; '' if it has none."""
    try:
        with zipfile.ZipFile(jar) as archive:
            lines = archive.read(MANIFEST).decode("utf-8").splitlines()
    except (zipfile.BadZipFile, zlib.error, EOFError, KeyError, ValueError, RuntimeError, OSError):
        return ""
    return dict(line.partition(": ")[::2] for line in lines).get("Implementation-Version", "").strip()


def refused(path: Path, why: str) -> UserError:
    return UserError(f"--distribution {path}: {why}")
