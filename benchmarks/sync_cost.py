"""Measures the cost of a broker's journal syncs: durable messages per second with and without syncs.

``python -m benchmarks.sync_cost [WHAT …] [--pairs N]`` starts two brokers that differ only in this setting, and prints
Markdown tables for docs/findings/durability.md. A has the default: the broker syncs every write before it confirms the
message. Producers send 1 KiB messages over STOMP, and wait for each confirmation before the next send. Both brokers
keep their data on the disk with the folder for temporary files.
"""

import threading
import time
from collections.abc import Callable, Sequence
from typing import Any

from benchmarks.arguments import Parser, scaled
from benchmarks.one_broker import BROKER, broker
from benchmarks.pairs import compare, conditions
from benchmarks.stomp_bare import BareListener, connected
from benchmarks.stopwatch import BODY_BYTES
from brokerbench.durability.cells import ARTEMIS_JOURNALS, CLASSIC_JOURNALS, persistence_overlay
from topologies.runtimes.processes.runtime import ProcessRuntime

PRODUCERS, SECONDS = (1, 16), 5.0


class SyncLoad:
    """Sends from several producers to one broker, over connections that stay open."""

    def __init__(self, runtime: ProcessRuntime, producers: int, seconds: float) -> None:
        uri, password = runtime.endpoint(BROKER, "stomp").uri, runtime.credentials().password
        self._connections = [connected(uri, password) for _ in range(producers)]
        self._destination, self._seconds = f"/queue/benchmark.{time.time_ns()}", seconds

    def __call__(self) -> Sequence[float]:
        """Send for the duration of the measurement. Return the confirmed messages per second of all producers."""
        counts = [0] * len(self._connections)
        end_s = time.perf_counter() + self._seconds

        def produce(number: int, connection: Any, listener: BareListener) -> None:
            while time.perf_counter() < end_s:
                listener.open.add(receipt := str(counts[number]))
                headers = {"persistent": "true", "receipt": receipt}
                connection.send(self._destination, b"x" * BODY_BYTES, headers=headers)
                listener.wait_for_receipt(receipt)
                counts[number] += 1

        threads = [
            threading.Thread(target=produce, args=(number, *pair)) for number, pair in enumerate(self._connections)
        ]
        began_s = time.perf_counter()
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return [sum(counts) / (time.perf_counter() - began_s)]


def classic(setting: str, pairs: int, size: float) -> None:
    _compare("single", CLASSIC_JOURNALS["always"], CLASSIC_JOURNALS[setting], setting, pairs, size)


def artemis(kind: str, pairs: int, size: float) -> None:
    synced, unsynced = ARTEMIS_JOURNALS[f"{kind} synced"], ARTEMIS_JOURNALS[f"{kind} unsynced"]
    _compare("artemis-single", synced, unsynced, f"{kind} unsynced", pairs, size)


def _compare(entry: str, synced: str, other: str, name: str, pairs: int, size: float) -> None:
    """Print a table for each number of producers."""
    with (
        broker(entry, persistence_overlay(synced)) as (first, _),
        broker(entry, persistence_overlay(other)) as (second, _),
    ):
        for producers in PRODUCERS:
            seconds = scaled(SECONDS * 1_000, size) / 1_000
            a, b = (SyncLoad(runtime, producers, seconds) for runtime in (first, second))
            title = f"{entry}, {producers} producers: every write synced (A), {name} (B)"
            compare(title, a, b, pairs, units={"messages per second": "/s"})


MEASUREMENTS: dict[str, Callable[[int, float], None]] = {
    "periodic": lambda pairs, size: classic("periodic", pairs, size),
    "never": lambda pairs, size: classic("never", pairs, size),
    "NIO": lambda pairs, size: artemis("NIO", pairs, size),
    "ASYNCIO": lambda pairs, size: artemis("ASYNCIO", pairs, size),
}


if __name__ == "__main__":
    parser = Parser("sync_cost", __doc__)
    parser.add_measurements(MEASUREMENTS)
    parser.add_pairs()
    parser.add_size()
    options = parser.parse_args()
    print(conditions())
    for name in options.measurements or MEASUREMENTS:
        MEASUREMENTS[name](options.pairs, options.size)
