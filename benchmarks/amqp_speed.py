"""Compares AMQP users under Locust with a bare proton loop, and with Artemis's own load generator.

``python -m benchmarks.amqp_speed [WHAT …] [--pairs N]`` starts one Artemis broker and prints Markdown tables for
docs/performance.md. Each WHAT takes two minutes with 5 pairs. A is one process with one producer and one consumer,
every message recorded (`benchmarks.stomp_users`, by AMQP). B is proton alone (`benchmarks.amqp_bare`) or ``artemis perf
client --protocol AMQP``, with one of each too. 1 KiB bodies, the same cap on messages that await their answer, the same
prefetch.
"""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from benchmarks import one_broker
from benchmarks.arguments import Parser, sized
from benchmarks.one_broker import BROKER, PerfClient, Side, side
from benchmarks.pairs import compare
from benchmarks.stopwatch import IN_FLIGHT
from topologies.runtimes.processes.runtime import ProcessRuntime

COUNT = {"durable": 10_000, "non-durable": 40_000}
PERF_WARM_UP_S, PERF_S = 4, 8


class AmqpBench:
    """One broker, and the sides of a comparison on it."""

    def __init__(self, runtime: ProcessRuntime, folder: Path, size: float) -> None:
        self._runtime, self._size, self._perf = runtime, size, PerfClient(runtime, folder)
        self._uri = runtime.endpoint(BROKER, "amqp").uri

    def users(self, kind: str) -> Side:
        return side(self._runtime, "stomp_users", "recorded", self._uri, self._count(kind), kind, "0")

    def proton(self, kind: str) -> Side:
        return side(self._runtime, "amqp_bare", self._uri, self._count(kind), kind)

    def _count(self, kind: str) -> str:
        return str(sized(COUNT[kind], self._size))

    def perf(self, kind: str) -> Side:
        """CPU: of the whole process, its start and its warm-up too, by the messages of the whole process."""
        warm_up_s, perf_s = sized(PERF_WARM_UP_S, self._size), sized(PERF_S, self._size, least=3)
        options = f"--silent --protocol AMQP --max-pending {IN_FLIGHT} --warmup {warm_up_s} --duration {perf_s}"

        def run() -> Sequence[float]:
            cpu_s, samples = self._perf.run(options, self._uri, durable=kind == "durable")
            return received_per_s(samples), cpu_s / samples[-1]["totalReceived"] * 1e6

        return run


def received_per_s(samples: Sequence[Mapping[str, object]]) -> float:
    """From the load generator's figures of every second after its warm-up: from the first such moment to the last."""
    warm = [sample for sample in samples if sample["sampleType"] == "interval" and sample["warmup"] is False]
    lasted_ms = int(str(warm[-1]["time"])) - int(str(warm[0]["time"]))
    return sum(int(str(sample["received"])) for sample in warm[1:]) / lasted_ms * 1_000


def _beside_proton(bench: AmqpBench, kind: str, pairs: int) -> None:
    compare(f"{kind}: users under Locust (A), bare proton (B)", bench.users(kind), bench.proton(kind), pairs)


def _beside_perf(bench: AmqpBench, kind: str, pairs: int) -> None:
    compare(f"{kind}: users under Locust (A), artemis perf client (B)", bench.users(kind), bench.perf(kind), pairs)


MEASUREMENTS: Mapping[str, Callable[[AmqpBench, int], None]] = {
    "proton-non-durable": lambda bench, pairs: _beside_proton(bench, "non-durable", pairs),
    "proton-durable": lambda bench, pairs: _beside_proton(bench, "durable", pairs),
    "perf-non-durable": lambda bench, pairs: _beside_perf(bench, "non-durable", pairs),
    "perf-durable": lambda bench, pairs: _beside_perf(bench, "durable", pairs),
}


if __name__ == "__main__":
    one_broker.run(Parser("amqp_speed", __doc__), "artemis-single", AmqpBench, MEASUREMENTS)
