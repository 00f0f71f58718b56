"""A runtime without brokers: the in-memory network behind the runtime contract.

The whole pipeline runs on it in seconds. It measures the harness, never a broker, and the report says so.
"""

from collections.abc import Collection
from pathlib import Path

from drivers.memory.connector import MemoryNetwork
from topologies.model.endpoints import Credentials, Endpoint, ManagementEndpoint
from topologies.runtimes.contract import Progress, RuntimeFailed

NOBODY = Credentials("memory", "")
NO_MANAGEMENT = "brokers in memory have no management; use --runtime processes or containers for that"
NO_JOIN = "brokers in memory have no links that could come up; use --runtime processes or containers for that"


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
            raise RuntimeFailed(f"broker {', '.join(absent)} in memory cannot be absent: {NO_JOIN}")
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

    def disconnect_clients(self, broker: str) -> int:
        raise RuntimeFailed(f"broker {broker!r}: {NO_MANAGEMENT}")

    def stop_link(self, link: str) -> None:
        raise RuntimeFailed(f"link {link!r}: {NO_MANAGEMENT}")

    start_link = stop_link

    def lower_store_limit(self, broker: str) -> None:
        raise RuntimeFailed(f"broker {broker!r}: {NO_MANAGEMENT}")

    restore_store_limit = lower_store_limit

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
        """All brokers share the network's queues: reported as the first one's, so that nothing is counted twice."""
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
