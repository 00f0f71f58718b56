"""Counts the client connections of each broker at the end of each second, by the clients' own events.

A client that moves to a better broker opens the new connection before it leaves the old one, and has both meanwhile: it
counts connections: opened less ended.
"""

import polars as pl

from analysis.events.timeline import Timeline

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
