"""Finds outages that the run's faults were not meant to cause: silent brokers, and lost connections to a broker.

A broker is silent if it confirms and delivers nothing for at least two whole seconds while clients wait for
confirmations, or while messages wait that it delivers later. A silence may last to the end of the load. The analysis
first looks for whole seconds in the small rates table, and then reads events only for these seconds.
"""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import polars as pl
import pyarrow as pa
import pyarrow.compute as pc

from analysis.events.run import by_user
from analysis.events.timeline import FaultSpan
from analysis.faults.outages import reconnections
from analysis.load.flow import PENDING
from records.figures.faults import Unplanned
from records.tables.connection_events import Cause
from records.units import NS_PER_S

LEAST_SECONDS = 2
WAITED_NS = NS_PER_S
"""Minimum waiting time of a client. Shorter waits are normal and do not show an outage."""
MOST_STALLED = 0.5
"""If stalls of the load generator cover a larger share of a silence, the generator may have caused it."""
APART_NS = 5 * NS_PER_S
"""Connection losses at one broker count as separate outages if they are further apart than this."""
SIGNS = ("acked", "received")
MOST_ASKED = 20
"""Maximum number of silences, the longest ones, to check in the events. A slow load has many seconds without events."""


@dataclass(frozen=True)
class Span:
    """A time span in monotonic nanoseconds."""

    from_ns: int
    until_ns: int

    def overlap_ns(self, span: "Span") -> int:
        return max(0, min(self.until_ns, span.until_ns) - max(self.from_ns, span.from_ns))


@dataclass(frozen=True)
class Quiet:
    """A time without any activity of a broker, in whole seconds or exact to the nanosecond.

    ``to_the_end``: it lasted until the load ended, and no activity followed.
    """

    broker: str
    span: Span
    to_the_end: bool = False


def quiet_times(
    rates: pa.Table,
    faults: Sequence[FaultSpan],
    stalls: Sequence[Sequence[Span]],
    load: Span,
    brokers: Collection[str] = (),
) -> list[Quiet]:
    """Return idle seconds of brokers that no fault or stall explains: at most the MOST_ASKED longest ones.

    ``rates``: the result table. ``stalls``: stalls of each load generator process. ``brokers``: the brokers that
    clients use, including brokers without any activity.
    """
    planned = _planned(faults)
    unexplained = []
    for empty in sorted(empty_seconds(rates, load, brokers), key=lambda empty: -len(empty.seconds))[:MOST_ASKED]:
        until_ns = load.until_ns if empty.to_the_end else load.from_ns + empty.seconds.stop * NS_PER_S
        around = Span(load.from_ns + empty.seconds.start * NS_PER_S, until_ns)
        if not any(around.overlap_ns(span) for span in planned) and not _stalled(around, stalls):
            unexplained.append(Quiet(empty.broker, around, empty.to_the_end))
    return unexplained


def _planned(faults: Sequence[FaultSpan]) -> list[Span]:
    return [Span(fault.began_ns, fault.until_ns) for fault in faults if fault.traits.explains_outages]


def silences(quiet: Sequence[Quiet], waiting: pl.DataFrame) -> list["Silence"]:
    """Return the quiet times with waiting clients. ``waiting``: rows with quiet time number, role and client.

    A broker that only delivered late is not named if another broker kept producers waiting at the same time.
    """
    counts = dict(
        ((number, role), clients)
        for number, role, clients in waiting.group_by("number", "role").agg(pl.col("client").n_unique()).iter_rows()
    )
    possible = [
        Silence(
            quiet_time.broker,
            quiet_time.span,
            counts.get((number, "producer"), 0),
            counts.get((number, "consumer"), 0),
            quiet_time.to_the_end,
        )
        for number, quiet_time in enumerate(quiet)
    ]
    of_senders = [silence.span for silence in possible if silence.producers]
    named = [
        silence
        for silence in possible
        if silence.producers or not any(silence.span.overlap_ns(span) for span in of_senders)
    ]
    return [silence for silence in named if silence.producers or silence.consumers]


def unplanned(
    silences: Sequence["Silence"],
    connections: pl.DataFrame,
    members: pl.DataFrame,
    faults: Sequence[FaultSpan],
    load: Span,
) -> list[Unplanned]:
    """Return silences and lost connections, sorted by start time."""
    losses = _losses(connections, members, _planned(faults), load)
    return sorted([*(silence.as_unplanned(load) for silence in silences), *losses], key=lambda outage: outage["from_s"])


@dataclass(frozen=True)
class Empty:
    """Consecutive seconds without any activity of a broker. ``to_the_end``: no activity followed."""

    broker: str
    seconds: range
    to_the_end: bool


def empty_seconds(rates: pa.Table, load: Span, brokers: Collection[str] = ()) -> Iterator[Empty]:
    """Return at least LEAST_SECONDS idle seconds of the load between two active seconds, or after the last one.

    For a broker in ``brokers`` without any activity, this is the whole load.
    """
    signs = rates.filter(pc.is_in(rates["event"], pa.array(SIGNS)))
    ends_s = (load.until_ns - load.from_ns) // NS_PER_S
    for broker in sorted({*signs["broker"].to_pylist(), *brokers} - {""}):
        seconds = sorted(set(signs.filter(pc.equal(signs["broker"], broker))["second"].to_pylist()))
        for before, after in pairwise([*(seconds or [-1]), None]):
            assert before is not None
            until = ends_s if after is None else after
            if len(range(max(before + 1, 0), min(until, ends_s))) >= LEAST_SECONDS:
                yield Empty(broker, range(before + 1, until), after is None)


def _stalled(around: Span, stalls: Sequence[Sequence[Span]]) -> bool:
    """Return whether one process stalled for most of that time.

    Each protocol of the process may have reported the stall.
    """
    return any(
        _covered_ns(around, process_stalls) > MOST_STALLED * (around.until_ns - around.from_ns)
        for process_stalls in stalls
    )


def _covered_ns(around: Span, stalls: Sequence[Span]) -> int:
    covered, until_ns = 0, around.from_ns
    for stall in sorted(stalls, key=lambda stall: stall.from_ns):
        covered += around.overlap_ns(Span(max(stall.from_ns, until_ns), stall.until_ns))
        until_ns = max(until_ns, stall.until_ns)
    return covered


@dataclass(frozen=True)
class Silence:
    """A period of broker silence while clients waited.

    ``producers``: number of producers without an answer to their messages. ``consumers``: number of consumers that got
    late messages after it, or no messages until the end.
    """

    broker: str
    span: Span
    producers: int
    consumers: int
    to_the_end: bool = False

    def as_unplanned(self, load: Span) -> Unplanned:
        until_ns = None if self.to_the_end else self.span.until_ns
        return _unplanned("silent", self.broker, self.span.from_ns, until_ns, self.producers + self.consumers, load)


def bounds(quiet: Sequence[Quiet], sends: pl.DataFrame, deliveries: pl.DataFrame) -> pl.DataFrame:
    """Return last_ns and first_ns by quiet time number: the last activity before and the first after the idle seconds.

    Null if the given events contain none.
    """
    at_ns = pl.col("at_ns")
    acked = sends.filter(pl.col("outcome") == "acked").select("broker", pl.col("settled_ns").alias("at_ns"))
    received = deliveries.select(pl.col("to_broker").alias("broker"), pl.col("received_ns").alias("at_ns"))
    signs = pl.concat([acked, received])
    return pl.concat(
        signs.filter(pl.col("broker") == quiet_time.broker).select(
            pl.lit(number, pl.Int32).alias("number"),
            at_ns.filter(at_ns < quiet_time.span.from_ns).max().alias("last_ns"),
            at_ns.filter(at_ns >= quiet_time.span.until_ns).min().alias("first_ns"),
        )
        for number, quiet_time in enumerate(quiet)
    )


def refine_bounds(quiet: Sequence[Quiet], bounds: pl.DataFrame) -> list[Quiet]:
    """Set exact bounds where they are known. Foreign messages are activity without a delivery: seconds stay whole."""
    signs = {number: (last_ns, first_ns) for number, last_ns, first_ns in bounds.iter_rows()}

    def exactly(quiet_time: Quiet, last_ns: int | None, first_ns: int | None) -> Quiet:
        from_ns = quiet_time.span.from_ns if last_ns is None else last_ns
        until_ns = quiet_time.span.until_ns if first_ns is None else first_ns
        return replace(quiet_time, span=Span(from_ns, until_ns))

    return [exactly(quiet_time, *signs[number]) for number, quiet_time in enumerate(quiet)]


def waiting(quiet: Sequence[Quiet], sends: pl.DataFrame, deliveries: pl.DataFrame) -> pl.DataFrame:
    """Return one row per quiet time number, role and client that waited.

    These are producers without an answer to their messages, and consumers that got late messages after the quiet time.
    """

    def of_each() -> Iterator[pl.DataFrame]:
        for number, quiet_time in enumerate(quiet):
            span = quiet_time.span
            written = pl.col("sent_ns").is_between(span.from_ns - NS_PER_S, span.until_ns - WAITED_NS)
            answered_later = pl.col("settled_ns").is_null() | (pl.col("settled_ns") >= span.until_ns)
            at_it = (pl.col("broker") == quiet_time.broker) & (pl.col("outcome") != "unconfirmed")
            soon_after = pl.col("received_ns").is_between(span.until_ns, span.until_ns + NS_PER_S)
            late = (pl.col("to_broker") == quiet_time.broker) & (pl.col("due_ns") <= span.until_ns - WAITED_NS)
            for role, frame in (
                ("producer", sends.filter(at_it & written & answered_later)),
                ("consumer", deliveries.filter(late & soon_after)),
            ):
                columns = pl.lit(number, pl.Int32).alias("number"), pl.lit(role).alias("role")
                yield frame.select(*columns, pl.col(role).alias("client")).unique()

    return pl.concat(of_each())


def undelivered(quiet: Sequence[Quiet], outcomes: pl.DataFrame) -> pl.DataFrame:
    """Return one row per quiet time number and destination with messages that were owed but never received.

    Only silences that lasted to the end of the load count, and messages that were due in them.
    """
    waited = pl.col("message_outcome").is_in(PENDING)
    of_each = [
        outcomes.filter(
            waited & pl.col("due_ns").is_between(quiet_time.span.from_ns, quiet_time.span.until_ns - WAITED_NS)
        ).select(pl.lit(number, pl.Int32).alias("number"), "destination")
        for number, quiet_time in enumerate(quiet)
        if quiet_time.to_the_end
    ]
    return pl.concat([outcomes.select(pl.lit(0, pl.Int32).alias("number"), "destination").clear(), *of_each]).unique()


def waiting_to_the_end(
    quiet: Sequence[Quiet],
    undelivered: pl.DataFrame,
    connections: pl.DataFrame,
    members: pl.DataFrame,
    subscriptions: pl.DataFrame,
) -> pl.DataFrame:
    """Return rows like `waiting`: consumers connected to a silent broker while undelivered messages were due."""

    def of_each() -> Iterator[pl.DataFrame]:
        yield pl.DataFrame(schema={"number": pl.Int32, "role": pl.String, "client": subscriptions.schema["consumer"]})
        for number, quiet_time in enumerate(quiet):
            until = pl.col("at_ns") <= quiet_time.span.until_ns
            changes = connections.filter(until & pl.col("event").is_in(["connected", "moved", "lost", "closed"]))
            last = changes.sort("at_ns", maintain_order=True).group_by("client").last()
            there = last.filter((pl.col("broker") == quiet_time.broker) & pl.col("event").is_in(["connected", "moved"]))
            destinations = undelivered.filter(pl.col("number") == number)["destination"]
            waited = subscriptions.filter(pl.col("destination").is_in(destinations.implode()))
            users = by_user(there.select("client"), members)["user"]
            yield (
                waited.filter(pl.col("consumer").is_in(users.implode()))
                .select(
                    pl.lit(number, pl.Int32).alias("number"),
                    pl.lit("consumer").alias("role"),
                    pl.col("consumer").alias("client"),
                )
                .unique()
            )

    return pl.concat(of_each())


def _losses(
    connections: pl.DataFrame, members: pl.DataFrame, planned: Sequence[Span], load: Span
) -> Iterator[Unplanned]:
    """Return losses of connections outside all faults, until the last of these clients reconnected.

    Users that share a connection count separately.
    """
    at_ns = pl.col("at_ns")
    redirected = pl.col("cause").eq_missing(pl.lit(Cause.REDIRECT.value))
    lost = connections.filter((pl.col("event") == "lost") & ~redirected & at_ns.is_between(load.from_ns, load.until_ns))
    for span in planned:
        lost = lost.filter(~at_ns.is_between(span.from_ns, span.until_ns))
    begins = (at_ns - at_ns.shift(1).over("broker") > APART_NS).fill_null(False)
    losses = (
        lost.sort("at_ns")
        .with_columns(begins.cast(pl.Int32).alias("begins"))
        .select(
            "client",
            pl.col("broker").alias("left_broker"),
            pl.col("begins").cum_sum().over("broker").alias("number"),
            at_ns.alias("lost_ns"),
        )
    )
    connected_ns = pl.col("connected_ns")
    outages = (
        by_user(reconnections(connections, losses), members)
        .group_by("left_broker", "number")
        .agg(
            pl.min("lost_ns").alias("from_ns"),
            pl.when(connected_ns.null_count() == 0).then(connected_ns.max()).alias("until_ns"),
            pl.col("user").n_unique().alias("clients"),
        )
        .sort("from_ns", "left_broker")
    )
    for broker, _, from_ns, until_ns, clients in outages.iter_rows():
        yield _unplanned("lost connections", broker or "", from_ns, until_ns, clients, load)


def _unplanned(kind: str, broker: str, from_ns: int, until_ns: int | None, clients: int, load: Span) -> Unplanned:
    return Unplanned(
        broker=broker,
        what=kind,
        from_s=(from_ns - load.from_ns) / NS_PER_S,
        until_s=None if until_ns is None else (until_ns - load.from_ns) / NS_PER_S,
        clients=clients,
    )
