"""Defines what a topic of the analysis receives (`Run`, `TopicResults`) and must provide (`Topic`).

Small tables are read whole, with times on the master's clock. Sends, receipts and leftovers are as large as the number
of messages, so topics only use merged tables of them (`records.tables.merged_tables`), whose rows every part computes.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any, Protocol

import polars as pl
import pyarrow as pa

from analysis.events.clocks import error_bound_ns, on_the_masters_clock
from analysis.events.routes import Routes
from analysis.events.stalls import Stalls, stall_rows, stalls
from analysis.events.timeline import FaultSpan, FaultWindow, Timeline, fault_spans
from analysis.latency.seconds import NO_LATENCIES, LatencyBySecond
from records.run import RunInfo
from records.store.reader import Sealing, open_below, read_files
from records.store.rundir import RunDirectory

Rows = list[dict[str, Any]]
RowsOfPart = Callable[[Any], pl.DataFrame]
"""Computes the rows of a merged table from an `analysis.messages.part.Part`. Must be a module-level function or a
partial of a module-level function, because it is sent to other processes."""
MergedTables = Mapping[str, pl.DataFrame]
Compute = Callable[[str, Mapping[str, RowsOfPart]], MergedTables]


@dataclass(frozen=True)
class Run:
    """A run with its small tables.

    ``compute``: computes merged tables in one pass over all parts. Its first argument is a purpose for Spark's UI.

    ``sealing``: the recorded events.
    """

    directory: RunDirectory
    info: RunInfo
    sealing: Sealing
    parts: int
    compute: Compute = field(repr=False)

    @cached_property
    def subscriptions(self) -> pl.DataFrame:
        """Subscriptions, labeled with the destinations that messages were sent to: see `analysis.events.routes`."""
        return self.routes.relabel_subscriptions(self._events("subscriptions", "consumer", "began_ns"))

    @cached_property
    def first_stays(self) -> dict[int, int]:
        """The first user number of each durable subscriber that came back, by the numbers of its later stays."""
        return first_stays(self.subscriptions)

    @cached_property
    def routes(self) -> Routes:
        """Routes from producers' destinations to the consumers that are owed their messages."""
        return Routes.of(self.info.routes)

    @cached_property
    def connections(self) -> pl.DataFrame:
        return self._events("connections", "client", "at_ns", "ended_ns")

    @cached_property
    def members(self) -> pl.DataFrame:
        return self._events("members", "user", "from_ns")

    @cached_property
    def samples(self) -> pl.DataFrame:
        return _frame(self._read("samples"))

    @cached_property
    def shared_queues(self) -> tuple[str, ...]:
        """Queues of the run that other clients also consumed."""
        is_other = (pl.col("kind") == "queue") & (pl.col("metric") == "other_consumers") & (pl.col("value") > 0)
        return tuple(self.samples.filter(is_other)["object"].unique().sort().to_list())

    @cached_property
    def fault_rows(self) -> Rows:
        rows: Rows = self._read("faults").to_pylist()
        return rows

    @cached_property
    def faults(self) -> tuple[FaultSpan, ...]:
        """Faults that had an effect."""
        return fault_spans(self.fault_rows)

    @cached_property
    def stall_rows(self) -> Rows:
        return stall_rows(self._read("stalls"), self.info)

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
        )  # until the broker served clients again, if that was measured, or else until mending began
        return Timeline.from_phases(self.info.phases, self._first_event_ns, windows)

    @property
    def load_began_ns(self) -> int:
        return self.timeline.load_began_ns

    @cached_property
    def load_ended_ns(self) -> int:
        """End of the load. For a run that was killed under load: its last send or connection event."""
        if self.timeline.load_ended_ns is not None:
            return self.timeline.load_ended_ns
        times_ns = (self._sends("sent_ns").max(), self.connections["at_ns"].max())
        return max(self.load_began_ns, *(int(time_ns) for time_ns in times_ns if time_ns is not None))  # type: ignore[arg-type]

    @cached_property
    def _first_event_ns(self) -> int:
        """Time of the first event. Only computed if run.json has no start time."""
        phases = self.info.phases
        if phases.load_began_ns is not None or phases.warm_up_began_ns is not None:
            return 0
        first_ns = self._sends("due_ns").min()
        return 0 if first_ns is None else int(first_ns)  # type: ignore[arg-type]

    def _sends(self, time: str) -> pl.Series:
        times = _frame(self._read("sends", ["producer", time]))
        return on_the_masters_clock(times, "producer", [time], self.info.processes)[time]

    def _read(self, table: str, columns: Sequence[str] | None = None) -> pa.Table:
        open_file = partial(open_below, self.directory.events_path)
        return read_files(open_file, self.sealing.files[table], table, columns).rows

    def _events(self, table: str, client: str, *times: str) -> pl.DataFrame:
        rows = _frame(self._read(table))
        return on_the_masters_clock(rows, client, times, self.info.processes)


def by_user(events: pl.DataFrame, members: pl.DataFrame) -> pl.DataFrame:
    """Repeat the rows of each ``client`` for every ``user`` on the connection. ``members``: users of each connection.

    A client without members is its own user: a connection for a single message, or a run older than ``members``.
    """
    shared = members.filter(pl.col("connection").is_not_null()).select(pl.col("connection").alias("client"), "user")
    return events.join(shared, "client", how="left").with_columns(pl.coalesce("user", "client").alias("user"))


def first_stays(subscriptions: pl.DataFrame) -> dict[int, int]:
    """Map the consumer of each later stay of a durable subscriber to that of its first, by the subscription's name."""
    durable = subscriptions.filter(pl.col("kind") == "durable_topic")
    first = pl.col("consumer").min().over("subscription").alias("first")
    later = durable.select("consumer", first).unique().filter(pl.col("consumer") != pl.col("first"))
    return dict(later.sort("consumer").iter_rows())


@dataclass
class TopicResults:
    """Results of the topics that have already run.

    ``tables``: the result tables except WRITTEN_BY_PARTS, some with columns that are not written to files.
    ``summary``: parts of summary.json by name. The other fields are values that later topics need and that are in no
    file. The docstring of the topic that sets a field describes it.
    """

    tables: dict[str, pa.Table] = field(default_factory=dict)
    summary: dict[str, Any] = field(default_factory=dict)
    latency_by_second: LatencyBySecond = NO_LATENCIES
    impossible: Mapping[str, int] = field(default_factory=dict)
    latency_in_load: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    latency_of_labels: Mapping[str, tuple[Any, Any]] = field(default_factory=dict)
    clients_at_faults: Mapping[int, int] = field(default_factory=dict)
    p99_ns: Mapping[int, int] = field(default_factory=dict)
    copies: float = 1.0
    late: pl.DataFrame = field(default_factory=pl.DataFrame)
    unsearched: tuple[str, ...] = ()
    ended_early: Sequence[str] = ()
    unexplained: tuple[str, ...] = ()
    foreign: str = ""
    doubts: Mapping[str, str] = field(default_factory=dict)
    backlog_cause: str = ""


class Topic(Protocol):
    """A part of the analysis that can be read and run separately.

    ``step``: the progress message shown once the topic is done. ``tables``: the tables that the topic needs from all
    parts, merged or written by the parts (`records.tables.results.WRITTEN_BY_PARTS`); the tables of all topics are
    computed together. ``conclude``: creates result tables and parts of the summary from the merged tables and the
    results of earlier topics, and may compute more tables.
    """

    step: str

    def tables(self, run: Run) -> dict[str, RowsOfPart]: ...

    def conclude(self, run: Run, merged: MergedTables, results: TopicResults) -> None: ...


def as_table(frame: pl.DataFrame) -> pa.Table:
    """Convert a frame to the Arrow types that the files of a run use."""
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
