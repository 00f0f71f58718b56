"""Queries to an Artemis broker through its Jolokia agent; for a router, which has no agent, empty answers."""

import json
from collections.abc import Iterable, Mapping

from topologies.artemis import management
from topologies.artemis.broker import ArtemisBroker
from topologies.artemis.management import MOST_LISTED, broker_mbean, of_clients
from topologies.artemis.router import Router
from topologies.management.jolokia import HEAP, Jolokia, execute, heap_figures, object_name
from topologies.model.management import BrokerQueries, Figures
from topologies.model.topology import Topology


class ArtemisQueries:
    """Queries to an Artemis broker."""

    def __init__(self, broker: ArtemisBroker, links: management.LinksOfBroker) -> None:
        self._broker, self._links = broker, links
        self.duplex: Mapping[tuple[str, str], str] = {}

    def serves(self, agent: Jolokia) -> bool:
        mbean = broker_mbean(agent.calls_itself)
        if not agent.read(mbean, "Active")["Active"]:
            return False
        started = agent.read(f"{mbean},component=acceptors,name=*", "Started")
        return sum(bool(acceptor["Started"]) for acceptor in started.values()) >= len(self._broker.acceptors)

    def stands_by(self, agent: Jolokia) -> bool:
        """Return whether it is waiting as a backup; with replication, only once it has the complete copy."""
        if not self._broker.standby_of or self._broker.ha is None:
            return False
        state = agent.read(broker_mbean(agent.calls_itself), "Started", "Active", "Backup", "ReplicaSync")
        return bool(state["Backup"] and not state["Active"] and (state["ReplicaSync"] or not self._broker.copies_store))

    def figures(self, agent: Jolokia) -> Figures:
        """Return the broker's figures; for a waiting standby only heap figures, because it has no others."""
        if self.stands_by(agent):
            return Figures(heap_figures(agent.read(HEAP, "HeapMemoryUsage")), {}, (), {}, stands_by=True)
        return management.figures_of(agent, self._links)

    def names(self, agent: Jolokia) -> list[str]:
        return [object_name(name)["broker"].strip('"') for name in agent.search(broker_mbean("*"))]

    def version(self, agent: Jolokia) -> str:
        return str(agent.read(broker_mbean(agent.calls_itself), "Version")["Version"])

    def connected(self, agent: Jolokia) -> frozenset[str]:
        """Return the id of each client's connection."""
        listing = "listConnections(java.lang.String,int,int)"
        shown = agent.execute(broker_mbean(agent.calls_itself), listing, "", 1, MOST_LISTED)
        return frozenset(str(connection["connectionID"]) for connection in of_clients(json.loads(shown)["data"]))

    def disconnect(self, agent: Jolokia, connections: Iterable[str]) -> None:
        mbean = broker_mbean(agent.calls_itself)
        if ends := [
            execute(mbean, "closeConnectionWithID(java.lang.String)", connection) for connection in connections
        ]:
            agent.bulk(ends)


class RouterQueries:
    """A router stores no messages and has no management agent: the brokers at its ends show its work."""

    duplex: Mapping[tuple[str, str], str] = {}

    def serves(self, agent: Jolokia) -> bool:
        return True

    def stands_by(self, agent: Jolokia) -> bool:
        return False

    def figures(self, agent: Jolokia) -> Figures:
        return Figures({}, {}, (), {})

    def names(self, agent: Jolokia) -> list[str]:
        return []

    def version(self, agent: Jolokia) -> str:
        return ""

    def connected(self, agent: Jolokia) -> frozenset[str]:
        return frozenset()

    def disconnect(self, agent: Jolokia, connections: Iterable[str]) -> None:
        """Do nothing: a router has no agent."""


def artemis_queries(topology: Topology, name: str) -> BrokerQueries[Jolokia]:
    """Return the queries for one broker of a topology. Raises KeyError if the topology does not have it."""
    broker = topology.broker(name)
    if isinstance(broker, ArtemisBroker):
        return ArtemisQueries(broker, management.LinksOfBroker.in_topology(topology, name))
    assert isinstance(broker, Router)  # the only other kind
    return RouterQueries()
