"""What is a topology? Brokers, the links between them and the groups of clients that enter it.

Frozen values, checked when they are made: a `Topology` that exists is valid (`TopologyInvalid` otherwise). What is
legal but perhaps not meant is in `Topology.warnings`. The parts live in files of their own and are all named here.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from topologies import reach
from topologies.artemis import reach as artemis_reach
from topologies.artemis.validation import artemis_problems, artemis_warnings, kind_problems
from topologies.brokers import AnyBroker, Broker, KahaDb
from topologies.connectors import TransportConnector
from topologies.groups import CONSUMERS, PRODUCERS, ClientGroup
from topologies.impairment import Impairment
from topologies.links import Link, MulticastDiscovery, NetworkConnector, StaticDiscovery
from topologies.paths import Path, shortest_paths
from topologies.policies import BridgeFilter, DeadLetters, DestinationPolicy
from topologies.proxied import impairment_problems
from topologies.validation import active, problems, warnings
from topologies.validity import UNLIMITED, TopologyInvalid, require_choice, require_destinations, require_name

__all__ = [
    "CONSUMERS",
    "PRODUCERS",
    "UNLIMITED",
    "AnyBroker",
    "BridgeFilter",
    "Broker",
    "ClientGroup",
    "DeadLetters",
    "DestinationPolicy",
    "Impairment",
    "KahaDb",
    "Link",
    "MulticastDiscovery",
    "NetworkConnector",
    "Path",
    "StaticDiscovery",
    "Topology",
    "TopologyInvalid",
    "TransportConnector",
]


@dataclass(frozen=True)
class Topology:
    """``flavour``: classic | artemis, which says what the brokers are and so which renderer takes it."""

    name: str
    brokers: tuple[AnyBroker, ...]
    links: tuple[Link, ...]
    groups: tuple[ClientGroup, ...]
    flavour: str = "classic"

    def __post_init__(self) -> None:
        require_name("topology", self.name)
        require_choice(f"topology {self.name!r}", ("classic", "artemis"), flavour=self.flavour)
        found = (
            *kind_problems(self.flavour, self.brokers, self.links),
            *problems(self.brokers, self.links, self.groups),
            *artemis_problems(self.brokers, self.links),
            *impairment_problems(self.links),
        )
        if found:
            raise TopologyInvalid(*(f"topology {self.name!r}: {problem}" for problem in found))

    @property
    def warnings(self) -> tuple[str, ...]:
        """What is allowed, but may not be what was meant."""
        return (*warnings(self.brokers, self.links, self.groups), *artemis_warnings(self.brokers, self.links))

    def broker(self, name: str) -> AnyBroker:
        """Raises KeyError, naming the brokers there are."""
        for broker in self.brokers:
            if broker.name == name:
                return broker
        raise KeyError(f"topology {self.name!r} has no broker {name!r}; it has {_names(self.brokers)}")

    def group(self, name: str) -> ClientGroup:
        """Raises KeyError, naming the groups there are."""
        for group in self.groups:
            if group.name == name:
                return group
        raise KeyError(f"topology {self.name!r} has no client group {name!r}; it has {_names(self.groups)}")

    def opened_by(self, broker: str) -> tuple[Link, ...]:
        """The links that this broker opens, in their order."""
        return tuple(link for link in self.links if link.opened_by.name == broker)

    def reaches(self, producer: str, consumer: str, destination: str) -> bool:
        """Whether a message to ``queue://NAME`` or ``topic://NAME`` can get from broker to broker, by name.

        A prediction: topologies/reach.py says what it knows of, and topologies/artemis/reach.py. KeyError for a broker,
        `TopologyInvalid` for a destination that is none.
        """
        require_destinations(f"topology {self.name!r}", destination=(destination,))
        begin, end = self.broker(producer), self.broker(consumer)
        reaches = artemis_reach.reaches if self.flavour == "artemis" else reach.reaches
        active_at_begin, active_at_end = (broker.standby_of or broker.name for broker in (begin, end))
        return reaches(self.brokers, self.links, active_at_begin, active_at_end, destination)

    def stopped(self, paths: Iterable[Path], destination: str) -> tuple[Path, ...]:
        """Those of ``paths`` that a message to ``destination`` cannot take, by prediction: their links carry others."""
        if self.flavour == "classic" and reach.carry_all(self.brokers, self.links, destination):
            return ()  # else a large mesh would be asked for each of its thousands of pairs
        return tuple(path for path in paths if not self.reaches(path.begin, path.end, destination))

    def paths(self) -> dict[tuple[str, str], Path]:
        """The shortest path for every (producer's broker, consumer's broker) that the links and TTLs connect.

        Standbys have none of their own: the one that takes its active's place has its active's.
        """
        return shortest_paths((broker.name for broker in active(self.brokers)), self.links)

    def paths_between(self, producers: str, consumers: str) -> tuple[Path, ...]:
        """The paths that clients of two groups may use, by group name, in the order the brokers are listed."""
        known = self.paths()
        begins, ends = self.group(producers).enter_at, self.group(consumers).enter_at
        pairs = ((begin.name, end.name) for begin in begins for end in ends)
        return tuple(known[pair] for pair in pairs if pair in known)


def _names(parts: tuple[AnyBroker, ...] | tuple[ClientGroup, ...]) -> str:
    return ", ".join(part.name for part in parts) or "none"
