"""How is a broker asked about itself, whatever its kind? Each kind answers the same questions, as the same values."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from topologies.artemis import REPLICATION, ArtemisBroker
from topologies.artemis_router import Router
from topologies.brokers import AnyBroker
from topologies.links import NetworkConnector
from topologies.management import artemis, classic
from topologies.management.classic import Figures
from topologies.management.jolokia import Jolokia
from topologies.model import Topology


class View(Protocol):
    """One broker of a topology. Calls raise ManagementFailed when the broker does not answer."""

    @property
    def duplex(self) -> Mapping[tuple[str, str], str]:
        """(opener, far end) to link, where the far end of a link does not know the link's own name."""

    def serves(self, agent: Jolokia) -> bool:
        """Whether it has started all that clients connect to."""

    def stands_by(self, agent: Jolokia) -> bool:
        """Whether it waits, as a standby should, and listens to no client."""

    def figures(self, agent: Jolokia) -> Figures: ...


@dataclass(frozen=True)
class LinkNames:
    """What a topology knows of its links and MBeans do not tell."""

    client_ids: frozenset[str]  # with which bridges log in
    duplex: Mapping[tuple[str, str], str]  # (opener, far end) -> link, where that is the only duplex one

    def figures(self, agent: Jolokia) -> Figures:
        return classic.figures_of(agent, self.client_ids)

    @classmethod
    def of(cls, topology: Topology) -> "LinkNames":
        links = [link for link in topology.links if isinstance(link, NetworkConnector)]
        ends = Counter((link.opened_by.name, link.to.name) for link in links if link.duplex)
        return cls(
            frozenset(classic.bridge_client_id(link.name, link.opened_by.name, link.client_id_token) for link in links),
            {
                (link.opened_by.name, link.to.name): link.name
                for link in links
                if link.duplex and ends[link.opened_by.name, link.to.name] == 1
            },
        )


class ClassicView:
    """ActiveMQ Classic."""

    def __init__(self, broker: AnyBroker, names: LinkNames) -> None:
        self._connectors, self._names = len(broker.protocols), names

    @property
    def duplex(self) -> Mapping[tuple[str, str], str]:
        return self._names.duplex

    def serves(self, agent: Jolokia) -> bool:
        return classic.started_connectors(agent) >= self._connectors

    def stands_by(self, agent: Jolokia) -> bool:
        return False

    def figures(self, agent: Jolokia) -> Figures:
        return self._names.figures(agent)


class ArtemisView:
    """ActiveMQ Artemis."""

    def __init__(self, broker: ArtemisBroker, links: artemis.LinksHere) -> None:
        self._broker, self._links = broker, links
        self.duplex: Mapping[tuple[str, str], str] = {}

    def serves(self, agent: Jolokia) -> bool:
        return artemis.serves(agent, len(self._broker.acceptors))

    def stands_by(self, agent: Jolokia) -> bool:
        policy = self._broker.ha
        if not self._broker.standby_of or policy is None:
            return False
        return artemis.stands_by(agent, replicated=policy.kind == REPLICATION)

    def figures(self, agent: Jolokia) -> Figures:
        return artemis.figures_of(agent, self._links)


class RouterView:
    """A router keeps no message, and has no agent to be asked: what it does is seen at its ends."""

    duplex: Mapping[tuple[str, str], str] = {}

    def serves(self, agent: Jolokia) -> bool:
        return True

    def stands_by(self, agent: Jolokia) -> bool:
        return False

    def figures(self, agent: Jolokia) -> Figures:
        return Figures({}, {}, (), {})


def view_of(topology: Topology, name: str) -> View:
    """KeyError for a broker that the topology does not have."""
    broker = topology.broker(name)
    match broker:
        case ArtemisBroker():
            return ArtemisView(broker, artemis.LinksHere.of(topology, name))
        case Router():
            return RouterView()
    return ClassicView(broker, LinkNames.of(topology))


def views_of(topology: Topology) -> Mapping[str, View]:
    return {broker.name: view_of(topology, broker.name) for broker in topology.brokers}
