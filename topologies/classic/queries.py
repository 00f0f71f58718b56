"""Asks a Classic broker about itself, by what its topology knows of its links."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from topologies.classic import management
from topologies.classic.network_connectors import NetworkConnector
from topologies.management.contract import BrokerQueries, on_one_store
from topologies.management.jolokia import Jolokia
from topologies.management.values import Figures
from topologies.model.broker import AnyBroker
from topologies.model.topology import Topology


@dataclass(frozen=True)
class LinkNames:
    """The topology's data on its links that are not in MBeans."""

    client_ids: frozenset[str]  # with which bridges log in
    duplex: Mapping[tuple[str, str], str]  # (opener, far end) -> link, where that is the only duplex one

    def figures(self, agent: Jolokia) -> Figures:
        return management.figures_of(agent, self.client_ids)

    @classmethod
    def of(cls, topology: Topology) -> "LinkNames":
        """A standby opens and answers its active's links in its own name."""
        links = [link for link in topology.links if isinstance(link, NetworkConnector)]
        ends = Counter((link.opened_by.name, link.to.name) for link in links if link.duplex)
        openers = {link.name: on_one_store(topology, link.opened_by.name) for link in links}
        return cls(
            frozenset(
                management.bridge_client_id(link.name, opener, link.client_id_token)
                for link in links
                for opener in openers[link.name]
            ),
            {
                (opener, end): link.name
                for link in links
                if link.duplex and ends[link.opened_by.name, link.to.name] == 1
                for opener in openers[link.name]
                for end in on_one_store(topology, link.to.name)
            },
        )


class ClassicQueries:
    """ActiveMQ Classic. ``paired``: another broker has the same store, so it may have to wait for it."""

    def __init__(self, broker: AnyBroker, names: LinkNames, *, paired: bool) -> None:
        self._connectors, self._names, self._paired = len(broker.protocols), names, paired

    @property
    def duplex(self) -> Mapping[tuple[str, str], str]:
        return self._names.duplex

    def serves(self, agent: Jolokia) -> bool:
        return management.started_connectors(agent) >= self._connectors

    def stands_by(self, agent: Jolokia) -> bool:
        return self._paired and management.stands_by(agent)

    def figures(self, agent: Jolokia) -> Figures:
        return management.figures_of_standby(agent) if self.stands_by(agent) else self._names.figures(agent)

    def names(self, agent: Jolokia) -> list[str]:
        return management.names(agent)

    def version(self, agent: Jolokia) -> str:
        return management.version(agent)

    def connected(self, agent: Jolokia) -> frozenset[str]:
        return management.connected(agent, self._names.client_ids)

    def disconnect(self, agent: Jolokia, connections: Iterable[str]) -> None:
        management.disconnect(agent, connections)


def classic_queries(topology: Topology, name: str) -> BrokerQueries:
    """KeyError for a broker that the topology does not have."""
    paired = len(on_one_store(topology, name)) > 1
    return ClassicQueries(topology.broker(name), LinkNames.of(topology), paired=paired)
