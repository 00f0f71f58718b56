"""Holds the common settings of a run's containers: engine, image, network and labels."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from testcontainers.core.network import Network

from topologies.model.product import ProductLaunch
from topologies.runtimes.containers.engine import Engine
from topologies.runtimes.containers.image import Image

EVERYWHERE = "0.0.0.0"  # inside a container; its ports are published only on chosen addresses of this machine


@dataclass(frozen=True)
class ContainerContext:
    """``labels``: by which a run's guard finds what it has to remove."""

    engine: Engine
    image: Image
    launch: ProductLaunch
    agent: Path  # Jolokia's jar
    network: Network
    names: Mapping[str, str]  # broker -> its name on the network
    labels: Mapping[str, str]

    def options(self, log_file: Path, *more: tuple[str, str]) -> dict[str, Any]:
        """The settings with which every container is created. ``log_file``: in there. ``more``: labels."""
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
