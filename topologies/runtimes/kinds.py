"""What must a runtime know of a kind of broker to start it? One value a flavour."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from topologies.model import Topology
from topologies.runtimes import artemis_jvm, jvm
from topologies.runtimes.jvm import BrokerFolders, Launch

Command = Callable[[Launch, BrokerFolders, Path, Path | None], list[str]]
"""(launch, the broker's folders, the agent's file, the store of a pair or None) -> argument list."""


@dataclass(frozen=True)
class Image:
    """What brokers of a kind run from in containers: upstream's, or ``built`` by us where that cannot be pulled.

    ``home``: where both have the distribution, unless ``home_variable`` of their environment says otherwise.
    ``recipe``: folder of the Dockerfile, below docker-compose/images.
    """

    upstream: str
    built: str
    recipe: str
    home: PurePosixPath
    home_variable: str


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
    image: Image


KINDS = {
    "classic": Kind(
        "activemq", "activemq-classic", "bin/activemq.jar", jvm.command, "brokers.properties", True,
        Image(
            "apache/activemq-classic:5.18.3", "brokerbench/activemq-classic:5.18.3", "activemq-classic",
            PurePosixPath("/opt/apache-activemq"), "ACTIVEMQ_HOME",
        ),
    ),
    "artemis": Kind(
        "artemis", "activemq-artemis", "lib/artemis-boot.jar", artemis_jvm.command, "broker-{broker}", False,
        Image(
            "apache/activemq-artemis:2.44.0", "brokerbench/activemq-artemis:2.44.0", "activemq-artemis",
            PurePosixPath("/opt/activemq-artemis"), "ARTEMIS_HOME",
        ),
    ),
}  # fmt: skip
"""By flavour of topology."""


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
