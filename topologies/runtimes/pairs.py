"""Says which store a broker of a pair works in, and which brokers must not start before others."""

from collections.abc import Callable
from pathlib import Path

from topologies.model.topology import Topology


def store_of(topology: Topology, broker: str, data: Callable[[str], Path]) -> Path | None:
    """For a standby the data folder of its active broker; None for any other broker."""
    active = topology.broker(broker).standby_of
    return data(active) if active else None


def followers_of(topology: Topology) -> dict[str, tuple[str, ...]]:
    """Broker to the standbys that must not start before it is up, or one of them would be the active. Pure."""
    if not topology.product.launch.first_serves:
        return {}
    pairs = [(broker.standby_of, broker.name) for broker in topology.brokers if broker.standby_of]
    return {active: tuple(standby for of, standby in pairs if of == active) for active, _ in pairs}
