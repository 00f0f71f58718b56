"""What do all containers of a run stand on? Its engine, image, network and labels."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from testcontainers.core.network import Network

from topologies.runtimes.containers.engine import Engine
from topologies.runtimes.containers.image import Image
from topologies.runtimes.kinds import Kind

EVERYWHERE = "0.0.0.0"  # inside a container, whose ports are published on chosen addresses of this machine only


@dataclass(frozen=True)
class Ground:
    """``labels``: by which a run's guard finds what it has to remove."""

    engine: Engine
    image: Image
    kind: Kind
    agent: Path  # Jolokia's jar
    network: Network
    names: Mapping[str, str]  # broker -> its name on the network
    labels: Mapping[str, str]

    def options(self, log_file: Path, *more: tuple[str, str]) -> dict[str, Any]:
        """What every container is created with. ``log_file``: in there. ``more``: labels."""
        return {
            "entrypoint": ["/bin/sh", "-c", into_the_log(log_file), "broker"],
            "labels": {**self.labels, **dict(more)},
            "user": self.engine.user,
            "userns_mode": self.engine.userns_mode,
            "security_opt": ["label=disable"],  # files are mounted from folders that SELinux has labelled for others
        }


def into_the_log(log_file: Path) -> str:
    """By the container's own process: complete whatever becomes of us."""
    return f'exec "$@" >>{log_file} 2>&1'
