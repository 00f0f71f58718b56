"""How do brokers run in containers? By Testcontainers on a local Docker engine, one network a topology.

Each broker is found on the network by its own name. Its files are mounted: configuration, passwords and Jolokia's agent
read-only, data and log from the run's folder, as the user whose files they are. It is the same Java process as in
`processes.runtime`, on the same port inside as on this machine's loopback, where alone it is published.
A guard (topologies.runtimes.containers.guard) removes everything by label, however the run ends.
"""

import logging
from contextlib import closing, suppress
from typing import Any

from records.rundir import RunDirectory
from topologies.management.jolokia import Jolokia, ManagementFailed
from topologies.management.views import view_of
from topologies.model import Topology
from topologies.runtimes.choice import no_containers
from topologies.runtimes.containers.broker import BrokerContainer
from topologies.runtimes.containers.cleanup import left_behind, lost_with
from topologies.runtimes.containers.preparation import ContainersPrepared, prepare
from topologies.runtimes.contract import Progress
from topologies.runtimes.kinds import kind_of
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

    def up(self, progress: Progress) -> None:
        super().up(progress)
        self._seen = self._versions_told(self._topology.brokers[0].name)

    def versions(self) -> dict[str, str]:
        return {**super().versions(), **self._seen}

    def outage(self) -> str:
        """By the engine: containers cannot be asked about without it."""
        if self._prepared is None or any(handle.engine_answers for handle in self._prepared.handles.values()):
            return ""
        assert isinstance(self._prepared, ContainersPrepared)
        return lost_with(self._prepared.guard.engine.host)

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
        """What is in the image, by the broker itself."""
        with closing(Jolokia(self.management(broker), ASK_TIMEOUT_S)) as agent, suppress(ManagementFailed):
            version = view_of(self._topology, broker).version(agent)
            java = str(agent.read("java.lang:type=Runtime", "VmVersion")["VmVersion"])
            return {kind_of(self._topology).name: version, "java": java, "java-source": "image"}
        return {}
