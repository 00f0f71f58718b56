"""Compiles Java sources into one archive of classes, once: the archive is cached by its inputs.

The Eclipse compiler (one jar) runs in a separate JVM, so this process waits for it like for any other program. An
archive's name is the hash of the sources, the compiler, the libraries and the Java version that they are compiled
against. It is written next to its final path and then renamed, so other processes see all of it or nothing; a damaged
archive is rebuilt.
"""

import hashlib
import os
import re
import shutil
import subprocess
import tempfile
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from drivers.contract import DriverError
from records.environment import for_java
from records.files import locked

RELEASE = 17  # version of the language and the classes; newer versions of Java run them too
COMPILE_TIMEOUT_S = 300.0
OPTIONS = (f"-{RELEASE}", "-encoding", "UTF-8", "-g", "-proc:none", "-Xemacs")
NO_WARNINGS = "-nowarn"
QUICKLY = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC")  # it runs for two seconds: optimizing would take two more
ERROR = re.compile(r"^(?P<file>[^:\n]+\.java):(?P<line>\d+): error: (?P<words>.*)$", re.MULTILINE)


NOTHING_GENERATED: Mapping[str, str] = {}


@dataclass(frozen=True)
class Compiler:
    """The Eclipse compiler, ``jar``, run by the Java in ``home``. The same Java runs the classes.

    ``cache``: the folder for the archives of classes; it does not need to exist.
    """

    home: Path
    jar: Path
    cache: Path

    def compiled(
        self, folders: Sequence[Path], libraries: Sequence[Path], generated: Mapping[str, str] = NOTHING_GENERATED
    ) -> Path:
        """Return an archive of the classes of all sources below ``folders``, which use ``libraries``.

        ``generated``: the sources of more classes of the package ``brokerbench``, by the classes' names.

        Safe for several processes at once: one compiles, the others wait. Raises DriverError with file and line of the
        first error, or with the reason why the cache cannot be used.
        """
        sources = _sources(folders)
        archive = self.cache / f"{self._identity(sources, libraries, generated)}.jar"
        try:
            if not _whole(archive):
                with locked(self.cache / "compiling.lock"):
                    if not _whole(archive):  # another process may have made it while we waited
                        self._make(archive, sources, libraries, generated)
        except OSError as error:
            raise DriverError(
                f"compiled classes cannot be kept in {self.cache}: {error.strerror or error}; "
                "make that folder writable, or name another cache folder by BROKERBENCH_CACHE"
            ) from error
        return archive

    def run(self, arguments: Sequence[str]) -> subprocess.CompletedProcess[str]:
        """Run the compiler with these arguments. Its messages are in ``stderr``."""
        command = [str(self.home / "bin" / "java"), *QUICKLY, "-jar", str(self.jar), *arguments]
        return subprocess.run(
            command,
            env=for_java(os.environ),
            capture_output=True,
            text=True,
            check=False,
            timeout=COMPILE_TIMEOUT_S,
        )

    def _identity(self, sources: Sequence[Path], libraries: Sequence[Path], generated: Mapping[str, str]) -> str:
        """Identify sources by content, jars (which are pinned) by name and size, and Java by the version that it
        reports."""
        digest = hashlib.sha256(repr((OPTIONS, _release(self.home))).encode())
        for jar in (self.jar, *libraries):
            digest.update(f"{jar.name} {jar.stat().st_size}\n".encode())
        for source in sources:
            text = source.read_bytes()
            digest.update(f"{source.parent.name}/{source.name} {len(text)}\n".encode() + text)
        digest.update(repr(sorted(generated.items())).encode())
        return digest.hexdigest()[:32]

    def _make(
        self, archive: Path, sources: Sequence[Path], libraries: Sequence[Path], generated: Mapping[str, str]
    ) -> None:
        for stale in archive.parent.glob(f"{archive.stem}-*"):  # left by a killed process: we hold the lock
            shutil.rmtree(stale, ignore_errors=True)
        with tempfile.TemporaryDirectory(prefix=f"{archive.stem}-", dir=archive.parent) as scratch:
            classes = Path(scratch, "classes")
            self._compile([*sources, *write_sources(generated, Path(scratch))], libraries, classes)
            draft = Path(scratch, archive.name)
            _pack(classes, draft)
            draft.replace(archive)

    def _compile(self, sources: Sequence[Path], libraries: Sequence[Path], classes: Path) -> None:
        path = os.pathsep.join(map(str, libraries))
        arguments = [*OPTIONS, NO_WARNINGS, "-cp", path, "-d", str(classes), *map(str, sources)]
        try:
            compiling = self.run(arguments)
        except (OSError, subprocess.TimeoutExpired) as error:
            raise DriverError(
                f"the Java of {self.home} could not run the compiler {self.jar.name}: {error}; see `brokerbench doctor`"
            ) from None
        if compiling.returncode:
            raise DriverError(_first_error(compiling.stderr or compiling.stdout))


def write_sources(generated: Mapping[str, str], folder: Path) -> list[Path]:
    """Write the sources of these classes below ``folder``, and return the files."""
    package = folder / "generated" / "brokerbench"
    package.mkdir(parents=True)
    for name, source in generated.items():
        (package / f"{name}.java").write_text(source, encoding="utf-8")
    return sorted(package.iterdir())


def _sources(folders: Sequence[Path]) -> list[Path]:
    """Return all sources. Each folder has packages below it, like a Java source path. Other source paths may be
    below it too."""
    return [source for folder in folders for source in sorted(folder.glob("brokerbench/*.java"))]


def _release(home: Path) -> str:
    """Return the version that the Java in ``home`` reports. Compiled classes may need methods that an older version
    lacks."""
    try:
        version = re.search(r'^JAVA_VERSION="([^"]*)"', (home / "release").read_text(encoding="utf-8"), re.MULTILINE)
    except OSError:
        version = None
    return version.group(1) if version else str(home)


def _whole(archive: Path) -> bool:
    """Whether the archive exists and every class in it matches its checksum."""
    try:
        with zipfile.ZipFile(archive) as opened:
            return opened.testzip() is None
    except FileNotFoundError:
        return False
    except (zipfile.BadZipFile, EOFError, ValueError, NotImplementedError, RuntimeError):
        return False


def _pack(classes: Path, draft: Path) -> None:
    with zipfile.ZipFile(draft, "w", zipfile.ZIP_STORED) as archive:
        for class_file in sorted(classes.rglob("*.class")):
            archive.write(class_file, class_file.relative_to(classes))


def _first_error(output: str) -> str:
    """Return the first error with its file and line, and the number of further errors."""
    errors = list(ERROR.finditer(output))
    if not errors:
        return f"drivers/java/: the compiler failed: {output.strip() or 'it printed nothing'}"
    error = errors[0]
    further = f"; and {len(errors) - 1} more" if len(errors) > 1 else ""
    return (
        f"{error['file']}:{error['line']}: {error['words'].strip()}{further}; this Java must compile: correct it there"
    )
