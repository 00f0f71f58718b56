"""Says which Artemis brokers cannot run in a container, and what the others tell clients from within one."""

from topologies.artemis.router import Router
from topologies.model.broker import AnyBroker
from topologies.model.topology import Topology


def no_container(topology: Topology, broker: AnyBroker) -> str:
    """Why a broker cannot run in a container, with the next step; '' if it can. Pure."""
    if isinstance(broker, Router):
        return f"router {broker.name!r} has no image, only brokers have one; use --runtime processes"
    return ""


def in_container(topology: Topology, broker: AnyBroker) -> AnyBroker:
    """The same: it tells of itself by the connector that its cluster uses.

    Clients that want to know of others by it, and not by their own URI, would have to be on the network of the
    containers.
    """
    return broker
