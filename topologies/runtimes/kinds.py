"""What must a runtime know of a kind of broker to start it? One value a flavour."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from topologies.model import Topology
from topologies.runtimes import artemis_jvm, jvm
from topologies.runtimes.jvm import BrokerFolders, Launch

Command = Callable[[Launch, BrokerFolders, Path, Path | None], list[str]]
"""(launch, the broker's folders, the agent's file, the store of a pair or None) -> argument list."""


@dataclass(frozen=True)
class Kind:
    """``distribution``: its name among the pinned ones; ``jar``: a file of it whose manifest has the version.

    ``secrets``: where below the private folder a broker's secrets are, ``{broker}`` for its name.
    ``first_serves``: of two brokers on one store the one that starts first serves, whatever they are called.
    """

    name: str
    distribution: str
    jar: str
    command: Command
    secrets: str
    first_serves: bool


KINDS = {
    "classic": Kind("activemq", "activemq-classic", "bin/activemq.jar", jvm.command, "brokers.properties", True),
    "artemis": Kind(
        "artemis", "activemq-artemis", "lib/artemis-boot.jar", artemis_jvm.command, "broker-{broker}", False
    ),
}


def kind_of(topology: Topology) -> Kind:
    return KINDS[topology.flavour]


def store_of(topology: Topology, broker: str, data: Callable[[str], Path]) -> Path | None:
    """The data folder of the broker that this one stands by for; None if it stands by for none."""
    active = topology.broker(broker).standby_of
    return data(active) if active else None


def followers_of(topology: Topology) -> dict[str, tuple[str, ...]]:
    """Broker to the standbys that must not start before it is up, or one of them would be the active. Pure."""
    if not kind_of(topology).first_serves:
        return {}
    pairs = [(broker.standby_of, broker.name) for broker in topology.brokers if broker.standby_of]
    return {active: tuple(standby for of, standby in pairs if of == active) for active, _ in pairs}
