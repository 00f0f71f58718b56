"""Counts the client connections of each broker by the second, and compares them with the brokers' own counts.

The clients' own events tell of connections opened less those ended. A client that moves to a better broker opens the
new connection before it leaves the old one, and has both meanwhile.

A broker that has not noticed a loss counts more than there are, and so does one that others use. Both sides are read at
different moments of a second, so only seconds count around which the clients' number did not change. Seconds in which
the harness itself logs in to a broker, to see whether it serves, do not count for that broker.
"""

from collections import Counter
from collections.abc import Collection, Iterator, Sequence

import polars as pl
import pyarrow as pa
import pyarrow.compute as pc

from analysis.events.fault_spans import FaultSpan
from analysis.events.timeline import Timeline
from records.clients import ConnectionCounts
from records.units import NS_PER_S

OPENED, ENDED = ("connected",), ("lost", "closed")
_WHERE = ["broker", "group"]


def connections(events: pl.DataFrame, timeline: Timeline) -> pl.DataFrame:
    """Rows of CONNECTIONS: every broker and group ever seen, in every second from the first event to the last."""
    steps = changes(events, timeline)
    running = pl.col("change").fill_null(0).cum_sum().over(_WHERE)
    return (
        _every_second(events, steps, timeline)
        .join(steps, ["second", *_WHERE], how="left")
        .sort("second")
        .select("second", *_WHERE, running.cast(pl.Int64).alias("count"))
    )


def changes(events: pl.DataFrame, timeline: Timeline) -> pl.DataFrame:
    """One row a (second, broker, group): by how many connections it changed."""
    event = pl.col("event")
    change = pl.when(event.is_in(OPENED)).then(1).when(event.is_in(ENDED)).then(-1)
    return (
        events.with_columns(change.alias("change"))
        .filter(pl.col("change").is_not_null() & pl.col("broker").is_not_null())
        .group_by(timeline.second(pl.col("at_ns")).alias("second"), *_WHERE)
        .agg(pl.sum("change"))
    )


def _every_second(events: pl.DataFrame, steps: pl.DataFrame, timeline: Timeline) -> pl.DataFrame:
    second = timeline.second(pl.col("at_ns"))
    span = events.select(pl.int_ranges(second.min(), second.max() + 1, dtype=pl.Int32).alias("second"))
    seconds = span.explode("second").drop_nulls() if events.height else span.clear().select(pl.lit(0).alias("second"))
    return steps.select(_WHERE).unique().join(seconds, how="cross")


def connection_counts(
    connections: pa.Table, resources: pa.Table, seconds: int, left_out: Collection[tuple[str, int]] = ()
) -> ConnectionCounts:
    """``connections``, ``resources``: the result tables. ``seconds``: whole seconds of the load.

    ``left_out``: broker and second of those that do not count, as `harness_logins` has them.
    """
    ours = _by_second(connections, "count")
    last = max((second for _, second in ours), default=0)  # no event after it: the clients stay where they are
    of_kind = {kind: resources.filter(pc.equal(resources["kind"], kind)) for kind in ("broker", "connector")}
    theirs = _by_second(of_kind["connector"], "value")  # without a row while a broker has no client

    def clients_at(broker: str, second: int) -> int:
        return ours[broker, min(second, last)]

    compared = [
        (broker, clients_at(broker, second) == theirs[broker, second])
        for broker, second in sorted(_by_second(of_kind["broker"], "value"))
        if (broker, second) not in left_out
        and 0 < second < seconds - 1
        and len({clients_at(broker, at) for at in (second - 1, second, second + 1)}) == 1
    ]
    differed = [broker for broker, same in compared if not same]
    return ConnectionCounts(compared=len(compared), differed=len(differed), brokers=sorted(set(differed)))


def harness_logins(faults: Sequence[FaultSpan], load_began_ns: int) -> set[tuple[str, int]]:
    """Broker and second of the load in which the harness tried whether the broker takes logins."""
    return {
        (broker, (at_ns - load_began_ns) // NS_PER_S)
        for broker, began_ns, ended_ns in _trials(faults)
        for at_ns in (*range(began_ns, ended_ns, NS_PER_S), ended_ns)
    }


def _trials(faults: Sequence[FaultSpan]) -> Iterator[tuple[str, int, int]]:
    """Of a broker that joins until it serves, and of every one that is mended until it serves again."""
    for fault in faults:
        if fault.traits.joins and fault.effective_ns is not None:
            yield fault.target, fault.began_ns, fault.effective_ns
        if fault.ended_ns is not None and fault.restored_ns is not None:
            yield fault.target, fault.ended_ns, fault.restored_ns


def _by_second(rows: pa.Table, value: str) -> Counter[tuple[str, int]]:
    """The sum by broker and second; 0 where there is no row."""
    found = Counter[tuple[str, int]]()
    columns = (rows[name].to_pylist() for name in ("broker", "second", value))
    for broker, second, count in zip(*columns, strict=True):
        found[broker, second] += count
    return found
