"""Makes the rebalance and the connections of planted clients, merged over parts as a run's are."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial

import polars as pl
import pyarrow as pa

from analysis.clients import balance, stays
from analysis.clients.balance import NONE_AWAY, Away
from analysis.clients.connections import connection_changes, connection_seconds, connections
from analysis.clients.rebalance import EntryBrokers, GroupClients, Moves, Rebalancing, rebalance
from analysis.events.timeline import FaultSpan, Timeline
from analysis.tables import cast_columns, merged
from records.figures.clients import Rebalance
from records.tables.merged_tables import MERGED_TABLES

PARTS = 3


def merged_rows(name: str, rows: pl.DataFrame, rows_of: Callable[[pl.DataFrame], pl.DataFrame]) -> pl.DataFrame:
    """Return the rows of a merged table of all parts. ``rows``: with a client, which is in one part."""
    table = MERGED_TABLES[name]
    parts = [rows.filter(pl.col("client") % PARTS == number) for number in range(PARTS)]
    return merged(table, pl.concat([cast_columns(table, rows_of(part)) for part in parts]))


def moves_of(of_stays: pl.DataFrame) -> Moves:
    return Moves.of(merged_rows("moves", of_stays, stays.moves), merged_rows("unsettled", of_stays, stays.unsettled))


def flaps_of(of_stays: pl.DataFrame) -> int:
    return int(merged_rows("flaps", of_stays, stays.flaps)["flaps"].sum())


def distribution_of(of_stays: pl.DataFrame, clients: Mapping[str, int], load_ns: int) -> pa.Table:
    changes = merged_rows("client_changes", of_stays, stays.client_changes)
    return balance.distribution(changes, clients, load_ns)


def rebalance_of_stays(
    table: pa.Table,
    clients: Mapping[str, int],
    faults: Sequence[FaultSpan],
    places: EntryBrokers,
    load_began_ns: int,
    load_ns: int,
    away: Away = NONE_AWAY,
) -> Rebalance:
    """``table``: rows of STAYS. ``clients``: how many each group has."""
    of_stays = as_stays(table)
    course = Rebalancing.of(moves_of(of_stays), faults, places, load_began_ns, load_ns)
    at_ns = {moment.at_ns for moment in course.moments}
    connected = merged_rows("connected_clients", of_stays, partial(stays.connected_clients, at_ns=at_ns))
    changes = merged_rows("client_changes", of_stays, stays.client_changes)
    groups = {
        name: GroupClients(count, balance.brokers_of(changes, name), away.get(name, ()))
        for name, count in clients.items()
    }
    return rebalance(course, groups, balance.ConnectedClients.of(connected, at_ns), flaps_of(of_stays), places)


def connections_of(events: pl.DataFrame, timeline: Timeline) -> pl.DataFrame:
    """Return rows of CONNECTIONS."""
    changes, seconds = (
        merged_rows(name, events, partial(rows_of, timeline=timeline))
        for name, rows_of in (
            ("connection_changes", connection_changes),
            ("connection_seconds", connection_seconds),
        )
    )
    return connections(changes, seconds)


def as_stays(table: pa.Table) -> pl.DataFrame:
    frame = pl.from_arrow(table)
    assert isinstance(frame, pl.DataFrame)
    return frame
