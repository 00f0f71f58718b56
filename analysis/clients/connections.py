"""Counts the client connections of each broker per second, and compares them with the brokers' counts.

The clients' events give opened minus ended connections. A client that moves to a better broker opens the new connection
before it closes the old one, so for a moment it has both.

A broker's count is too high if the broker has not noticed a lost connection, or if other programs use it. The two
counts are read at different times of a second, so only seconds with a constant count of clients are compared. For each
broker, seconds with a login of the harness itself, as a health check, are skipped.
"""

from collections import Counter
from collections.abc import Collection, Iterator, Sequence

import polars as pl
import pyarrow as pa
import pyarrow.compute as pc

from analysis.events.timeline import FaultSpan, Timeline
from records.figures.clients import ConnectionCounts
from records.units import NS_PER_S

OPENED, ENDED = ("connected",), ("lost", "closed")
_WHERE = ["broker", "client_group"]


def connections(changes: pl.DataFrame, seconds: pl.DataFrame) -> pl.DataFrame:
    """Return rows of CONNECTIONS: every broker and group ever seen, in every second from the first event to the last.

    ``changes`` and ``seconds``: the merged tables connection_changes and connection_seconds.
    """
    running = pl.col("change").fill_null(0).cum_sum().over(_WHERE)
    every_second = seconds.drop_nulls().select(
        pl.int_ranges("first", pl.col("last") + 1).cast(pl.List(pl.Int32)).alias("second")
    )
    return (
        changes.select(_WHERE)
        .unique()
        .join(every_second.explode("second"), how="cross")
        .join(changes, ["second", *_WHERE], how="left")
        .sort("second")
        .select("second", "broker", pl.col("client_group").alias("group"), running.cast(pl.Int64).alias("count"))
    )


def connection_seconds(events: pl.DataFrame, timeline: Timeline) -> pl.DataFrame:
    """Return the seconds of the first and the last event of connections; null without events."""
    second = timeline.second_of(pl.col("at_ns"))
    return events.select(second.min().alias("first"), second.max().alias("last"))


def connection_changes(events: pl.DataFrame, timeline: Timeline) -> pl.DataFrame:
    """Return by how many the connections of each broker and group became more or fewer in each second."""
    event = pl.col("event")
    change = pl.when(event.is_in(OPENED)).then(1).when(event.is_in(ENDED)).then(-1)
    return (
        events.with_columns(change.alias("change"))
        .filter(pl.col("change").is_not_null() & pl.col("broker").is_not_null())
        .group_by(timeline.second_of(pl.col("at_ns")).alias("second"), "broker", pl.col("group").alias("client_group"))
        .agg(pl.sum("change"))
    )


def connection_counts(
    connections: pa.Table, resources: pa.Table, seconds: int, left_out: Collection[tuple[str, int]] = ()
) -> ConnectionCounts:
    """Compare the two counts.

    ``connections``, ``resources``: the result tables. ``seconds``: whole seconds of the load. ``left_out``: broker and
    second of seconds to skip, as returned by `harness_logins`.
    """
    ours = _by_second(connections, "count")
    last = max((at_s for _, at_s in ours), default=0)  # no later event: the connections stay open
    of_kind = {kind: resources.filter(pc.equal(resources["kind"], kind)) for kind in ("broker", "connector")}
    theirs = _by_second(of_kind["connector"], "value")  # no row while a broker has no client

    def clients_at(broker: str, at_s: int) -> int:
        return ours[broker, min(at_s, last)]

    compared = [
        (broker, clients_at(broker, at_s) == theirs[broker, at_s])
        for broker, at_s in sorted(_by_second(of_kind["broker"], "value"))
        if (broker, at_s) not in left_out
        and 0 < at_s < seconds - 1
        and len({clients_at(broker, at) for at in (at_s - 1, at_s, at_s + 1)}) == 1
    ]
    differed = [broker for broker, same in compared if not same]
    return ConnectionCounts(compared=len(compared), differed=len(differed), brokers=sorted(set(differed)))


def harness_logins(faults: Sequence[FaultSpan], load_began_ns: int) -> set[tuple[str, int]]:
    """Return the broker and second of each login of the harness within the load."""
    return {
        (broker, (at_ns - load_began_ns) // NS_PER_S)
        for broker, began_ns, ended_ns in _trials(faults)
        for at_ns in (*range(began_ns, ended_ns, NS_PER_S), ended_ns)
    }


def _trials(faults: Sequence[FaultSpan]) -> Iterator[tuple[str, int, int]]:
    """Yield the periods when the harness logs in: until a joining or restored broker serves."""
    for fault in faults:
        if fault.traits.joins and fault.effective_ns is not None:
            yield fault.target, fault.began_ns, fault.effective_ns
        if fault.ended_ns is not None and fault.restored_ns is not None:
            yield fault.target, fault.ended_ns, fault.restored_ns


def _by_second(rows: pa.Table, value: str) -> Counter[tuple[str, int]]:
    """Return the sum by broker and second; 0 without rows."""
    counts = Counter[tuple[str, int]]()
    columns = (rows[name].to_pylist() for name in ("broker", "second", value))
    for broker, at_s, more_count in zip(*columns, strict=True):
        counts[broker, at_s] += more_count
    return counts
