"""Finds the management operations of a topology's product, and opens the agents of its brokers."""

from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any, Protocol

from topologies.model.endpoints import ManagementEndpoint
from topologies.model.management import BrokerQueries, ManagementFailed
from topologies.model.topology import ProductManagement, Topology

ANSWER_TIMEOUT_S = 5.0
RESTARTED = " (restarted)"
"""End of the names of rendered files that a restart has changed."""


class ManagedBrokers(Protocol):
    """The part of a runtime that management needs (topologies.runtimes.contract.Runtime)."""

    def management(self, broker: str) -> ManagementEndpoint:
        """Return the broker's endpoint. Raises ManagementFailed if it has none."""

    def pid(self, broker: str) -> int | None: ...
    def log_path(self, broker: str) -> Path | None: ...
    def rendered(self) -> dict[str, str]: ...


def current_files(rendered: Mapping[str, str]) -> dict[str, str]:
    """Return each rendered file as the last restart has left it, by the name that it had at the start."""
    return {name.removesuffix(RESTARTED): text for name, text in sorted(rendered.items())}


def management_of(topology: Topology) -> ProductManagement[Any]:
    """Return the management operations of the topology's product."""
    return topology.product.management


@contextmanager
def agent_at(topology: Topology, endpoint: ManagementEndpoint, timeout_s: float = ANSWER_TIMEOUT_S) -> Iterator[Any]:
    """Open the agent of a broker of a topology, and close it afterwards."""
    with closing(management_of(topology).connect(endpoint, timeout_s)) as agent:
        yield agent


def pair_members(topology: Topology, name: str) -> tuple[str, ...]:
    """Return the brokers that can replace each other: the active broker, then its standbys.

    Raises KeyError for an unknown broker.
    """
    active = topology.broker(name).active
    return (active, *(broker.name for broker in topology.brokers if broker.standby_of == active))


def queries_of(topology: Topology, name: str) -> BrokerQueries[Any]:
    """Return the queries for one broker of a topology. Raises KeyError if the topology does not have it."""
    return management_of(topology).queries(topology, name)


def queries_by_broker(topology: Topology) -> Mapping[str, BrokerQueries[Any]]:
    return {broker.name: queries_of(topology, broker.name) for broker in topology.brokers}


def serving(runtime: ManagedBrokers, topology: Topology, name: str, timeout_s: float) -> str:
    """Return the broker that serves now: this broker or its replacement; empty if no broker reports that it serves."""
    for member in pair_members(topology, name):
        with suppress(ManagementFailed), agent_at(topology, runtime.management(member), timeout_s) as agent:
            if queries_of(topology, member).serves(agent):
                return member
    return ""
