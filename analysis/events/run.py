"""A run as its analysis sees it: what is known of the whole, in the process that leads.

Tables with few rows are read whole, with their times on the master's clock. Sends, receipts and leftovers are as many
as the messages: a topic has only merged tables of them (`records.merged_tables`), whose rows every part computes.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Protocol

import polars as pl
import pyarrow as pa

from analysis.events.clocks import error_bound_ns, on_the_masters_clock
from analysis.events.routes import Routes
from analysis.events.stalls import Stalls, stall_rows, stalls
from analysis.events.timeline import FaultSpan, FaultWindow, Timeline, fault_spans
from records.reader import Sealing, read_events
from records.run import RunInfo
from records.rundir import RunDirectory

Rows = list[dict[str, Any]]
RowsOfPart = Callable[[Any], pl.DataFrame]
"""Computes the rows of a merged table, of a `analysis.messages.part.Part`. A function of a module, or a partial of one:
it is sent to other processes."""
MergedTables = Mapping[str, pl.DataFrame]
Compute = Callable[[str, Mapping[str, RowsOfPart]], MergedTables]


@dataclass(frozen=True)
class Run:
    """``compute``: computes merged tables by one pass over all parts; Spark's UI shows its first argument, the purpose.

    ``sealing``: what is recorded.
    """

    directory: RunDirectory
    info: RunInfo
    sealing: Sealing
    parts: int
    compute: Compute = field(repr=False)

    @cached_property
    def subscriptions(self) -> pl.DataFrame:
        """By the destinations that messages were sent to, where names differ: see `analysis.events.routes`."""
        return self.routes.of_subscriptions(self._events("subscriptions", "consumer", "began_ns"))

    @cached_property
    def routes(self) -> Routes:
        """Which consumers are owed the messages to which destinations, by their names."""
        return Routes.of(self.info.routes)

    @cached_property
    def connections(self) -> pl.DataFrame:
        return self._events("connections", "client", "at_ns", "ended_ns")

    @cached_property
    def members(self) -> pl.DataFrame:
        return self._events("members", "user", "from_ns")

    @cached_property
    def samples(self) -> pl.DataFrame:
        return _frame(read_events(self.directory, "samples"))

    @cached_property
    def shared_queues(self) -> tuple[str, ...]:
        """The queues of the run from which other clients consumed too."""
        is_other = (pl.col("kind") == "queue") & (pl.col("metric") == "other_consumers") & (pl.col("value") > 0)
        return tuple(self.samples.filter(is_other)["object"].unique().sort().to_list())

    @cached_property
    def fault_rows(self) -> Rows:
        rows: Rows = read_events(self.directory, "faults").to_pylist()
        return rows

    @cached_property
    def faults(self) -> tuple[FaultSpan, ...]:
        """Those that had an effect."""
        return fault_spans(self.fault_rows)

    @cached_property
    def stall_rows(self) -> Rows:
        return stall_rows(self.directory, self.info)

    @cached_property
    def stalls(self) -> Stalls:
        return stalls(self.stall_rows, self.info)

    @cached_property
    def clock_error_ns(self) -> int:
        return error_bound_ns(self.info.processes)

    @cached_property
    def timeline(self) -> Timeline:
        windows = (
            FaultWindow(fault["began_ns"], fault["ended_ns"] if fault["restored_ns"] is None else fault["restored_ns"])
            for fault in self.fault_rows
            if fault["error"] is None
        )  # until the broker served again where that was measured, else until the mending
        return Timeline.from_phases(self.info.phases, self._first_event_ns, windows)

    @property
    def load_began_ns(self) -> int:
        return self.timeline.load_began_ns

    @cached_property
    def load_ended_ns(self) -> int:
        """Of a run that was killed under load: the last send or change of a connection."""
        if self.timeline.load_ended_ns is not None:
            return self.timeline.load_ended_ns
        times_ns = (self._sends("sent_ns").max(), self.connections["at_ns"].max())
        return max(self.load_began_ns, *(int(time_ns) for time_ns in times_ns if time_ns is not None))  # type: ignore[arg-type]

    @cached_property
    def _first_event_ns(self) -> int:
        """Asked of the events only if run.json does not tell when the run began."""
        phases = self.info.phases
        if phases.load_began_ns is not None or phases.warm_up_began_ns is not None:
            return 0
        first_ns = self._sends("due_ns").min()
        return 0 if first_ns is None else int(first_ns)  # type: ignore[arg-type]

    def _sends(self, time: str) -> pl.Series:
        times = _frame(read_events(self.directory, "sends", ["producer", time]))
        return on_the_masters_clock(times, "producer", [time], self.info.processes)[time]

    def _events(self, table: str, client: str, *times: str) -> pl.DataFrame:
        rows = _frame(read_events(self.directory, table))
        return on_the_masters_clock(rows, client, times, self.info.processes)


def by_user(events: pl.DataFrame, members: pl.DataFrame) -> pl.DataFrame:
    """Rows of a ``client``, each once for every ``user`` of its connection. ``members``: who has which connection.

    A client without members is its own user: the connection of a single message, or of a run from before ``members``.
    """
    shared = members.filter(pl.col("connection").is_not_null()).select(pl.col("connection").alias("client"), "user")
    return events.join(shared, "client", how="left").with_columns(pl.coalesce("user", "client").alias("user"))


@dataclass
class Results:
    """What the topics have found so far.

    ``tables``: the result tables except those of WRITTEN_BY_PARTS, some with columns that no file has. ``summary``:
    parts of summary.json by their names. The rest is what later topics need and no file holds: of each its own topic
    says what it is.
    """

    tables: dict[str, pa.Table] = field(default_factory=dict)
    summary: dict[str, Any] = field(default_factory=dict)
    latency_by_second: pa.Table = field(default_factory=lambda: pa.table({}))
    latency_in_load: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    latency_of_labels: Mapping[str, tuple[Any, Any]] = field(default_factory=dict)
    p99_ns: Mapping[int, int] = field(default_factory=dict)
    copies: float = 1.0
    late: pl.DataFrame = field(default_factory=pl.DataFrame)
    all_expired: bool = True
    unsearched: tuple[str, ...] = ()
    ended_early: Sequence[str] = ()
    unexplained: tuple[str, ...] = ()
    foreign: str = ""
    doubts: Mapping[str, str] = field(default_factory=dict)
    backlog_cause: str = ""


class Topic(Protocol):
    """A part of the analysis that can be read, and run, by itself.

    ``step``: what a user reads once it is done. ``tables``: the tables that the topic needs of all parts, merged or
    written by the parts (`records.results.WRITTEN_BY_PARTS`); those of all topics are computed together. ``conclude``:
    makes result tables and parts of the summary of merged tables and of what was found before, and may compute more.
    """

    step: str

    def tables(self, run: Run) -> dict[str, RowsOfPart]: ...

    def conclude(self, run: Run, merged: MergedTables, results: Results) -> None: ...


def as_table(frame: pl.DataFrame) -> pa.Table:
    """The same rows as Arrow has them in the files of a run."""
    table = frame.to_arrow(compat_level=pl.CompatLevel.oldest())
    fields = [pa.field(column.name, _plain(column.type)) for column in table.schema]
    return table.cast(pa.schema(fields))


def _plain(kind: pa.DataType) -> pa.DataType:
    is_text = pa.types.is_large_string(kind) or pa.types.is_dictionary(kind)
    return pa.string() if is_text else kind


def _frame(table: pa.Table) -> pl.DataFrame:
    frame = pl.from_arrow(table)
    assert isinstance(frame, pl.DataFrame)
    return frame
