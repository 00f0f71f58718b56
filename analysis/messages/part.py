"""A part of a run: all events of some of its messages and clients, and the tables derived from them.

A Spark task processes one part at a time. Each table is computed once, on first use.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from pathlib import Path

import polars as pl

from analysis.events.clocks import on_the_masters_clock
from analysis.events.routes import Routes
from analysis.events.run import Run
from analysis.events.stalls import Stalls, with_own_waits
from analysis.events.timeline import FaultSpan, Timeline
from analysis.messages import deliveries, outcomes
from analysis.messages.deliveries import MESSAGE, OUTCOME, messages
from analysis.messages.expectations import Expectations
from records.run import ProcessInfo
from records.store.parts import PARTED
from records.store.reader import OpenFile, ReadRows, open_below, read_files, read_part
from records.store.seal import ChangedGroup
from records.units import NS_PER_S


@dataclass(frozen=True)
class RunFacts:
    """Run-level facts that every part receives.

    ``events``: the folder of the event files; Spark tasks get the file contents from Spark instead. ``files``: event
    file names relative to ``events``, by table. ``durable``: the result of `outcomes.durable_queues`. ``replies``:
    destinations whose messages are replies. ``closed``: whether messages had no due times; the due time of an event
    then is the time at which its message could be sent. ``first_stays``: as in `analysis.events.run.Run`.
    """

    events: Path
    files: Mapping[str, tuple[str, ...]]
    parts: int
    processes: tuple[ProcessInfo, ...]
    timeline: Timeline
    load_ended_ns: int
    faults: tuple[FaultSpan, ...]
    clock_error_ns: int
    stalls: Stalls
    subscriptions: pl.DataFrame
    first_stays: Mapping[int, int]
    absences: pl.DataFrame
    routes: Routes
    expectations: Expectations
    durable: dict[str, str]
    replies: tuple[str, ...]
    search: outcomes.Search
    closed: bool

    @classmethod
    def from_run(cls, run: Run) -> "RunFacts":
        held = run.subscriptions
        durable = durable_queues(run)
        return cls(
            events=run.directory.events_path.resolve(),
            files=run.sealing.files,
            parts=run.parts,
            processes=run.info.processes,
            timeline=run.timeline,
            load_ended_ns=run.load_ended_ns,
            faults=run.faults,
            clock_error_ns=run.clock_error_ns,
            stalls=run.stalls,
            subscriptions=held,
            first_stays=run.first_stays,
            absences=pl.concat([outcomes.absences(run.connections, run.members), _departures(run)]),
            routes=run.routes,
            expectations=Expectations.from_run(run.info, _selectors(held)),
            durable=durable,
            replies=tuple(destination for user in run.info.users for destination in user.replies_to),
            search=search_of(run, durable),
            closed=run.info.is_closed,
        )


def durable_queues(run: Run) -> dict[str, str]:
    """Return the durable subscription of a run by the queue name of its leftovers."""
    queues = {name.removeprefix(outcomes.QUEUE_PREFIX) for name in run.info.destinations}
    return outcomes.durable_queues(run.subscriptions, run.members, queues)


def search_of(run: Run, durable: Mapping[str, str]) -> outcomes.Search:
    """Return where the run was searched. ``durable``: from `durable_queues`."""
    everywhere = not run.info.unsearched and durable.keys() >= run.info.unread.keys()
    unread = {durable[queue] for queue in run.info.unread if queue in durable}
    return outcomes.Search(everywhere, run.shared_queues, tuple(sorted(unread)))


def _departures(run: Run) -> pl.DataFrame:
    began_ns = run.timeline.load_began_ns
    leaves_ns = {
        user.name: began_ns + round(user.leaves_s * NS_PER_S) for user in run.info.users if user.leaves_s is not None
    }
    return outcomes.departures(run.connections, run.members, leaves_ns, run.timeline.load_ended_ns)


@dataclass(frozen=True)
class Part:
    """A part of a run. ``open_file``: opens the part's event files; None: open them in the run's folder."""

    run: RunFacts
    number: int
    open_file: OpenFile | None = None
    _computed: "dict[Callable[[Part], pl.DataFrame], pl.DataFrame]" = field(default_factory=dict, init=False)
    _left_out: list[ChangedGroup] = field(default_factory=list, init=False)

    def compute_once(self, compute: "Callable[[Part], pl.DataFrame]") -> pl.DataFrame:
        """Return the result of ``compute`` for this part. Each function is called once."""
        if compute not in self._computed:
            self._computed[compute] = compute(self)
        return self._computed[compute]

    @cached_property
    def sends(self) -> pl.DataFrame:
        """Sends, with ready_ns corrected by `analysis.events.stalls`."""
        times = ("due_ns", "ready_ns", "sent_ns", "settled_ns")
        rows = self._read("sends").with_columns(pl.col("outcome").cast(OUTCOME))
        return with_own_waits(on_the_masters_clock(rows, "producer", times, self.run.processes), self.run.stalls)

    @cached_property
    def receipts(self) -> pl.DataFrame:
        """Receipts, with the destinations that their messages were sent to."""
        rows = on_the_masters_clock(self._read("receipts"), "consumer", ("received_ns",), self.run.processes)
        routes = self.run.routes
        return rows if routes.are_equal_names else routes.relabel_receipts(rows, self.messages)

    @cached_property
    def leftovers(self) -> pl.DataFrame:
        return self._read("leftovers")

    @cached_property
    def messages(self) -> pl.DataFrame:
        return messages(self.sends)

    @cached_property
    def deliveries(self) -> pl.DataFrame:
        """Deliveries, with the columns of `Expectations.with_late_and_unselected`."""
        marked = deliveries.deliveries(self.receipts, self.messages, self.sends)
        return self.run.expectations.with_late_and_unselected(marked, self.run.subscriptions)

    @cached_property
    def connections(self) -> pl.DataFrame:
        """All connection events of the clients in this part."""
        in_part = pl.col("client") % self.run.parts == self.number
        return self._clients_events("connections", in_part, "client", "at_ns", "ended_ns")

    @cached_property
    def members(self) -> pl.DataFrame:
        """The connection of each user, of all clients."""
        return self._clients_events("members", pl.lit(True), "user", "from_ns")

    @cached_property
    def firsts(self) -> pl.DataFrame:
        return deliveries.first(self.deliveries)

    def narrowed(self, messages: pl.DataFrame) -> "Part":
        """Return the same part with only some messages."""
        few = replace(self)
        for table in ("sends", "receipts"):
            few.__dict__[table] = getattr(self, table).join(messages, MESSAGE, how="semi")
        return few

    @cached_property
    def strangers(self) -> pl.DataFrame:
        return deliveries.strangers(self.receipts)

    @cached_property
    def expected(self) -> pl.DataFrame:
        facts = self.run
        return outcomes.expected(self.messages, facts.subscriptions, facts.absences, facts.expectations, facts.routes)

    @cached_property
    def outcomes(self) -> pl.DataFrame:
        places = outcomes.leftover_places(self.leftovers, self.run.durable, self.run.routes.queues)
        return outcomes.message_outcomes(self.expected, self.firsts, places, self.run.search)

    @property
    def left_out(self) -> list[ChangedGroup]:
        """Row groups of this part that changed after they were sealed."""
        for table in PARTED:
            self.__getattribute__(table)
        return self._left_out

    def _read(self, table: str) -> pl.DataFrame:
        read = self.read(table, self.run.files[table])
        self._left_out.extend(read.left_out)
        frame = pl.from_arrow(read.rows)
        assert isinstance(frame, pl.DataFrame)
        return frame

    def read(self, table: str, files: Sequence[str]) -> ReadRows:
        """Read the rows of this part from some files of a table."""
        return read_part(self._open, files, table, self.number, self.run.parts)

    def _clients_events(self, table: str, condition: pl.Expr, client: str, *times: str) -> pl.DataFrame:
        frame = pl.from_arrow(read_files(self._open, self.run.files[table], table).rows)
        assert isinstance(frame, pl.DataFrame)
        return on_the_masters_clock(frame.filter(condition), client, times, self.run.processes)

    @property
    def _open(self) -> OpenFile:
        return self.open_file or partial(open_below, self.run.events)


def _selectors(subscriptions: pl.DataFrame) -> Iterator[tuple[str, str, str]]:
    """Yield (destination, queue, selector) of each consumer; queue is empty for a topic."""
    for row in subscriptions.select("destination", "subscription", "kind", "selector").iter_rows(named=True):
        yield row["destination"], row["subscription"] if row["kind"] == "queue" else "", row["selector"]
