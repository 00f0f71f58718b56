"""Gives how each broker of a topology is asked about itself, and finds which of a pair serves."""

from collections.abc import Mapping
from contextlib import closing, suppress

from topologies.management.contract import BrokerQueries, ManagedBrokers, management_of, on_one_store
from topologies.management.jolokia import Jolokia, ManagementFailed
from topologies.model.topology import Topology


def queries_of(topology: Topology, name: str) -> BrokerQueries:
    """KeyError for a broker that the topology does not have."""
    return management_of(topology).queries(topology, name)


def queries_by_broker(topology: Topology) -> Mapping[str, BrokerQueries]:
    return {broker.name: queries_of(topology, broker.name) for broker in topology.brokers}


def serving(runtime: ManagedBrokers, topology: Topology, name: str, timeout_s: float) -> str:
    """The broker that serves now: this one, or one that takes its place; '' if none says so."""
    for member in on_one_store(topology, name):
        with suppress(ManagementFailed), closing(Jolokia(runtime.management(member), timeout_s)) as agent:
            if queries_of(topology, member).serves(agent):
                return member
    return ""
