"""Asks an Artemis broker about itself; a router beside it cannot be asked."""

from collections.abc import Iterable, Mapping

from topologies.artemis import management
from topologies.artemis.broker import REPLICATION, ArtemisBroker
from topologies.artemis.router import Router
from topologies.management.contract import BrokerQueries
from topologies.management.jolokia import Jolokia
from topologies.management.values import Figures
from topologies.model.topology import Topology


class ArtemisQueries:
    """ActiveMQ Artemis."""

    def __init__(self, broker: ArtemisBroker, links: management.LinksOfBroker) -> None:
        self._broker, self._links = broker, links
        self.duplex: Mapping[tuple[str, str], str] = {}

    def serves(self, agent: Jolokia) -> bool:
        return management.serves(agent, len(self._broker.acceptors))

    def stands_by(self, agent: Jolokia) -> bool:
        policy = self._broker.ha
        if not self._broker.standby_of or policy is None:
            return False
        return management.stands_by(agent, replicated=policy.kind == REPLICATION)

    def figures(self, agent: Jolokia) -> Figures:
        return management.figures_of(agent, self._links)

    def names(self, agent: Jolokia) -> list[str]:
        return management.names(agent)

    def version(self, agent: Jolokia) -> str:
        return management.version(agent)

    def connected(self, agent: Jolokia) -> frozenset[str]:
        return management.connected(agent)

    def disconnect(self, agent: Jolokia, connections: Iterable[str]) -> None:
        management.disconnect(agent, connections)


class RouterQueries:
    """A router keeps no message, and has no agent to be asked: its work shows at its ends."""

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
        """It has no agent that could do so."""


def artemis_queries(topology: Topology, name: str) -> BrokerQueries:
    """KeyError for a broker that the topology does not have."""
    broker = topology.broker(name)
    if isinstance(broker, ArtemisBroker):
        return ArtemisQueries(broker, management.LinksOfBroker.of(topology, name))
    assert isinstance(broker, Router)  # what else could be there
    return RouterQueries()
