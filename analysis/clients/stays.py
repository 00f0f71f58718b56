"""Finds the stays of users: who was connected to which broker, from when to when, and why that ended."""

import polars as pl

from analysis.events.members import of_users
from records.results import STAYS

OPENED, ENDED = "connected", ("lost", "closed")
_AT = ["client", "broker"]


def stays(connections: pl.DataFrame, members: pl.DataFrame, load_began_ns: int, load_ended_ns: int) -> pl.DataFrame:
    """Rows of STAYS: the part of each within the load; times count from its start. Users of a connection have one
    each."""
    until_ns = pl.min_horizontal("end_ns", "next_ns").fill_null(load_ended_ns)
    within = (pl.col("at_ns") < load_ended_ns) & (until_ns > load_began_ns)
    why = pl.coalesce("end_cause", "end_event", pl.lit("unrecorded"))
    return (
        of_users(_connected(connections).filter(within), members)
        .with_columns(
            (pl.col("at_ns").clip(load_began_ns) - load_began_ns).alias("from_ns"),
            (until_ns.clip(upper_bound=load_ended_ns) - load_began_ns).alias("to_ns"),
            pl.when(until_ns >= load_ended_ns).then(pl.lit("load_end")).otherwise(why).alias("cause"),
        )
        .select(STAYS.names)
    )


def clients(connections: pl.DataFrame, members: pl.DataFrame) -> dict[str, int]:
    """How many clients each group has, connected or not. Users that share a connection count one by one."""
    each = of_users(connections.select("client", "group").unique(), members)
    return dict(each.group_by("group").agg(pl.col("user").n_unique()).iter_rows())


def _connected(connections: pl.DataFrame) -> pl.DataFrame:
    """One row a connection: end_ns, end_event and end_cause are of its own end (null: not on record), next_ns is when
    the client's next connection was opened."""
    is_opened = pl.col("event") == OPENED
    follows = {name: pl.col(name).shift(-1).over(_AT) for name in ("event", "at_ns", "cause")}
    is_end = follows["event"] != OPENED
    opened_or_ended = connections.filter(
        pl.col("event").is_in([OPENED, *ENDED]) & pl.col("broker").is_not_null()
    ).with_columns(is_opened.alias("is_opened"))
    return (
        opened_or_ended.drop("ended_ns")
        .sort("at_ns", "is_opened")
        .with_columns(
            pl.when(is_end).then(follows["at_ns"]).alias("end_ns"),
            pl.when(is_end).then(follows["event"]).alias("end_event"),
            pl.when(is_end).then(follows["cause"]).alias("end_cause"),
        )
        .filter("is_opened")
        .with_columns(pl.col("at_ns").shift(-1).over("client").alias("next_ns"))
    )
