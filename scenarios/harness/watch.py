"""How are brokers looked at during a run? By their management interface; those in memory are asked directly."""

from typing import Protocol

from records.writer import Recorder
from scenarios.harness.memory_runtime import MemoryRuntime
from topologies.management import classic, links
from topologies.management.jolokia import Jolokia
from topologies.management.sampling import Sampler
from topologies.model import Topology
from topologies.runtimes.contract import Progress, Runtime

PROOF_TIMEOUT_S = 30.0


class Watch(Protocol):
    """What a run wants to know of its brokers. Calls raise ManagementFailed when a broker does not say."""

    def begin(self) -> None:
        """Sample every broker once a second from now on."""

    def prove_links(self, progress: Progress) -> None:
        """Every link of the topology carries messages, by what both ends say. Raises LinksUnproven."""

    def depths(self, broker: str) -> dict[str, int]:
        """Messages on each queue of one broker, those that a consumer holds unacknowledged included."""

    def end(self) -> None: ...


class ManagedWatch:
    """Brokers with a Jolokia agent."""

    def __init__(self, topology: Topology, runtime: Runtime, recorder: Recorder) -> None:
        self._topology = topology
        self._runtime = runtime
        self._recorder = recorder
        self._sampler: Sampler | None = None

    def begin(self) -> None:
        self._sampler = Sampler(self._topology, self._runtime, self._recorder)
        self._sampler.start()

    def prove_links(self, progress: Progress) -> None:
        links.prove(self._topology, self._runtime, timeout_s=PROOF_TIMEOUT_S)
        progress(f"links proven: {', '.join(link.name for link in self._topology.links) or 'there are none'}")

    def depths(self, broker: str) -> dict[str, int]:
        jolokia = Jolokia(self._runtime.management(broker))
        try:
            return {queue.name: queue.depth for queue in classic.queues(jolokia)}
        finally:
            jolokia.close()

    def end(self) -> None:
        if self._sampler:
            self._sampler.stop()


class MemoryWatch:
    """Brokers in memory: nothing to sample, no link to prove."""

    def __init__(self, runtime: MemoryRuntime) -> None:
        self._runtime = runtime

    def begin(self) -> None:
        """There is nothing to sample."""

    def prove_links(self, progress: Progress) -> None:
        progress("brokers in memory: no links to prove")

    def depths(self, broker: str) -> dict[str, int]:
        return self._runtime.queue_depths(broker)

    def end(self) -> None:
        """Nothing was begun."""
