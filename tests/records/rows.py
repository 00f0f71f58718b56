"""Rows for the tests in this folder: arbitrary valid rows of a table, and simple rows that show their position."""

from pathlib import Path
from typing import Any

import pyarrow as pa
from hypothesis import strategies as st

from records.store.rundir import RunDirectory
from records.store.writer import Recorder
from records.tables.connection_events import ConnectionEvent
from records.tables.schemas import EVENT_TABLES, PACKED_TABLES
from tests.support.event_rows import send_row

Row = tuple[Any, ...]

# Least integers stand for null in packed rows; no clock or counter reaches them.
_VALUES = {
    pa.int32(): st.integers(-(2**31) + 1, 2**31 - 1),
    pa.int64(): st.integers(-(2**63) + 1, 2**63 - 1),
    pa.bool_(): st.booleans(),
    pa.string(): st.text(max_size=20),
}


def any_row(table: str) -> st.SearchStrategy[Row]:
    columns = [
        _VALUES[field.type] | st.none() if field.nullable else _VALUES[field.type] for field in EVENT_TABLES[table]
    ]
    return st.tuples(*columns)


any_event = st.sampled_from(sorted(EVENT_TABLES)).flatmap(lambda table: st.tuples(st.just(table), any_row(table)))


def record(recorder: Recorder, table: str, row: Row) -> None:
    if table == "connections":
        recorder.connection(*row[:3], ConnectionEvent(*row[3:]))
    elif table in PACKED_TABLES:
        getattr(recorder, table.removesuffix("s"))(PACKED_TABLES[table](*row))
    else:
        getattr(recorder, table.removesuffix("s"))(*row)


def send(recorder: Recorder, seq: int) -> None:
    recorder.send(send_row(seq, seq * 10, sent_ns=seq * 10 + 1, settled_ns=None, outcome="in_doubt"))


def new_run(parent: Path) -> RunDirectory:
    return RunDirectory.create(parent, "run")
