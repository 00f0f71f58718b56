"""Compares Core users under Locust, which record every message, with ``artemis perf client``.

``python -m benchmarks.core_speed [WHAT …] [--pairs N]`` starts one Artemis broker and prints Markdown tables for
docs/performance.md. A is `benchmarks.java_users`; B is ``perf client --max-pending 1000`` of the Artemis distribution.
Each is one process with one producer and one consumer, which use the same queue. Both send 1 KiB messages, have the
same limit of unanswered sends, and are warmed up. A's rate is the number of messages divided by the time from the first
send to the last receipt. B's rate is the mean of the messages received in each second. Pauses of the broker count in
both rates. CPU is the clients' CPU time; for B it excludes the start.
"""

import statistics
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import psutil

from benchmarks import one_broker
from benchmarks.arguments import Parser, scaled
from benchmarks.one_broker import PerfClient, java_side, run_paced
from benchmarks.pairs import compare
from benchmarks.store_use import bare_syncs_per_s, watched
from topologies.runtimes.processes.runtime import ProcessRuntime

AHEAD = 1_000  # limit of unanswered sends, the same on both sides
ANSWERED_BYTES = (
    1 << 20
)  # without a window, the tool waits for the answer to each durable send; our client has one, too
COUNT = {"durable": 60_000, "non-durable": 150_000}
WARM_UP, WARM_UP_S, TOOL_S = 50_000, 4, 8
TITLE = f"users under Locust (A), artemis perf client --max-pending {AHEAD} (B)"
Side = Callable[[], Sequence[float]]
STORE_UNITS = {
    "messages per second": "/s",
    "cores that worked": "",
    "cores that the broker took": "",
    "syncs of the disk per second": "/s",
}


class CoreBench:
    """The sides of the Core comparisons, all on one broker."""

    def __init__(self, runtime: ProcessRuntime, folder: Path, size: float) -> None:
        self.runtime, self.folder, self.size = runtime, folder, size
        self._perf = PerfClient(runtime, folder)
        self._start_cpu_s = self._run("--message-count 1", durable=False)[0]

    def tool(self, *, durable: bool) -> Sequence[float]:
        """Run the perf client and return its messages per second and CPU us per message."""
        warm_up_s, tool_s = scaled(WARM_UP_S, self.size), scaled(TOOL_S, self.size, least=3)
        options = f"--max-pending {AHEAD} --warmup {warm_up_s} --duration {tool_s}"
        cpu_s, samples = self._run(options, durable=durable)
        (summary,) = (sample for sample in samples if sample["sampleType"] == "summary")
        received = [
            float(sample["received"])
            for sample in samples
            if sample["sampleType"] == "interval" and not sample["warmup"]
        ]
        assert summary["result"] == "success", summary
        cpu_us = (cpu_s - self._start_cpu_s) / float(summary["totalReceived"]) * 1e6
        return statistics.fmean(received[: tool_s - warm_up_s]), cpu_us

    def _run(self, options: str, *, durable: bool) -> tuple[float, list[dict[str, Any]]]:
        ahead_bytes = ANSWERED_BYTES if durable else -1
        uri = f"{self.runtime.endpoint('broker-1', 'core').uri}?confirmationWindowSize={ahead_bytes}"
        return self._perf.run(options, uri, durable=durable)


def sides(bench: CoreBench, kind: str) -> tuple[Side, Side]:
    """Return the side of our users and the side of ``artemis perf client``."""
    durable = kind == "durable"
    count, warm_up = scaled(COUNT[kind], bench.size), scaled(WARM_UP, bench.size)
    ours = java_side(bench.runtime, "core", count, durable=durable, in_flight=AHEAD, warm_up=warm_up)
    return ours, partial(bench.tool, durable=durable)


def compare_with_tool(bench: CoreBench, kind: str, pairs: int) -> None:
    compare(f"{kind}: {TITLE}", *sides(bench, kind), pairs, warm=False)


def store(bench: CoreBench, pairs: int) -> None:
    """Compare durable messages again, together with the cores and disk syncs that each side uses."""
    (broker,) = (child for child in psutil.Process().children(recursive=True) if "java" in child.name())

    def with_use(side: Side) -> Sequence[float]:
        with watched(bench.folder, broker) as use:
            rate, _ = side()
        return rate, *use.under_load()

    ours, tool = (partial(with_use, side) for side in sides(bench, "durable"))
    compare(f"durable, and what it takes: {TITLE}", ours, tool, pairs, warm=False, units=STORE_UNITS)
    print(f"Syncs of 4 KiB in one thread, without a broker: {bare_syncs_per_s(bench.folder):,.0f}/s", flush=True)


MEASUREMENTS: Mapping[str, Callable[[CoreBench, int], None]] = {
    "non-durable": lambda bench, pairs: compare_with_tool(bench, "non-durable", pairs),
    "durable": lambda bench, pairs: compare_with_tool(bench, "durable", pairs),
    "store": store,
    "paced": lambda bench, pairs: run_paced(bench.runtime, "core", pairs, bench.size),
}


if __name__ == "__main__":
    one_broker.run(Parser("core_speed", __doc__), "artemis-single", CoreBench, MEASUREMENTS)
