"""How are brokers looked at during a run? By their management interface; those in memory are asked directly."""

from collections.abc import Mapping
from contextlib import closing
from typing import Protocol

from drivers.contract import Connector
from records.writer import Recorder
from scenarios.harness.browsing import Browser, ManagementBrowser
from scenarios.harness.memory_runtime import MemoryRuntime
from topologies.artemis.router import Router
from topologies.management.jolokia import Jolokia, ManagementFailed
from topologies.management.links import prove_links
from topologies.management.linktraffic import tell_round_trips, traffic
from topologies.management.sampling import Reading, Row, Sampler, Series
from topologies.management.views import serving, views_of
from topologies.model import Topology
from topologies.runtimes.contract import Progress, Runtime
from topologies.runtimes.own import proxies_of

ASK_TIMEOUT_S = 3.0
PROOF_TIMEOUT_S = 30.0


class Watch(Protocol):
    """What a run wants to know of its brokers. Calls raise ManagementFailed when a broker does not say."""

    def begin(self) -> None:
        """Sample every broker once a second from now on."""

    def prove_links(self, progress: Progress) -> None:
        """Every link of the topology carries messages, by what both ends say. Raises LinksNotProven."""

    def depths(self, broker: str) -> dict[str, int]:
        """Messages on each queue of one broker, those that a consumer holds unacknowledged included."""

    def browser(self, connector: Connector) -> Browser:
        """Who shows what lies on a queue: the clients' own protocol, where it can."""

    def latest(self) -> Mapping[Series, Reading]:
        """What was last sampled, without asking anybody."""

    def end(self) -> None: ...


class ManagedWatch:
    """Brokers with a Jolokia agent."""

    def __init__(self, topology: Topology, runtime: Runtime, recorder: Recorder, process: str) -> None:
        self._topology = topology
        self._runtime = runtime
        self._views = views_of(topology)
        self._keeps_messages = {broker.name: not isinstance(broker, Router) for broker in topology.brokers}
        self._recorder = recorder
        self._sampler = Sampler(runtime, topology, recorder, process=process, traffic=self._traffic)

    def begin(self) -> None:
        self._sampler.start()

    def prove_links(self, progress: Progress) -> None:
        prove_links(self._runtime, self._topology, timeout_s=PROOF_TIMEOUT_S, progress=progress)
        if proxies := proxies_of(self._runtime):
            for row in tell_round_trips(proxies, self._topology.links, progress):
                self._recorder.sample(*row)

    def _traffic(self) -> list[Row]:
        proxies = proxies_of(self._runtime)
        return traffic(proxies) if proxies else []

    def depths(self, broker: str) -> dict[str, int]:
        if not self._keeps_messages[broker]:
            return {}
        try:
            with closing(Jolokia(self._runtime.management(broker))) as agent:
                queues = self._views[broker].figures(agent).queues
        except ManagementFailed:
            if serving(self._runtime, self._topology, broker, ASK_TIMEOUT_S):
                return {}  # what it had is another's now, which is asked too
            raise
        return {queue: figures["depth"] for queue, figures in queues.items()}

    def browser(self, connector: Connector) -> Browser:
        if self._topology.flavour == "artemis" and connector.protocol == "stomp":
            return ManagementBrowser(self._runtime)
        return connector

    def latest(self) -> Mapping[Series, Reading]:
        return dict(self._sampler.latest)

    def end(self) -> None:
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

    def browser(self, connector: Connector) -> Browser:
        return connector

    def latest(self) -> Mapping[Series, Reading]:
        return {}

    def end(self) -> None:
        """Nothing was begun."""
