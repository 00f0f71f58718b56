"""Reads the data for a report from a run folder, and checks that it is complete.

Every error is a RunUnreadable that names the file, the rule and the next step.
"""

from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from records.errors import RunUnreadable
from records.figures.profiles import JvmProfile, read_profiles
from records.figures.summary import SUMMARY_VERSION, Summary
from records.run import RunInfo
from records.run_json import Misfit, convert_to_type, parse, shown
from records.store.digests import RESTORE, changed_after_analysis, missing_events
from records.store.rundir import RunDirectory
from records.tables.results import RESULT_TABLES, WRITTEN_BY_PARTS, added_up
from records.tables.row_order import order
from records.tables.schemas import EVENT_TABLES
from records.verdicts import VERDICTS
from reports.parts.numbers import joined

NAMED_AT_MOST = 3  # files


@dataclass(frozen=True)
class Results:
    """A finished and analyzed run. ``faults`` is the event table; None when the run has none.

    ``profiles``: of brokers and Java clients, in a run with ``--jfr``.
    """

    run: RunInfo
    summary: Summary
    tables: dict[str, pa.Table]
    faults: pa.Table | None
    profiles: tuple[JvmProfile, ...] = ()


def read_results(path: Path) -> Results:
    """Read a run. Raises RunUnreadable if it was not analyzed, or by another version."""
    directory = RunDirectory.open(path)
    run, summary = directory.read_run(), read_summary(directory)
    tables = {name: result_table(directory, name, schema) for name, schema in RESULT_TABLES.items()}
    return Results(run, summary, tables, _faults(directory), read_profiles(directory))


def read_summary(directory: RunDirectory, *, reader: str = "this report") -> Summary:
    """Read the summary. ``reader``: the reader's name in the error.

    Raises RunUnreadable for another version or a missing key. The summary of a changed run has the verdict ``invalid``.
    """
    path, again = directory.summary_path, _again(directory)
    try:
        document = parse(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        if why := directory.read_run().never_began:
            raise RunUnreadable(f"{directory.path}: the run never began ({why}), so make it again") from None
        raise RunUnreadable(f"{path}: missing, so the run was not analyzed: {again}") from None
    except (OSError, ValueError) as error:
        raise RunUnreadable(f"{path}: cannot be read as JSON ({error}): {again}") from None
    version = document.get("summary_version") if isinstance(document, dict) else None
    if version != SUMMARY_VERSION:
        raise RunUnreadable(f"{path}: summary_version is {shown(version)}, {reader} reads {SUMMARY_VERSION}: {again}")
    missing = [key for key in sorted(Summary.__required_keys__) if key not in document]
    if missing:
        raise RunUnreadable(f"{path}: the key {missing[0]!r} is missing: {again}")
    if document["verdict"] not in VERDICTS:
        verdicts = ", ".join(VERDICTS)
        verdict = shown(document["verdict"])
        raise RunUnreadable(f"{path}: unknown verdict {verdict}; expected one of {verdicts}: {again}")
    changes = why_changed(directory)
    try:
        summary: Summary = convert_to_type(Summary, document)
    except Misfit as misfit:
        raise RunUnreadable(f"{path}: {misfit}: {changes or again}") from None
    if changes:  # nobody measured what it says
        return {**summary, "verdict": "invalid", "reasons": [changes, *summary["reasons"]]}
    return summary


def why_changed(directory: RunDirectory) -> str:
    """Return a sentence on files that have changed since the analysis read or wrote them; '' if none has.

    A new analysis restores results, but not events. Raises RunUnreadable.
    """
    files = changed_after_analysis(directory)
    if not files:
        return ""
    gone = [name for name in files if not (directory.path / name).exists()]
    edited = [name for name in files if name not in gone]
    tables = missing_events(directory)
    missing = [*tables, *(name for name in gone if str(Path(name).parent) not in tables)]
    sentences = (
        [f"{_named(edited)} {'was' if len(edited) == 1 else 'were'} changed after the analysis"] if edited else []
    )
    sentences += [f"{_named(missing)} {'is' if len(missing) == 1 else 'are'} missing"] if missing else []
    if any(name.startswith("events/") for name in missing):
        return f"{' and '.join(sentences)}: {RESTORE}"
    run_json = directory.run_path.name
    as_now = f", which takes {run_json} as it is now" if run_json in edited else ""
    return f"{' and '.join(sentences)}: run `brokerbench analyse {directory.path}`{as_now}"


def _named(files: list[str]) -> str:
    return joined(
        files if len(files) <= NAMED_AT_MOST else [*files[:NAMED_AT_MOST], f"{len(files) - NAMED_AT_MOST} more"]
    )


def result_table(directory: RunDirectory, name: str, schema: pa.Schema) -> pa.Table:
    folder = directory.results(name)
    files = sorted(folder.glob("*.parquet")) if folder.is_dir() else []
    if not files:
        raise RunUnreadable(f"{folder}: the result table {name!r} is missing: {_again_if_possible(directory)}")
    table = pa.concat_tables([_checked(path, name, schema, directory) for path in files])
    if name not in WRITTEN_BY_PARTS or len(files) == 1:
        return table
    merged = added_up(name, table)
    return merged.take(order(merged))


def _checked(path: Path, name: str, schema: pa.Schema, directory: RunDirectory) -> pa.Table:
    """Read one file of a table, with columns ordered and typed like the schema."""
    try:
        table = pq.ParquetFile(path).read().replace_schema_metadata(None)
    except (OSError, pa.ArrowException) as error:
        why = " ".join(str(error).split())
        raise RunUnreadable(f"{path}: cannot be read as Parquet ({why}): {_again(directory)}") from None
    for field in schema:
        if field.name not in table.schema.names:
            raise RunUnreadable(f"{path}: the column {field.name!r} of {name!r} is missing: {_again(directory)}")
        kind = table.schema.field(field.name).type
        if kind != field.type:
            problem = f"the column {field.name!r} of {name!r} is of type {kind}, not {field.type}"
            raise RunUnreadable(f"{path}: {problem}: {_again(directory)}")
    return pa.table({field.name: table[field.name] for field in schema})


def _faults(directory: RunDirectory) -> pa.Table | None:
    files = sorted(directory.events("faults").glob("*.parquet"))
    if not files:
        return None
    return pa.concat_tables([_checked(path, "faults", EVENT_TABLES["faults"], directory) for path in files])


def _again(directory: RunDirectory) -> str:
    return f"run `brokerbench analyse {directory.path}` first"


def _again_if_possible(directory: RunDirectory) -> str:
    """Return the next step if results are missing. Without any events, a new analysis is not possible."""
    if len(missing_events(directory)) < len(EVENT_TABLES) or any(directory.path.glob("streams/*/*")):
        return _again(directory)
    return f"its events are gone too: {RESTORE}"
