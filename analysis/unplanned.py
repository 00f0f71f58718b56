"""Finds outages that no fault of the run was meant to bring about: silent brokers, and connections lost to a broker.

A broker is silent if it confirms and delivers nothing for two whole seconds or more, while clients wait for what they
sent, or messages wait that it delivers later. Whole seconds are looked for in the small table of rates first. Events
are asked only about what was found there.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from analysis.fault_spans import FaultSpan
from analysis.members import of_users
from analysis.outages import reconnections
from analysis.rebalance import CONSUMERS_AWAY
from records.connection_events import Cause
from records.faults import Unplanned
from records.units import NS_PER_S

LEAST_SECONDS = 2
WAITED_NS = NS_PER_S
"""So long at least somebody waited: what goes at any rate is no sign of an outage."""
MOST_STALLED = 0.5
"""With more of a silence covered by a stall of the load generator, it may have been the generator's."""
APART_NS = 5 * NS_PER_S
"""Losses of connections to one broker that are further apart are two outages."""
SIGNS = ("acked", "received")
MOST_ASKED = 20
"""Events are asked about so many silences, the longest: a slow load has many times without a message."""


@dataclass(frozen=True)
class Span:
    """From and until when, in monotonic nanoseconds."""

    from_ns: int
    until_ns: int

    def overlap_ns(self, other: "Span") -> int:
        return max(0, min(self.until_ns, other.until_ns) - max(self.from_ns, other.from_ns))


def unplanned(
    rates: pa.Table,
    sends: DataFrame,
    deliveries: DataFrame,
    connections: DataFrame,
    members: DataFrame,
    faults: Sequence[FaultSpan],
    stalls: Sequence[Sequence[Span]],
    load: Span,
    *,
    transacted: bool = False,
) -> list[Unplanned]:
    """In the order of their beginnings. ``rates``: the result table. ``stalls``: of each process of the load generator.

    ``transacted``: messages wait for the commit of their transaction, so silence is no sign of anything.

    A broker from which messages only came late is not named if another one kept its producers waiting meanwhile.
    """
    planned = [Span(fault.began_ns, fault.until_ns) for fault in faults if fault.kind != CONSUMERS_AWAY]
    silences = []
    empty = [] if transacted else sorted(empty_seconds(rates, load), key=lambda each: -len(each[1]))
    for broker, seconds in empty[:MOST_ASKED]:
        around = Span(load.from_ns + seconds.start * NS_PER_S, load.from_ns + seconds.stop * NS_PER_S)
        if not any(around.overlap_ns(span) for span in planned) and not _stalled(around, stalls):
            silences.append(_silence(broker, around, sends, deliveries))
    of_senders = [one.span for one in silences if one.producers]
    named = [one for one in silences if one.producers or not any(one.span.overlap_ns(span) for span in of_senders)]
    found = [one.told(load) for one in named if one.producers or one.consumers]
    return sorted([*found, *_losses(connections, members, planned, load)], key=lambda one: one["from_s"])


def empty_seconds(rates: pa.Table, load: Span) -> Iterator[tuple[str, range]]:
    """By broker: so many successive seconds of the load without a sign of life, between two that have one."""
    signs = rates.filter(pc.is_in(rates["event"], pa.array(SIGNS)))
    for broker in sorted(set(signs["broker"].to_pylist()) - {""}):
        seconds = sorted(set(signs.filter(pc.equal(signs["broker"], broker))["second"].to_pylist()))
        for before, after in pairwise(seconds):
            in_load = range(max(before + 1, 0), min(after, (load.until_ns - load.from_ns) // NS_PER_S))
            if len(in_load) >= LEAST_SECONDS:
                yield broker, range(before + 1, after)


def _stalled(around: Span, stalls: Sequence[Sequence[Span]]) -> bool:
    """Whether one process stood still for most of that time; its protocols may each have told of it."""
    return any(_covered_ns(around, each) > MOST_STALLED * (around.until_ns - around.from_ns) for each in stalls)


def _covered_ns(around: Span, stalls: Sequence[Span]) -> int:
    covered, until_ns = 0, around.from_ns
    for stall in sorted(stalls, key=lambda stall: stall.from_ns):
        covered += around.overlap_ns(Span(max(stall.from_ns, until_ns), stall.until_ns))
        until_ns = max(until_ns, stall.until_ns)
    return covered


@dataclass(frozen=True)
class Silence:
    """``producers``: how many had no answer to what they sent. ``consumers``: how many got late messages after it."""

    broker: str
    span: Span
    producers: int
    consumers: int

    def told(self, load: Span) -> Unplanned:
        return _told(
            "silent", self.broker, self.span.from_ns, self.span.until_ns, self.producers + self.consumers, load
        )


def _silence(broker: str, around: Span, sends: DataFrame, deliveries: DataFrame) -> Silence:
    """The silence to the nanosecond, and who waited for its end."""
    sent, received = sends.where(F.col("broker") == broker), deliveries.where(F.col("to_broker") == broker)
    span = _bounds(sent.where(F.col("outcome") == "acked"), received, around)
    written = F.col("sent_ns").between(span.from_ns - NS_PER_S, span.until_ns - WAITED_NS)
    answered_later = F.col("settled_ns").isNull() | (F.col("settled_ns") >= span.until_ns)
    waited = sent.where(written & answered_later & (F.col("outcome") != "unconfirmed"))
    soon_after = F.col("received_ns").between(span.until_ns, span.until_ns + NS_PER_S)
    late = received.where(soon_after & (F.col("due_ns") <= span.until_ns - WAITED_NS))
    counts = waited.agg(F.count_distinct("producer")).crossJoin(late.agg(F.count_distinct("consumer")))
    (row,) = counts.collect()
    return Silence(broker, span, *row)


def _bounds(acked: DataFrame, received: DataFrame, around: Span) -> Span:
    """From the last sign of life before the empty seconds to the first one after them."""
    at = F.col("at_ns")
    signs = acked.select(F.col("settled_ns").alias("at_ns")).unionByName(
        received.select(F.col("received_ns").alias("at_ns"))
    )
    (row,) = signs.agg(F.max(F.when(at < around.from_ns, at)), F.min(F.when(at >= around.until_ns, at))).collect()
    last, first = row  # what is not of this run is a sign of life too, and no delivery
    return Span(around.from_ns if last is None else last, around.until_ns if first is None else first)


def _losses(connections: DataFrame, members: DataFrame, planned: Sequence[Span], load: Span) -> Iterator[Unplanned]:
    """Connections that clients lost outside of every fault, until the last of these clients was connected again.

    Users that share a connection count one by one.
    """
    at = F.col("at_ns")
    redirected = F.col("cause").eqNullSafe(Cause.REDIRECT.value)
    lost = connections.where((F.col("event") == "lost") & ~redirected & at.between(load.from_ns, load.until_ns))
    for span in planned:
        lost = lost.where(~at.between(span.from_ns, span.until_ns))
    in_order = Window.partitionBy("broker").orderBy("at_ns")
    begins = F.coalesce((at - F.lag("at_ns").over(in_order) > F.lit(APART_NS)).cast("int"), F.lit(0))
    each = lost.withColumn("begins", begins).select(
        "client",
        F.col("broker").alias("left_broker"),
        F.sum("begins").over(in_order).alias("number"),
        F.col("at_ns").alias("lost_ns"),
    )
    outages = (
        of_users(reconnections(connections, each), members)
        .groupBy("left_broker", "number")
        .agg(
            F.min("lost_ns").alias("from_ns"),
            F.when(F.count_if(F.col("connected_ns").isNull()) == 0, F.max("connected_ns")).alias("until_ns"),
            F.count_distinct("user").alias("clients"),
        )
    )
    for row in outages.collect():
        yield _told("lost connections", row["left_broker"] or "", row["from_ns"], row["until_ns"], row["clients"], load)


def _told(what: str, broker: str, from_ns: int, until_ns: int | None, clients: int, load: Span) -> Unplanned:
    return Unplanned(
        broker=broker,
        what=what,
        from_s=(from_ns - load.from_ns) / NS_PER_S,
        until_s=None if until_ns is None else (until_ns - load.from_ns) / NS_PER_S,
        clients=clients,
    )
