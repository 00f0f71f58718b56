"""How is a broker asked about itself, whatever its kind? Each kind answers the same questions, as the same values."""

from collections import Counter
from collections.abc import Mapping
from contextlib import closing, suppress
from dataclasses import dataclass
from typing import Protocol

from topologies.artemis.brokers import REPLICATION, ArtemisBroker
from topologies.artemis.router import Router
from topologies.brokers import AnyBroker
from topologies.endpoints import ManagementEndpoint
from topologies.links import NetworkConnector
from topologies.management import artemis, classic
from topologies.management.classic import Figures
from topologies.management.jolokia import Jolokia, ManagementFailed
from topologies.model import Topology


class View(Protocol):
    """One broker of a topology. Calls raise ManagementFailed when the broker does not answer."""

    @property
    def duplex(self) -> Mapping[tuple[str, str], str]:
        """(opener, far end) to link, where the far end of a link does not know the link's own name."""

    def serves(self, agent: Jolokia) -> bool:
        """Whether it has started all that clients connect to."""

    def stands_by(self, agent: Jolokia) -> bool:
        """Whether it waits, as a standby should, and listens to no client; perhaps also while it starts."""

    def figures(self, agent: Jolokia) -> Figures: ...
    def names(self, agent: Jolokia) -> list[str]:
        """What the brokers behind an agent call themselves, for one should be this."""

    def version(self, agent: Jolokia) -> str:
        """What it says it is; '' for one that cannot be asked."""


@dataclass(frozen=True)
class LinkNames:
    """What a topology knows of its links and MBeans do not tell."""

    client_ids: frozenset[str]  # with which bridges log in
    duplex: Mapping[tuple[str, str], str]  # (opener, far end) -> link, where that is the only duplex one

    def figures(self, agent: Jolokia) -> Figures:
        return classic.figures_of(agent, self.client_ids)

    @classmethod
    def of(cls, topology: Topology) -> "LinkNames":
        """A standby opens and answers its active's links in its own name."""
        links = [link for link in topology.links if isinstance(link, NetworkConnector)]
        ends = Counter((link.opened_by.name, link.to.name) for link in links if link.duplex)
        openers = {link.name: on_one_store(topology, link.opened_by.name) for link in links}
        return cls(
            frozenset(
                classic.bridge_client_id(link.name, opener, link.client_id_token)
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


class ClassicView:
    """ActiveMQ Classic. ``paired``: another broker has the same store, so it may have to wait for it."""

    def __init__(self, broker: AnyBroker, names: LinkNames, *, paired: bool) -> None:
        self._connectors, self._names, self._paired = len(broker.protocols), names, paired

    @property
    def duplex(self) -> Mapping[tuple[str, str], str]:
        return self._names.duplex

    def serves(self, agent: Jolokia) -> bool:
        return classic.started_connectors(agent) >= self._connectors

    def stands_by(self, agent: Jolokia) -> bool:
        return self._paired and classic.stands_by(agent)

    def figures(self, agent: Jolokia) -> Figures:
        return classic.figures_of_standby(agent) if self.stands_by(agent) else self._names.figures(agent)

    def names(self, agent: Jolokia) -> list[str]:
        return classic.names(agent)

    def version(self, agent: Jolokia) -> str:
        return classic.version(agent)


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

    def names(self, agent: Jolokia) -> list[str]:
        return artemis.names(agent)

    def version(self, agent: Jolokia) -> str:
        return artemis.version(agent)


class RouterView:
    """A router keeps no message, and has no agent to be asked: what it does is seen at its ends."""

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


def view_of(topology: Topology, name: str) -> View:
    """KeyError for a broker that the topology does not have."""
    broker = topology.broker(name)
    match broker:
        case ArtemisBroker():
            return ArtemisView(broker, artemis.LinksHere.of(topology, name))
        case Router():
            return RouterView()
    return ClassicView(broker, LinkNames.of(topology), paired=len(on_one_store(topology, name)) > 1)


def views_of(topology: Topology) -> Mapping[str, View]:
    return {broker.name: view_of(topology, broker.name) for broker in topology.brokers}


def on_one_store(topology: Topology, name: str) -> tuple[str, ...]:
    """Those of which one serves in another's place: the active, then its standbys. KeyError for an unknown one."""
    active = topology.broker(name).standby_of or name
    return (active, *(broker.name for broker in topology.brokers if broker.standby_of == active))


class Managed(Protocol):
    """What is needed of a runtime (topologies.runtimes.contract.Runtime)."""

    def management(self, broker: str) -> ManagementEndpoint:
        """Raises ManagementFailed when it has none."""


def serving(runtime: Managed, topology: Topology, name: str, timeout_s: float) -> str:
    """Which of the brokers that may have this one's place serves now; '' if none says so."""
    for member in on_one_store(topology, name):
        with suppress(ManagementFailed), closing(Jolokia(runtime.management(member), timeout_s)) as agent:
            if view_of(topology, member).serves(agent):
                return member
    return ""
