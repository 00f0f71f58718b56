"""Where the clients were, and how the messages were divided among them."""

import polars as pl

from analysis.clients.connections import connection_counts, connections, harness_logins
from analysis.clients.division import divided, received, with_subscribers
from analysis.clients.rebalance import EntryBrokers, rebalance
from analysis.clients.stays import clients, distribution, stays
from analysis.events.run import MergedTables, RowsOfPart, Run, TopicResults, as_table
from analysis.messages.part import Part
from records.clients import ConnectionCounts
from records.units import NS_PER_S


class ClientsTopic:
    """Tables: connections, stays, distribution, consumers. Summary: rebalance, connection_counts, consumers.

    It takes the table resources.
    """

    step = "followed the clients from broker to broker"

    def tables(self, run: Run) -> dict[str, RowsOfPart]:
        return {"received": _received}

    def conclude(self, run: Run, merged: MergedTables, results: TopicResults) -> None:
        began_ns, ended_ns = run.load_began_ns, run.load_ended_ns
        of_stays = as_table(stays(run.connections, run.members, began_ns, ended_ns))
        sizes = clients(run.connections, run.members)
        places = EntryBrokers(run.info.brokers, run.info.groups)
        division, shares = divided(as_table(with_subscribers(merged["received"], run.subscriptions)))
        results.tables |= {
            "connections": as_table(connections(run.connections, run.timeline)),
            "stays": of_stays,
            "distribution": distribution(of_stays, sizes, ended_ns - began_ns),
            "consumers": division,
        }
        results.summary |= {
            "rebalance": rebalance(of_stays, sizes, run.faults, places, began_ns, ended_ns - began_ns),
            "connection_counts": _connection_counts(run, results),
            "consumers": shares,
        }


def _connection_counts(run: Run, results: TopicResults) -> ConnectionCounts:
    """Nothing is compared where each message has a connection: brokers are asked once a second."""
    if run.members["connection"].null_count():
        return ConnectionCounts(compared=0, differed=0, brokers=[])
    seconds = (run.load_ended_ns - run.load_began_ns) // NS_PER_S
    logins = harness_logins(run.faults, run.load_began_ns)
    return connection_counts(results.tables["connections"], results.tables["resources"], seconds, logins)


def _received(part: Part) -> pl.DataFrame:
    return received(part.deliveries)
