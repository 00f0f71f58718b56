"""Queries to a Classic broker.

MBeans do not have the name of a duplex link at its far end, nor do they show which connections are bridges. So the
queries take link names and the bridges' client ids from the topology.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from topologies.classic import management
from topologies.classic.management import BROKERS, BridgeClient, broker_mbean, connection_request, of_clients
from topologies.classic.network_connectors import NetworkConnector
from topologies.management.contract import pair_members
from topologies.management.jolokia import HEAP, Jolokia, execute, heap_figures, object_name, value_of
from topologies.model.broker import AnyBroker
from topologies.model.management import BrokerQueries, Figures
from topologies.model.topology import Topology


@dataclass(frozen=True)
class LinkNames:
    """The link data that MBeans lack, taken from the topology."""

    client_ids: Mapping[str, BridgeClient]  # by client id with which a bridge logs in
    duplex: Mapping[tuple[str, str], str]  # (opener, far end) -> link, if it is the only duplex link between them
    brokers: Mapping[str, str] = field(default_factory=dict)  # by own name

    def figures(self, agent: Jolokia) -> Figures:
        figures = management.figures_of(agent, self.client_ids)
        ends = (self.brokers.get(bridge.remote_broker, bridge.remote_broker) for bridge in figures.bridges)
        bridges = zip(figures.bridges, ends, strict=True)
        return replace(figures, bridges=tuple(replace(bridge, remote_broker=end) for bridge, end in bridges))

    @classmethod
    def in_topology(cls, topology: Topology) -> "LinkNames":
        """Return the names of links. A standby opens and accepts its active's links under the standby's name."""
        links = [link for link in topology.links if isinstance(link, NetworkConnector)]
        ends = Counter((link.opened_by.name, link.to.name) for link in links if link.duplex)
        own_names = {broker.name: broker.own_name for broker in topology.brokers}
        openers = {link.name: pair_members(topology, link.opened_by.name) for link in links}
        return cls(
            {
                management.bridge_client_id(link.connector, own_names[opener], link.client_id_token): BridgeClient(
                    link.connector, own_names[opener]
                )
                for link in links
                for opener in openers[link.name]
            },
            {
                (opener, end): link.name
                for link in links
                if link.duplex and ends[link.opened_by.name, link.to.name] == 1
                for opener in openers[link.name]
                for end in pair_members(topology, link.to.name)
            },
            {own_name: name for name, own_name in own_names.items()},
        )


class ClassicQueries:
    """Queries to a Classic broker. ``paired``: another broker shares its store, so it may wait for the lock."""

    def __init__(self, broker: AnyBroker, names: LinkNames, *, paired: bool) -> None:
        self._connectors, self._names, self._paired = len(broker.protocols), names, paired

    @property
    def duplex(self) -> Mapping[tuple[str, str], str]:
        return self._names.duplex

    def serves(self, agent: Jolokia) -> bool:
        return management.started_connectors(agent) >= self._connectors

    def stands_by(self, agent: Jolokia) -> bool:
        return self._paired and bool(agent.read(broker_mbean(agent.calls_itself), "Slave")["Slave"])

    def figures(self, agent: Jolokia) -> Figures:
        """Return the broker's figures; for a waiting standby only heap figures, because it has no others."""
        if self.stands_by(agent):
            return Figures(heap_figures(agent.read(HEAP, "HeapMemoryUsage")), {}, (), {}, stands_by=True)
        return self._names.figures(agent)

    def names(self, agent: Jolokia) -> list[str]:
        return [object_name(name)["brokerName"] for name in agent.search(BROKERS)]

    def version(self, agent: Jolokia) -> str:
        return str(agent.read(broker_mbean(agent.calls_itself), "BrokerVersion")["BrokerVersion"])

    def connected(self, agent: Jolokia) -> frozenset[str]:
        """Return the MBean names of all client connections."""
        (answer,) = agent.bulk([connection_request(broker_mbean(agent.calls_itself))])
        return frozenset(of_clients(value_of(agent.broker, answer), self._names.client_ids))

    def disconnect(self, agent: Jolokia, connections: Iterable[str]) -> None:
        if stops := [execute(name, "stop") for name in connections]:
            agent.bulk(stops)


def classic_queries(topology: Topology, name: str) -> BrokerQueries[Jolokia]:
    """Return the queries for one broker of a topology. Raises KeyError if the topology does not have it."""
    paired = len(pair_members(topology, name)) > 1
    return ClassicQueries(topology.broker(name), LinkNames.in_topology(topology), paired=paired)
