"""Compares AMQP users under Locust with a bare proton loop, and with the load generator of Artemis.

``python -m benchmarks.amqp_speed [WHAT …] [--pairs N]`` starts one Artemis broker and prints Markdown tables for
docs/performance.md. Each WHAT takes two minutes with 5 pairs. A is one process with one producer and one consumer, and
records every message (`benchmarks.stomp_users` with an AMQP URI). B is proton alone (`benchmarks.amqp_bare`) or
``artemis perf client --protocol AMQP``, also with one producer and one consumer. Both sides use 1 KiB bodies, the same
limit of unanswered sends, and the same prefetch.
"""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from benchmarks import one_broker
from benchmarks.arguments import Parser, scaled
from benchmarks.one_broker import BROKER, PerfClient, Side, side
from benchmarks.pairs import compare
from benchmarks.stopwatch import IN_FLIGHT
from topologies.runtimes.processes.runtime import ProcessRuntime

COUNT = {"durable": 10_000, "non-durable": 40_000}
PERF_WARM_UP_S, PERF_S = 4, 8


class AmqpBench:
    """The sides of the AMQP comparisons, all on one broker."""

    def __init__(self, runtime: ProcessRuntime, folder: Path, size: float) -> None:
        self._runtime, self._size, self._perf = runtime, size, PerfClient(runtime, folder)
        self._uri = runtime.endpoint(BROKER, "amqp").uri

    def users(self, kind: str) -> Side:
        return side(self._runtime, "stomp_users", "recorded", self._uri, self._count(kind), kind, "0")

    def proton(self, kind: str) -> Side:
        return side(self._runtime, "amqp_bare", self._uri, self._count(kind), kind)

    def _count(self, kind: str) -> str:
        return str(scaled(COUNT[kind], self._size))

    def perf(self, kind: str) -> Side:
        """Return the side of ``artemis perf client``.

        CPU per message is the CPU time of the whole process, including start and warm-up, divided by all its messages.
        """
        warm_up_s, perf_s = scaled(PERF_WARM_UP_S, self._size), scaled(PERF_S, self._size, least=3)
        options = f"--silent --protocol AMQP --max-pending {IN_FLIGHT} --warmup {warm_up_s} --duration {perf_s}"

        def run() -> Sequence[float]:
            cpu_s, samples = self._perf.run(options, self._uri, durable=kind == "durable")
            return received_per_s(samples), cpu_s / samples[-1]["totalReceived"] * 1e6

        return run


def received_per_s(samples: Sequence[Mapping[str, object]]) -> float:
    """Return the mean rate from the load generator's first sample after warm-up to its last sample."""
    warm = [sample for sample in samples if sample["sampleType"] == "interval" and sample["warmup"] is False]
    lasted_ms = int(str(warm[-1]["time"])) - int(str(warm[0]["time"]))
    return sum(int(str(sample["received"])) for sample in warm[1:]) / lasted_ms * 1_000


def _compare_with_proton(bench: AmqpBench, kind: str, pairs: int) -> None:
    compare(f"{kind}: users under Locust (A), bare proton (B)", bench.users(kind), bench.proton(kind), pairs)


def _compare_with_perf(bench: AmqpBench, kind: str, pairs: int) -> None:
    compare(f"{kind}: users under Locust (A), artemis perf client (B)", bench.users(kind), bench.perf(kind), pairs)


MEASUREMENTS: Mapping[str, Callable[[AmqpBench, int], None]] = {
    "proton-non-durable": lambda bench, pairs: _compare_with_proton(bench, "non-durable", pairs),
    "proton-durable": lambda bench, pairs: _compare_with_proton(bench, "durable", pairs),
    "perf-non-durable": lambda bench, pairs: _compare_with_perf(bench, "non-durable", pairs),
    "perf-durable": lambda bench, pairs: _compare_with_perf(bench, "durable", pairs),
}


if __name__ == "__main__":
    one_broker.run(Parser("amqp_speed", __doc__), "artemis-single", AmqpBench, MEASUREMENTS)
