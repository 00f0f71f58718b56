"""Binds the event files and run.json of a run together: additions, removals, replacements and edits are noticed.

A chain of SHA-256: `events/seal.json` names the run, has the digest of run.json's content, and lists each event file
with the number of rows and the footer's digest. The footer has the digest of each row group, and the run, table and
process that recorded the rows. So a process that reads a few row groups checks only these, and needs only the names and
digests in the seal. Nothing in the chain depends on the path of the run's folder. The chain has no secret: anyone who
recomputes all digests can forge a run.

Only files and row groups that are as they were sealed are read. `check_files` returns a sentence for each other file.
"""

import hashlib
import json
import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from itertools import pairwise
from pathlib import Path
from typing import BinaryIO

import pyarrow as pa
import pyarrow.parquet as pq

from records.files import replace_whole
from records.run_json import digest_of
from records.store.digests import RESTORE
from records.store.rundir import RunDirectory
from records.store.streams import PROCESS_KEY, RUN_KEY, TABLE_KEY, VERSION_KEY
from records.tables.schemas import EVENT_TABLES, SCHEMA_VERSION

GROUP_DIGESTS_KEY = b"brokerbench.sha256_of_row_group"
"""Key in a sealed file: the SHA-256 of the bytes of each row group, separated by spaces."""
MAGIC = b"PAR1"
NAMED_AT_MOST = 10  # files of one run that are named in problems
NOT_PARQUET = (pa.ArrowException, OSError, UnicodeDecodeError)
"""Errors of a file that PyArrow cannot read. It raises UnicodeDecodeError for damaged column names."""


@dataclass(frozen=True)
class SealedFile:
    """``footer_sha256``: digest of the bytes after the last row group, which contain all metadata of the file.

    ``growing``: the stream that it was made from was still being written, so more rows may come.
    """

    rows: int
    footer_sha256: str
    growing: bool = field(default=False, compare=False)


@dataclass(frozen=True)
class Seal:
    """The event files of a run, by their path below ``events``, such as ``sends/worker-1.parquet``.

    ``run_sha256``: digest of run.json's content when they were sealed; empty if it had been edited by then.
    """

    run_id: str
    run_sha256: str
    files: dict[str, SealedFile]


class NotAsSealed(ValueError):
    """The seal, or a file, was changed. The message is part of a sentence."""


@dataclass(frozen=True)
class FileCheck:
    """``readable``: names of the files of each table that are as they were sealed. ``problems``: sentences."""

    readable: Mapping[str, tuple[str, ...]]
    problems: tuple[str, ...]


def write_seal(directory: RunDirectory, seal: Seal) -> None:
    """Write the seal atomically. Raises RunUnwritable."""
    files = {name: asdict(seal.files[name]) for name in sorted(seal.files)}
    content = {"run_id": seal.run_id, "run_sha256": seal.run_sha256, "files": files}
    text = json.dumps({**content, "sha256": digest_of(content)}, indent=1) + "\n"
    replace_whole(directory.seal_path, lambda unfinished: unfinished.write_text(text, encoding="utf-8"))


def read_seal(directory: RunDirectory) -> Seal | None:
    """Return the seal of a run; None if there is none. NotAsSealed if it was edited, or is the seal of another run."""
    try:
        document = json.loads(directory.seal_path.read_text(encoding="utf-8"))
        written_sha256 = document.pop("sha256")
        files = {name: SealedFile(**entry) for name, entry in document["files"].items()}
        seal = Seal(document["run_id"], document["run_sha256"], files)
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise NotAsSealed(f"cannot be read as a seal ({error!r})") from None
    if written_sha256 != digest_of(document):
        raise NotAsSealed("was edited, as the digest in it does not match")
    if seal.run_id != directory.run_id:
        raise NotAsSealed(f"seals the events of run {seal.run_id}, and run.json is of run {directory.run_id}")
    return seal


def seal_run_again(directory: RunDirectory) -> None:
    """Update the seal of a run, if it has one, for a later run.json. Raises RunUnwritable, NotAsSealed."""
    if seal := read_seal(directory):
        write_seal(directory, replace(seal, run_sha256=directory.run_sha256))


def sealed_file(path: Path) -> SealedFile:
    """Return the entry of a file that was just written. Raises NotAsSealed, OSError."""
    with path.open("rb") as file:
        footer = read_footer(file)
        return SealedFile(pq.read_metadata(path).num_rows, hashlib.sha256(footer).hexdigest())


def read_footer(file: BinaryIO | pa.NativeFile) -> bytes:
    """Return the metadata at the end of a Parquet file, including its length and the magic number.

    NotAsSealed if the file does not end like one.
    """
    size = file.seek(0, os.SEEK_END)
    file.seek(max(0, size - 8))
    length, magic = int.from_bytes(file.read(4), "little"), file.read(4)
    if magic != MAGIC or length + 12 > size:
        raise NotAsSealed("is not readable as Parquet: it was cut short or overwritten")
    file.seek(size - 8 - length)
    footer: bytes = file.read()
    return footer


def group_ranges(metadata: pq.FileMetaData, size: int) -> list[tuple[int, int]]:
    """Return where the bytes of each row group begin and end, in a file of ``size`` bytes. Together they are all
    rows."""
    columns = (metadata.row_group(group).column(0) for group in range(metadata.num_row_groups))
    begins = [column.dictionary_page_offset or column.data_page_offset for column in columns]
    return list(pairwise([*begins, size]))


def group_digest(file: BinaryIO | pa.NativeFile, begin: int, end: int) -> str:
    file.seek(begin)
    return hashlib.sha256(file.read(end - begin)).hexdigest()


def unsealed_groups(file: BinaryIO | pa.NativeFile, metadata: pq.FileMetaData, groups: Iterable[int]) -> list[int]:
    """Return the row groups whose bytes are not as they were sealed. A file of an older version has no digests."""
    listed = metadata.metadata.get(GROUP_DIGESTS_KEY)
    if listed is None:
        return []
    footer_bytes = len(read_footer(file))
    digests, ranges = listed.decode().split(), group_ranges(metadata, file.seek(0, os.SEEK_END) - footer_bytes)
    return [group for group in groups if group_digest(file, *ranges[group]) != digests[group]]


@dataclass(frozen=True)
class ChangedGroup:
    """A row group that is not as it was sealed: its number in a file that has ``groups``."""

    file: str
    group: int
    groups: int


def changed_rows(changed: Iterable[ChangedGroup]) -> list[str]:
    """Return a sentence for each file with row groups that are not as they were sealed."""
    by_file: dict[tuple[str, int], set[int]] = {}
    for group in changed:
        by_file.setdefault((group.file, group.groups), set()).add(group.group)
    return [
        f"events/{file}: its rows were changed after they were sealed (row groups: {len(numbers)} of "
        f"{groups}), so these are left out: {RESTORE}"
        for (file, groups), numbers in sorted(by_file.items())
    ]


# -- the files of a run ------------------------------------------------------------------------------------------------


def check_files(directory: RunDirectory) -> FileCheck:
    """Compare the event files of a sealed run with its seal. Reads only their footers."""
    run_id = directory.run_id
    try:
        seal = read_seal(directory)
        problem = "" if seal else "missing, so nothing shows that the events are complete"
    except NotAsSealed as error:
        seal, problem = None, str(error)
    present = list(_present(directory))
    if seal is None:
        why_not = {
            name: _why_not_own(directory, name, run_id) or _why_no_digests(directory.events_path / name)
            for name in present
        }
        problems = [f"events/{directory.seal_path.name}: {problem}: {RESTORE}"]
    else:
        why_not = {name: _why_not_sealed(directory, name, entry, run_id) for name, entry in seal.files.items()}
        problems = [
            f"events/{table}: without a file, and every run is sealed with one: {RESTORE}"
            for table in EVENT_TABLES
            if not any(name.startswith(f"{table}/") for name in seal.files)
        ]
    problems += _changes_of_run(directory, seal)
    problems += [f"events/{name}: {why}, so it is left out: {RESTORE}" for name, why in why_not.items() if why]
    extras = () if seal is None else (name for name in present if name not in seal.files)
    problems += [_extra(directory, name, run_id) for name in extras]
    readable: dict[str, list[str]] = {table: [] for table in EVENT_TABLES}
    for name in sorted(name for name, why in why_not.items() if not why):
        readable[name.partition("/")[0]].append(name)
    return FileCheck({table: tuple(names) for table, names in readable.items()}, _shortened(problems))


def _changes_of_run(directory: RunDirectory, seal: Seal | None) -> list[str]:
    """Return the sentence on a run.json that was edited, before or after the events were sealed."""
    sha256 = directory.run_sha256
    if not sha256 and directory.run_path.exists():
        return [f"run.json: was edited, as the digest in it does not match: {RESTORE}"]
    if seal and seal.run_sha256 != sha256:
        return [f"run.json: was changed after the events were sealed: {RESTORE}"]
    return []


def _shortened(problems: list[str]) -> tuple[str, ...]:
    more = len(problems) - NAMED_AT_MOST
    if more <= 0:
        return tuple(problems)
    return (*problems[:NAMED_AT_MOST], f"events: {more} more files are not as they were sealed: {RESTORE}")


def _present(directory: RunDirectory) -> Iterator[str]:
    """Yield all files below ``events`` except the seal and hidden files, which Parquet readers ignore."""
    events = directory.events_path
    for path in sorted(events.rglob("*")):
        name = path.relative_to(events)
        if not path.is_dir() and path != directory.seal_path and not any(part.startswith(".") for part in name.parts):
            yield name.as_posix()


def _why_not_sealed(directory: RunDirectory, name: str, sealed: SealedFile, run_id: str) -> str:
    """Return why a file in the seal is not as it was sealed; empty if it is."""
    path = directory.events_path / name
    if not path.is_file():
        return f"missing, and the run was sealed with its {sealed.rows:,} rows"
    if why := _why_not_own(directory, name, run_id):
        return why
    if (rows := pq.read_metadata(path).num_rows) != sealed.rows:
        return f"has {rows:,} rows, and was sealed with {sealed.rows:,}"
    if sealed_file(path) != sealed:
        return "was changed after it was sealed"
    return _why_no_digests(path)


def _why_not_own(directory: RunDirectory, name: str, run_id: str) -> str:
    """Return why a file's own metadata does not fit its place in this run; empty if it does."""
    table, _, file_name = name.partition("/")
    if table not in EVENT_TABLES or "/" in file_name or not file_name.endswith(".parquet"):
        return "is not an event file"
    path = directory.events_path / name
    try:
        with path.open("rb") as file:
            read_footer(file)
        schema = pq.read_schema(path)
    except (*NOT_PARQUET, NotAsSealed) as error:
        return str(error) if isinstance(error, NotAsSealed) else f"is not readable as Parquet ({_in_a_line(error)})"
    metadata = {key: value.decode(errors="replace") for key, value in (schema.metadata or {}).items()}
    expected = {
        VERSION_KEY: ("schema version", str(SCHEMA_VERSION)),
        RUN_KEY: ("run", run_id),
        TABLE_KEY: ("table", table),
        PROCESS_KEY: ("process", file_name.removesuffix(".parquet")),
    }
    for key, (word, value) in expected.items():
        if metadata.get(key) != value:
            return f"is of {word} {metadata.get(key, 'unknown')} by its metadata, not of {value}"
    if not schema.equals(EVENT_TABLES[table], check_metadata=False):
        return "has other columns than its table"
    return ""


def _why_no_digests(path: Path) -> str:
    """Check a readable file."""
    parquet = pq.read_metadata(path)
    digests = (parquet.metadata or {}).get(GROUP_DIGESTS_KEY, b"").split()
    return "" if len(digests) == parquet.num_row_groups else "has no digest of each row group"


def _extra(directory: RunDirectory, name: str, run_id: str) -> str:
    why = _why_not_own(directory, name, run_id)
    about = f" (it {why})" if why else ""
    return f"events/{name}: not one of the files that the run was sealed with{about}, so it is left out: remove it"


def _in_a_line(error: Exception) -> str:
    return " ".join(str(error).split())
