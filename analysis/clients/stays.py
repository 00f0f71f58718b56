"""Computes the stays of clients, and counts derived from stays. Each part of a run has some of the clients.

A stay is a period of a client's connection to one broker, with the reason for its end. The functions that follow
`stays_of` return rows of merged tables (`records.tables.merged_tables`), which Spark merges over all clients. Times
count from the start of the load.
"""

from collections.abc import Collection, Mapping

import polars as pl

from analysis.events.run import by_user
from analysis.events.timeline import FOREVER_NS
from records.tables.connection_events import Cause
from records.tables.results import STAYS
from records.units import NS_PER_S

OPENED, ENDED = "connected", ("lost", "closed")
LOAD_END = "load_end"
OWN_ENDS = ("closed", LOAD_END)
"""Causes of stays that ended without the broker."""
FLAP_NS = NS_PER_S
NONE_CAME_BACK: Mapping[int, int] = {}
_AT = ["client", "broker"]
_GROUP = pl.col("group").alias("client_group")


def stays_of(
    connections: pl.DataFrame,
    members: pl.DataFrame,
    load_began_ns: int,
    load_ended_ns: int,
    first_stays: Mapping[int, int] = NONE_CAME_BACK,
) -> pl.DataFrame:
    """Return rows of STAYS: the part of each stay that lies within the load.

    Users that share a connection have a stay each. ``first_stays``: of durable subscribers that came back, as in
    `analysis.events.run.Run`: all stays have the user number of the first.
    """
    until_ns = pl.min_horizontal("end_ns", "next_ns").fill_null(load_ended_ns)
    within = (pl.col("at_ns") < load_ended_ns) & (until_ns > load_began_ns)
    why = pl.coalesce("end_cause", "end_event", pl.lit("unrecorded"))
    return (
        by_user(_connected(connections).filter(within), members)
        .with_columns(
            pl.col("user").replace(dict(first_stays)),
            (pl.col("at_ns").clip(load_began_ns) - load_began_ns).alias("from_ns"),
            (until_ns.clip(upper_bound=load_ended_ns) - load_began_ns).alias("to_ns"),
            pl.when(until_ns >= load_ended_ns).then(pl.lit(LOAD_END)).otherwise(why).alias("cause"),
        )
        .select(STAYS.names)
    )


def _connected(connections: pl.DataFrame) -> pl.DataFrame:
    """Return one row per connection.

    end_ns, end_event and end_cause describe its own end, and are null if that is not on record. next_ns is the time at
    which the client opened its next connection.
    """
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


def group_sizes(
    connections: pl.DataFrame, members: pl.DataFrame, first_stays: Mapping[int, int] = NONE_CAME_BACK
) -> pl.DataFrame:
    """Return the number of clients per group, connected or not. Users that share a connection count separately.

    ``first_stays``: as in `stays_of`; a later stay is no further client.
    """
    every_stay = by_user(connections.select("client", "group").unique(), members)
    users = every_stay.filter(~pl.col("user").is_in(list(first_stays)))
    return users.group_by(_GROUP).agg(pl.col("user").n_unique().alias("clients"))


def scheduled_absences(
    connections: pl.DataFrame,
    members: pl.DataFrame,
    classes: Collection[str],
    first_stays: Mapping[int, int],
    load_began_ns: int,
) -> dict[str, list[tuple[int, int]]]:
    """Return (from, until) of each time in which a user is away by schedule, by group. FOREVER_NS: until the end.

    That is before its first attempt to connect, and from the end of a stay until the first attempt of the next.
    ``classes``: the user classes whose stays end before the load does.
    """
    of_classes = members.filter(pl.col("user_class").is_in(list(classes))).select("user", "group", client="connection")
    in_order = connections.join(of_classes.select("client").unique(), "client")
    left = (pl.last("event") == "closed") & (pl.last("cause") == Cause.CLOSED)
    begun = (
        in_order.sort("at_ns", maintain_order=True)
        .group_by("client")
        .agg(pl.min("at_ns").alias("from_ns"), pl.when(left).then(pl.last("at_ns")).otherwise(FOREVER_NS).alias("end"))
    )
    there = (
        of_classes.join(begun, "client").with_columns(pl.col("user").replace(dict(first_stays))).sort("user", "from_ns")
    )
    before = there.select(
        "group", pl.col("end").shift(1).over("user").fill_null(-FOREVER_NS), pl.col("from_ns").alias("until")
    )
    after = there.group_by("user").last().select("group", "end", pl.lit(FOREVER_NS, pl.Int64).alias("until"))
    found: dict[str, list[tuple[int, int]]] = {}
    for group, from_ns, until_ns in pl.concat([before, after]).filter(pl.col("end") < pl.col("until")).iter_rows():
        until_ns = FOREVER_NS if until_ns == FOREVER_NS else until_ns - load_began_ns
        found.setdefault(group, []).append((from_ns - load_began_ns, until_ns))
    return found


def client_changes(stays: pl.DataFrame) -> pl.DataFrame:
    """Return the change in the number of clients per second, group and broker.

    A stay that the end of the load cut off is still open at that time.
    """
    arrivals = stays.select(pl.col("from_ns").alias("at_ns"), _GROUP, "broker", pl.lit(1).alias("change"))
    ended = stays.filter(pl.col("cause") != LOAD_END)
    departures = ended.select(pl.col("to_ns").alias("at_ns"), _GROUP, "broker", pl.lit(-1).alias("change"))
    second = pl.col("at_ns") // NS_PER_S
    changes = pl.concat([arrivals, departures])
    return changes.group_by(second.alias("second"), "client_group", "broker").agg(pl.sum("change"))


def connected_clients(stays: pl.DataFrame, at_ns: Collection[int]) -> pl.DataFrame:
    """Return the number of connected clients per moment, group and broker."""
    moments = pl.DataFrame({"at_ns": list(at_ns)}, {"at_ns": pl.Int64})
    there = (pl.col("from_ns") <= pl.col("at_ns")) & (pl.col("to_ns") > pl.col("at_ns"))
    open_then = moments.join(stays.select(_GROUP, "broker", "from_ns", "to_ns"), how="cross").filter(there)
    return open_then.group_by("at_ns", "client_group", "broker").agg(pl.len().alias("clients"))


def moves(stays: pl.DataFrame) -> pl.DataFrame:
    """Return the moves: user, time of arrival at the new broker, and time without a connection.

    A move is a change to another broker after a stay that the client did not end itself.
    """
    at_ns = pl.col("next_from_ns").alias("at_ns")
    moved = _with_next(stays).filter(pl.col("next_broker") != pl.col("broker"))
    return moved.select("user", at_ns, (pl.col("next_from_ns") - pl.col("to_ns")).alias("off_ns"))


def unsettled(stays: pl.DataFrame) -> pl.DataFrame:
    """Return the periods when clients were disconnected: from_ns and until_ns, FOREVER_NS for until the end."""
    return _with_next(stays).select(
        pl.col("to_ns").alias("from_ns"), pl.col("next_from_ns").fill_null(FOREVER_NS).alias("until_ns")
    )


def _with_next(stays: pl.DataFrame) -> pl.DataFrame:
    """Return the stays that the client did not end itself, with the client's next stay, or null."""
    follows = {name: pl.col(name).shift(-1).over("user").alias(f"next_{name}") for name in ("from_ns", "broker")}
    in_order = stays.sort("user", "from_ns").with_columns(**{f"next_{name}": next_ for name, next_ in follows.items()})
    return in_order.filter(~pl.col("cause").is_in(OWN_ENDS))


def flaps(stays: pl.DataFrame) -> pl.DataFrame:
    """Return the number of stays of less than a second, except stays that the client or the load ended."""
    short = pl.col("to_ns") - pl.col("from_ns") < FLAP_NS
    whole = (pl.col("from_ns") > 0) & ~pl.col("cause").is_in(OWN_ENDS)
    return stays.select((short & whole).sum().alias("flaps"))
