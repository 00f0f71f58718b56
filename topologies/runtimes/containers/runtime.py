"""Runs brokers in containers, by Testcontainers on a local Docker engine, one network a topology.

Each broker is found on the network by its own name. Its files are mounted: configuration, passwords and Jolokia's agent
read-only; data and log from the run's folder. The container runs as the owner of these files. It is the same Java
process as in `processes.runtime`. Its port is published only on this machine's loopback, with the same number as
inside. A guard (topologies.runtimes.containers.guard) removes everything by label, however the run ends.
"""

import logging
from collections.abc import Collection
from contextlib import closing, suppress
from typing import Any

from records.rundir import RunDirectory
from topologies.management.broker_queries import queries_of
from topologies.management.jolokia import Jolokia, ManagementFailed
from topologies.model.topology import Topology
from topologies.runtimes.choice import no_containers
from topologies.runtimes.containers.broker_command import ContainersPrepared, prepare
from topologies.runtimes.containers.broker_container import BrokerContainer
from topologies.runtimes.containers.cleanup import left_behind, lost_with
from topologies.runtimes.containers.engine import answers
from topologies.runtimes.contract import Progress
from topologies.runtimes.own import OwnBrokers
from topologies.runtimes.prepared import Prepared
from topologies.runtimes.readiness import ASK_TIMEOUT_S

log = logging.getLogger("brokerbench")


class ContainerRuntime(OwnBrokers[BrokerContainer]):
    """Brokers in containers. ``image``: upstream's where None; further options as `OwnBrokers` has them."""

    name = "containers"

    def __init__(
        self, topology: Topology, directory: RunDirectory, *, image: str | None = None, **options: Any
    ) -> None:
        super().__init__(topology, directory, **options)
        if why := no_containers(topology):
            raise ValueError(why)
        self._image = image
        self._seen: dict[str, str] = {}
        self._told_what_is_left = False

    def up(self, progress: Progress, absent: Collection[str] = ()) -> None:
        super().up(progress, absent)
        self._seen = self._versions_told(next(each.name for each in self._topology.brokers if each.name not in absent))

    def versions(self) -> dict[str, str]:
        return {**super().versions(), **self._seen}

    def outage(self) -> str:
        """By the engine: containers cannot be asked about without it. It is asked now, as handles ask it rarely."""
        if self._prepared is None:
            return ""
        assert isinstance(self._prepared, ContainersPrepared)
        host = self._prepared.guard.engine.host
        return "" if answers(host) else lost_with(host)

    def _prepare(self, progress: Progress) -> ContainersPrepared:
        return prepare(self._topology, self._directory, self._wishes, self._authority, self._image, progress)

    def _end(self, prepared: Prepared[BrokerContainer]) -> None:
        """The guard does it, from outside: so it can be waited for in a signal handler too."""
        assert isinstance(prepared, ContainersPrepared)
        if not prepared.guard.finish():
            for handle in prepared.handles.values():
                handle.kill_process()
            if not self._told_what_is_left:
                log.warning("%s", left_behind(prepared.guard.engine.host, prepared.guard.token))
            self._told_what_is_left = True

    def _versions_told(self, broker: str) -> dict[str, str]:
        """The version in the image, as the broker itself prints it."""
        with closing(Jolokia(self.management(broker), ASK_TIMEOUT_S)) as agent, suppress(ManagementFailed):
            version = queries_of(self._topology, broker).version(agent)
            java = str(agent.read("java.lang:type=Runtime", "VmVersion")["VmVersion"])
            return {self._topology.product.launch.name: version, "java": java, "java-source": "image"}
        return {}
