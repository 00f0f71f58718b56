"""Says what a Classic broker tells clients from within a container, and which cannot be in one."""

from topologies.classic.broker import Broker
from topologies.classic.render.network_connectors import looked_for
from topologies.model.broker import AnyBroker
from topologies.model.stated import changed
from topologies.model.topology import Topology


def no_container(topology: Topology, broker: AnyBroker) -> str:
    """Why a broker cannot run in a container, with the next step; '' if it can. Pure."""
    if isinstance(broker, Broker) and looked_for(topology, broker) and _tells_clients(broker):
        return (
            f"broker {broker.name!r} is found by multicast and has update_cluster_clients: in a container it has"
            " one address for brokers and another for clients, and tells both the same; use --runtime processes, or"
            " give the links that lead to it a static discovery"
        )
    return ""


def in_container(topology: Topology, broker: AnyBroker) -> AnyBroker:
    """It announces its address to clients. This machine publishes it at that address.

    One that others find by multicast publishes its name, by which they reach it: it tells everyone the same.
    """
    if not isinstance(broker, Broker):
        return broker
    host = "hostname" if looked_for(topology, broker) else "ipaddress"
    return changed(broker, connectors=tuple(changed(each, published_host=host) for each in broker.connectors))


def _tells_clients(broker: Broker) -> bool:
    return any(connector.update_cluster_clients for connector in broker.connectors)
