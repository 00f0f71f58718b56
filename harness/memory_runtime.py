"""A runtime without brokers: the in-memory network behind the runtime contract.

The whole pipeline runs on it in seconds. It measures the harness, never a broker, and the report says so.
"""

from collections.abc import Collection
from pathlib import Path

from drivers.memory.network import MemoryNetwork
from topologies.model.endpoints import Credentials, Endpoint, ManagementEndpoint
from topologies.runtimes.capabilities import Capability, why_not
from topologies.runtimes.contract import Progress, RuntimeFailed

NOBODY = Credentials("memory", "")


class MemoryRuntime:
    """Implements `topologies.runtimes.contract.Runtime` over ``drivers.memory.connector``."""

    name = "memory"
    trusted_pem = ""

    def __init__(self, brokers: list[str]) -> None:
        self.network = MemoryNetwork(brokers)
        self._first = brokers[0]
        self._down: set[str] = set()

    def up(self, progress: Progress, absent: Collection[str] = ()) -> None:
        if absent:
            why = why_not(self.name, Capability.LINKS_BROKERS)
            raise RuntimeFailed(f"broker {', '.join(absent)} in memory cannot be absent: {why}")
        progress("brokers in memory: nothing to start")

    def start(self, broker: str) -> None:
        self.network.restore(broker)
        self._down.discard(broker)

    def stop(self, broker: str) -> None:
        self.kill(broker)

    def kill(self, broker: str) -> None:
        self.network.kill(broker)
        self._down.add(broker)

    def pause(self, broker: str) -> None:
        self.network.freeze(broker)

    def resume(self, broker: str) -> None:
        self.network.thaw(broker)

    def alive(self, broker: str) -> bool:
        return broker not in self._down

    def outage(self) -> str:
        return ""

    def endpoint(self, broker: str, protocol: str) -> Endpoint:
        if protocol != "memory":
            raise KeyError(f"broker {broker} in memory has no {protocol} listener; it has: memory")
        return self.network.endpoint(broker)

    def management(self, broker: str) -> ManagementEndpoint:
        raise RuntimeFailed(f"broker {broker} in memory has no management interface")

    def credentials(self) -> Credentials:
        return NOBODY

    def queue_depths(self, broker: str) -> dict[str, int]:
        """Report the queues, which all brokers share, for the first broker only, so that they are counted once."""
        return self.network.depths() if broker == self._first else {}

    def pid(self, broker: str) -> int | None:
        return None

    def log_tail(self, broker: str) -> list[str]:
        return []

    def log_path(self, broker: str) -> Path | None:
        return None

    def versions(self) -> dict[str, str]:
        return {"broker": "in memory"}

    def rendered(self) -> dict[str, str]:
        return {}

    def close(self) -> None:
        self.network.close()
