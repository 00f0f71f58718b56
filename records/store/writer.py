"""Records the events of a process without slowing it down or ever stopping it.

Rows go into memory (records.store.packing). Every half second they are written to one stream per table
(records.store.streams), so a killed process loses at most its last second. Recording never raises: rows that could not
be written are counted. `Recorder.problem` reports them, and they make the run invalid.
"""

import re
import struct
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import pyarrow as pa

from records.errors import RunUnwritable, explained
from records.store.packing import Buffer, PackedRows, PlainRows, Strings
from records.store.rundir import RunDirectory
from records.store.streams import SUFFIX, BatchSink, StreamFile, StreamSender, described
from records.tables.connection_events import ConnectionEvent
from records.tables.schemas import EVENT_TABLES, PACKED_TABLES, ReceiptRow, SendRow

PAUSE_S = 0.001
"""Pause between flushing two tables. With 0 s, gevent would not check for due messages."""
_BAD_ROW = (struct.error, TypeError, ValueError)

Send = Callable[[str, bytes], None]
"""Passes a table name and whole stream messages to the process that owns the run's folder. May raise OSError."""


@dataclass
class _Table:
    """One table's rows in memory and on disk. ``failed``: a write failed, so nothing more is written."""

    rows: Buffer
    stream: BatchSink
    written: int = 0
    dropped: int = 0
    failed: bool = False


class Recorder:
    """Records the events of one process of a run; each method adds one row to the table of that name.

    ``to`` is the run's folder, or, in a process that does not share it, a function that passes (table, bytes) to a
    process that does (`records.store.streams`); ``run_id`` names the run in that case. Safe from threads and greenlets.
    ``process`` names the process (``worker-1``) and its files. ValueError if it cannot be a file name, RunUnwritable if
    the run already has sealed events of that process.
    """

    def __init__(self, to: RunDirectory | Send, process: str, *, run_id: str = "", flush_every_s: float = 0.5) -> None:
        if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]*", process):
            raise ValueError(f"process name {process!r}: use letters, digits, '.', '_' and '-', as it names a file")
        if isinstance(to, RunDirectory):
            _refuse_if_sealed(to, process)
            run_id = to.run_id
        self.process = process
        self._flush_every_s = flush_every_s
        self._strings = Strings()
        self._packed = {name: PackedRows(EVENT_TABLES[name], self._strings) for name in PACKED_TABLES}
        self._add_send, self._add_receipt = self._packed["sends"].add, self._packed["receipts"].add
        self._plain = {name: PlainRows(schema) for name, schema in EVENT_TABLES.items() if name not in PACKED_TABLES}
        buffers: dict[str, Buffer] = {**self._packed, **self._plain}
        self._tables = {name: _Table(buffers[name], _sink(to, name, process, run_id)) for name in EVENT_TABLES}
        self._first_problem = ""
        self._flushing = threading.Lock()
        self._stopping = threading.Event()
        self._flusher: threading.Thread | None = None
        self._closed = False

    def send(self, row: SendRow) -> None:
        try:
            self._add_send(row)
        except _BAD_ROW as error:
            self._refuse("sends", str(error))

    def receipt(self, row: ReceiptRow) -> None:
        try:
            self._add_receipt(row)
        except _BAD_ROW as error:
            self._refuse("receipts", str(error))

    def number(self, text: str) -> int:
        """Return the number for ``text`` in packed rows of this recorder."""
        return self._strings[text]

    def text(self, number: int) -> str:
        """Return the text with this number in packed rows of this recorder."""
        return self._strings.text(number)

    def packed(self, table: str, rows: bytes) -> None:
        """Add whole rows of ``sends`` or ``receipts``, packed like `records.store.packing.PackedRows`."""
        buffer = self._packed[table]
        if len(rows) % buffer.dtype.itemsize:
            self._refuse(table, f"{len(rows)} bytes are not whole rows of {buffer.dtype.itemsize}")
            return
        buffer.extend(rows)

    def subscription(
        self,
        consumer: int,
        subscription: str,
        destination: str,
        kind: str,
        broker: str,
        began_ns: int,
        selector: str = "",
    ) -> None:
        self._plain["subscriptions"].add((consumer, subscription, destination, kind, broker, began_ns, selector))

    def connection(self, client: int, group: str, protocol: str, event_row: ConnectionEvent) -> None:
        self._plain["connections"].add((client, group, protocol, *event_row))

    def member(self, user: int, connection: int | None, group: str, role: str, user_class: str, from_ns: int) -> None:
        self._plain["members"].add((user, connection, group, role, user_class, from_ns))

    def leftover(
        self,
        broker: str,
        queue: str,
        dead_letter: bool,
        producer: int,
        seq: int,
        attempt: int,
        age_ns: int | None,
        expired: bool = False,
    ) -> None:
        self._plain["leftovers"].add((broker, queue, dead_letter, producer, seq, attempt, age_ns, expired))

    def fault(
        self,
        kind: str,
        target: str,
        began_ns: int,
        ended_ns: int | None,
        error: str | None,
        requested_ns: int | None = None,
        effective_ns: int | None = None,
        restored_ns: int | None = None,
    ) -> None:
        row = (kind, target, began_ns, ended_ns, error, requested_ns, effective_ns, restored_ns)
        self._plain["faults"].add(row)

    def sample(self, broker: str, at_ns: int, kind: str, object: str, metric: str, value: int) -> None:
        self._plain["samples"].add((broker, at_ns, kind, object, metric, value))

    def stall(self, process: int, protocol: str, began_ns: int, ended_ns: int) -> None:
        self._plain["stalls"].add((process, protocol, began_ns, ended_ns))

    @property
    def closed(self) -> bool:
        """Whether a row that comes now would be lost."""
        return self._closed

    def start(self) -> None:
        """Flush in the background from now on: in a daemon thread, which is a greenlet under gevent."""
        self._flusher = threading.Thread(target=self._keep_flushing, name=f"recorder-{self.process}", daemon=True)
        self._flusher.start()

    def flush(self) -> None:
        """Write all rows in memory. Never raises: see `problem`."""
        with self._flushing:
            for name, table in self._tables.items():
                if len(table.rows) and not self._closed:
                    self._flush_table(name, table)
                    time.sleep(PAUSE_S)  # under gevent, messages that are due now are sent before the next table

    def close(self) -> None:
        """Write the remaining rows. Mark each stream as complete, unless rows of it were dropped. May be repeated."""
        self._stopping.set()
        if self._flusher is not None and self._flusher is not threading.current_thread():
            self._flusher.join()
        self.flush()
        with self._flushing:
            self._closed = True
            for table in self._tables.values():
                self._close_table(table)

    @property
    def problem(self) -> str | None:
        """A sentence with the first error, and the number of rows lost by all errors; None without an error."""
        dropped = sum(self.dropped.values())
        if not self._first_problem and not dropped:
            return None
        first_problem = self._first_problem or f"rows reached the recorder of {self.process} after it was closed"
        return f"{first_problem} ({dropped} rows dropped, the rows before them are kept)"

    @property
    def failure(self) -> str | None:
        """A sentence with the first error. It stays the same when more rows are lost."""
        return self._first_problem or None

    @property
    def late_rows(self) -> str | None:
        """A sentence with the number of rows that came after `close`; None if none did."""
        late = sum(self._late.values())
        if not late:
            return None
        return f"{late:,} rows reached the recorder of {self.process} after it was closed: they are missing"

    @property
    def _late(self) -> dict[str, int]:
        return {name: len(table.rows) if self._closed else 0 for name, table in self._tables.items()}

    @property
    def counts(self) -> dict[str, int]:
        """Number of rows safely written, by table."""
        return {name: table.written for name, table in self._tables.items()}

    @property
    def dropped(self) -> dict[str, int]:
        """Number of rows that were recorded and lost, by table."""
        late = self._late
        return {name: table.dropped + late[name] for name, table in self._tables.items()}

    def _keep_flushing(self) -> None:
        while not self._stopping.wait(self._flush_every_s):
            self.flush()

    def _flush_table(self, name: str, table: _Table) -> None:
        batch, misfits = table.rows.take()
        if misfits:
            self._refuse(name, "a value of the wrong type", rows=misfits)
        if table.failed:
            table.dropped += batch.num_rows
            return
        try:
            table.stream.append(batch)
            table.written += batch.num_rows
        except (OSError, pa.ArrowException) as error:
            self._fail(table, error, batch.num_rows)

    def _close_table(self, table: _Table) -> None:
        try:
            table.stream.close(complete=not table.dropped)
        except OSError as error:
            self._fail(table, error, rows=0)

    def _refuse(self, name: str, why: str, rows: int = 1) -> None:
        self._tables[name].dropped += rows
        self._first_problem = self._first_problem or f"{self.process} was given an invalid row of {name}: {why}"

    def _fail(self, table: _Table, error: Exception, rows: int) -> None:
        table.failed = True
        table.dropped += rows
        why, next_step = explained(error)
        self._first_problem = self._first_problem or f"{table.stream.name} cannot be written: {why}; {next_step}"


def _refuse_if_sealed(directory: RunDirectory, process: str) -> None:
    for sealed in (directory.events(table) / f"{process}.parquet" for table in EVENT_TABLES):
        if sealed.exists():
            raise RunUnwritable(f"{sealed}: the events of {process} are already sealed: record to a new run")


def _sink(to: RunDirectory | Send, table: str, process: str, run_id: str) -> BatchSink:
    schema = described(EVENT_TABLES[table], table, process, run_id)
    if isinstance(to, RunDirectory):
        return StreamFile(to.streams(table) / f"{process}{SUFFIX}", schema)
    return StreamSender(table, schema, partial(to, table))
