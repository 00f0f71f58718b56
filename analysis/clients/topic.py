"""The clients topic: connections of clients to brokers, and the division of messages among consumers.

Each part follows some clients from connection to connection (`analysis.clients.stays`), and Spark merges the counts of
the parts. The driver makes the tables by second and the summary from the merged rows.
"""

from collections.abc import Collection
from functools import partial

import polars as pl

from analysis.clients import stays
from analysis.clients.balance import Away, ConnectedClients, brokers_of, distribution
from analysis.clients.connections import (
    connection_changes,
    connection_counts,
    connection_seconds,
    connections,
    harness_logins,
)
from analysis.clients.division import divided, received, with_subscribers
from analysis.clients.rebalance import NO_MOVES, EntryBrokers, GroupClients, Moves, Rebalancing, rebalance
from analysis.events.run import MergedTables, RowsOfPart, Run, TopicResults, as_table
from analysis.messages.part import Part
from records.figures.clients import ConnectionCounts, Rebalance
from records.units import NS_PER_S


class ClientsTopic:
    """Tables: stays (written by the parts), connections, distribution, consumers. Summary: rebalance,
    connection_counts, consumers. Requires the table resources.

    For later topics: clients_at_faults, the connected clients by the start of each fault (ns of the load).
    """

    step = "followed the clients from broker to broker"

    def tables(self, run: Run) -> dict[str, RowsOfPart]:
        return {
            "received": _received,
            "stays": _stays,
            "group_sizes": _group_sizes,
            "client_changes": _client_changes,
            "connected_clients": partial(_connected_clients, at_ns=_foreseen_ns(run)),
            "moves": _moves,
            "unsettled": _unsettled,
            "flaps": _flaps,
            "connection_changes": _connection_changes,
            "connection_seconds": _connection_seconds,
        }

    def conclude(self, run: Run, merged: MergedTables, results: TopicResults) -> None:
        away = _away(run)
        sizes = dict(merged["group_sizes"].select("client_group", "clients").iter_rows())
        division, shares = divided(as_table(with_subscribers(merged["received"], run.subscriptions, run.first_stays)))
        results.tables |= {
            "connections": as_table(connections(merged["connection_changes"], merged["connection_seconds"])),
            "distribution": distribution(merged["client_changes"], sizes, _load_ns(run), away),
            "consumers": division,
        }
        course = _course(run, merged)
        clients_at = _clients_at(run, merged, course)
        results.clients_at_faults = {at_ns: clients_at.total_clients(at_ns) for at_ns in _fault_times_ns(run)}
        results.summary |= {
            "rebalance": _rebalance(run, merged, course, clients_at, away),
            "connection_counts": _connection_counts(run, results),
            "consumers": shares,
        }


def _load_ns(run: Run) -> int:
    return run.load_ended_ns - run.load_began_ns


def _places(run: Run) -> EntryBrokers:
    return EntryBrokers(run.info.brokers, run.info.groups)


def _fault_times_ns(run: Run) -> set[int]:
    return {fault.began_ns - run.load_began_ns for fault in run.faults}


def _foreseen_ns(run: Run) -> tuple[int, ...]:
    """Return the moments to report that are known in advance: all but the times at which clients had settled."""
    course = Rebalancing.of(NO_MOVES, run.faults, _places(run), run.load_began_ns, _load_ns(run))
    return tuple(sorted({moment.at_ns for moment in course.moments} | _fault_times_ns(run)))


def _clients_at(run: Run, merged: MergedTables, course: Rebalancing) -> ConnectedClients:
    foreseen_ns = _foreseen_ns(run)
    clients_at = ConnectedClients.of(merged["connected_clients"], foreseen_ns)
    others_ns = tuple(sorted({moment.at_ns for moment in course.moments}.difference(foreseen_ns)))
    if not others_ns:
        return clients_at
    rows = run.compute(
        "clients when they had settled", {"connected_clients": partial(_connected_clients, at_ns=others_ns)}
    )
    return clients_at.merge(ConnectedClients.of(rows["connected_clients"], others_ns))


def _course(run: Run, merged: MergedTables) -> Rebalancing:
    moves = Moves.of(merged["moves"], merged["unsettled"])
    return Rebalancing.of(moves, run.faults, _places(run), run.load_began_ns, _load_ns(run))


def _away(run: Run) -> Away:
    scheduled = [user.name for user in run.info.users if user.leaves_s is not None]
    return stays.scheduled_absences(run.connections, run.members, scheduled, run.first_stays, run.load_began_ns)


def _rebalance(
    run: Run, merged: MergedTables, course: Rebalancing, clients_at: ConnectedClients, away: Away
) -> Rebalance:
    groups = {
        group: GroupClients(clients, brokers_of(merged["client_changes"], group), away.get(group, ()))
        for group, clients in merged["group_sizes"].select("client_group", "clients").iter_rows()
    }
    return rebalance(course, groups, clients_at, int(merged["flaps"]["flaps"].sum()), _places(run))


def _connection_counts(run: Run, results: TopicResults) -> ConnectionCounts:
    """Compare nothing if each message has a separate connection: brokers are sampled once per second."""
    if run.members["connection"].null_count():
        return ConnectionCounts(compared=0, differed=0, brokers=[])
    seconds = _load_ns(run) // NS_PER_S
    logins = harness_logins(run.faults, run.load_began_ns)
    return connection_counts(results.tables["connections"], results.tables["resources"], seconds, logins)


def _received(part: Part) -> pl.DataFrame:
    return received(part.deliveries)


def _stays(part: Part) -> pl.DataFrame:
    facts = part.run
    return stays.stays_of(
        part.connections, part.members, facts.timeline.load_began_ns, facts.load_ended_ns, facts.first_stays
    )


def _group_sizes(part: Part) -> pl.DataFrame:
    return stays.group_sizes(part.connections, part.members, part.run.first_stays)


def _client_changes(part: Part) -> pl.DataFrame:
    return stays.client_changes(part.compute_once(_stays))


def _connected_clients(part: Part, at_ns: Collection[int]) -> pl.DataFrame:
    return stays.connected_clients(part.compute_once(_stays), at_ns)


def _moves(part: Part) -> pl.DataFrame:
    return stays.moves(part.compute_once(_stays))


def _unsettled(part: Part) -> pl.DataFrame:
    return stays.unsettled(part.compute_once(_stays))


def _flaps(part: Part) -> pl.DataFrame:
    return stays.flaps(part.compute_once(_stays))


def _connection_changes(part: Part) -> pl.DataFrame:
    return connection_changes(part.connections, part.run.timeline)


def _connection_seconds(part: Part) -> pl.DataFrame:
    return connection_seconds(part.connections, part.run.timeline)
