"""Compares STOMP users under Locust with a bare stomp.py loop, and measures the cost of recording.

``python -m benchmarks.stomp_speed [WHAT …] [--pairs N]`` starts one broker and prints Markdown tables for
docs/performance.md. It takes about four minutes with 5 pairs. Each side (`benchmarks.stomp_users`,
`benchmarks.stomp_bare`) is one process with one producer and one consumer. Both sides use 1 KiB bodies, the same limit
of durable messages in flight, and the same prefetch.
"""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from benchmarks import one_broker
from benchmarks.arguments import Parser, scaled
from benchmarks.one_broker import BROKER, Side, side
from benchmarks.pairs import compare
from topologies.runtimes.processes.runtime import ProcessRuntime

COUNT = {"durable": 6_000, "non-durable": 30_000}
PACED_PER_S, PACED_COUNT = 2_000, 6_000


class StompBench:
    """The sides of the STOMP comparisons, all on one broker."""

    def __init__(self, runtime: ProcessRuntime, folder: Path, size: float) -> None:
        self._runtime, self._size, self._uri = runtime, size, runtime.endpoint(BROKER, "stomp").uri

    def compare_with_bare(self, kind: str, pairs: int) -> None:
        ours, bare = self._users("recorded", kind, COUNT[kind]), self._bare(kind, COUNT[kind])
        compare(f"{kind}, as fast as it goes: users under Locust (A), bare stomp.py (B)", ours, bare, pairs)

    def recording(self, pairs: int) -> None:
        paced = "non-durable", PACED_COUNT, PACED_PER_S
        sides = self._users("recorded", *paced), self._users("unrecorded", *paced)
        compare(f"non-durable, {PACED_PER_S}/s: recorded (A), unrecorded (B)", *sides, pairs)

    def _users(self, mode: str, kind: str, count: int, rate: int = 0) -> Side:
        return side(self._runtime, "stomp_users", mode, *self._load(kind, count), str(rate))

    def _bare(self, kind: str, count: int) -> Side:
        return side(self._runtime, "stomp_bare", *self._load(kind, count))

    def _load(self, kind: str, count: int) -> Sequence[str]:
        return self._uri, str(scaled(count, self._size)), kind


MEASUREMENTS: Mapping[str, Callable[[StompBench, int], None]] = {
    "durable": lambda bench, pairs: bench.compare_with_bare("durable", pairs),
    "non-durable": lambda bench, pairs: bench.compare_with_bare("non-durable", pairs),
    "recording": lambda bench, pairs: bench.recording(pairs),
}


if __name__ == "__main__":
    one_broker.run(Parser("stomp_speed", __doc__), "single", StompBench, MEASUREMENTS)
