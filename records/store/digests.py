"""Lists files with their SHA-256, and finds the files that have changed since.

The list format is sha256sum's, so ``sha256sum -c`` reads it too. The analysis lists the files that it read and wrote
and that others read (`list_analysed`). Files that are fetched or unpacked once are listed in the cache.
"""

import hashlib
import re
from collections.abc import Iterable, Mapping
from pathlib import Path

from records.errors import RunUnreadable
from records.files import replace_whole
from records.store.rundir import RunDirectory
from records.tables.results import RESULT_TABLES
from records.tables.schemas import EVENT_TABLES

RESTORE = "bring the folder back from a copy, or make the run again"  # no analysis makes events again
BACKSLASH = "\\"
_ESCAPES = {BACKSLASH: r"\\", "\n": r"\n", "\r": r"\r"}
_CHARACTERS = {escape: character for character, escape in _ESCAPES.items()}


def digests(folder: Path, files: Iterable[Path]) -> dict[str, str]:
    """Return the SHA-256 of each file by its path below ``folder``. OSError if a file cannot be read."""
    return {file.relative_to(folder).as_posix(): _digest(file) for file in sorted(files)}


def write_list(path: Path, digest_by_name: Mapping[str, str]) -> None:
    """Write a list atomically. Raises RunUnwritable."""
    lines = [_line(name, digest) for name, digest in digest_by_name.items()]
    text = "".join(lines).encode("utf-8", "surrogateescape")
    replace_whole(path, lambda unfinished: unfinished.write_bytes(text))


def read_list(path: Path) -> dict[str, str]:
    """Return the SHA-256 of each file by its name. OSError if the list cannot be read, ValueError if it is not a
    list."""
    lines = path.read_bytes().decode("utf-8", "surrogateescape").split("\n")
    return dict(_entry(line) for line in lines if line)


def find_changed_files(folder: Path, digest_by_name: Mapping[str, str]) -> list[str]:
    """Return the names of the files below ``folder`` that are gone, cannot be read, or have other content."""
    return [name for name, digest in digest_by_name.items() if not _has_digest(folder / name, digest)]


def read_files(directory: RunDirectory) -> list[Path]:
    """Return the files that are read both by the analysis and by readers of results."""
    seal = [directory.seal_path] if directory.seal_path.exists() else []
    return [directory.run_path, *seal, *sorted(directory.events("faults").glob("*.parquet"))]


def list_analysed(directory: RunDirectory, read: Mapping[str, str]) -> None:
    """List the files that an analysis wrote, in addition to the files that it ``read``. Raises RunUnwritable."""
    written = [directory.summary_path, *_result_files(directory)]
    write_list(directory.digests_path, {**read, **digests(directory.path, written)})


def changed_after_analysis(directory: RunDirectory) -> list[str]:
    """Return the names of files that are not as the analysis read or wrote them. RunUnreadable if it did not finish."""
    path, again = directory.digests_path, f"run `brokerbench analyse {directory.path}` first"
    try:
        listed = read_list(path)
    except FileNotFoundError:
        raise RunUnreadable(f"{path}: missing, so the analysis did not finish: {again}") from None
    except (OSError, ValueError) as error:
        raise RunUnreadable(f"{path}: cannot be read ({error}): {again}, which rewrites it") from None
    if directory.summary_path.name not in listed:
        problem = "cut short" if listed else "empty"
        raise RunUnreadable(f"{path}: {problem}, so the analyzed files are not known: {again}, which rewrites it")
    files = (*read_files(directory), *_result_files(directory))
    present = {file.relative_to(directory.path).as_posix() for file in files}
    return sorted({*find_changed_files(directory.path, listed), *(present - listed.keys())})


def require_listed_events(directory: RunDirectory) -> None:
    """Raise RunUnreadable if an event file is gone that an earlier analysis read: no other file would show the
    fault."""
    try:
        listed = read_list(directory.digests_path)
    except (OSError, ValueError):
        return  # nothing is known of an earlier analysis
    for name in listed:
        if name.startswith("events/") and not (directory.path / name).exists():
            problem = f"{directory.path / name}: missing, and the last analysis read it: {RESTORE}"
            raise RunUnreadable(problem)


def missing_events(directory: RunDirectory) -> list[str]:
    """Return the folders of event tables without a file; an analyzed run has a file in each."""
    folders = (directory.events(table) for table in EVENT_TABLES)
    return [folder.relative_to(directory.path).as_posix() for folder in folders if not any(folder.glob("*.parquet"))]


def _result_files(directory: RunDirectory) -> list[Path]:
    return [file for table in RESULT_TABLES for file in sorted(directory.results(table).glob("*.parquet"))]


def _digest(file: Path) -> str:
    with file.open("rb") as content:
        return hashlib.file_digest(content, "sha256").hexdigest()


def _has_digest(file: Path, digest: str) -> bool:
    try:
        return _digest(file) == digest
    except OSError:
        return False


def _line(name: str, digest: str) -> str:
    """Format a line like sha256sum: a name with a backslash or line break is escaped, and its line begins with a
    backslash."""
    escaped = "".join(_ESCAPES.get(character, character) for character in name)
    return f"{'' if escaped == name else BACKSLASH}{digest}  {escaped}\n"


def _entry(line: str) -> tuple[str, str]:
    digest, gap, name = line.removeprefix(BACKSLASH).partition("  ")
    if not gap or len(digest) != 64:
        raise ValueError(f"{line[:80]!r} is not a line of sha256sum")
    if line.startswith(BACKSLASH):
        name = re.sub(r"\\(.)", lambda escape: _CHARACTERS.get(escape[0], escape[0]), name)
    return name, digest
