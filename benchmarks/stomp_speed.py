"""What does recording cost, and what does the STOMP driver cost over a bare stomp.py loop?

``python -m benchmarks.stomp_speed [PAIRS]`` starts one broker and prints Markdown tables for docs/performance.md.
Every side is one process with one producer and one consumer, 1 KiB bodies, the same in-flight cap and prefetch.
"""

import json
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

from benchmarks.pairs import HEADER, conditions, measure
from records.rundir import RunDirectory
from topologies.catalogue import build
from topologies.runtimes.processes import ProcessRuntime

COUNT = {"durable": 4_000, "non-durable": 20_000}
PACED_PER_S = 500.0
BROKER = "broker-1"


def worker(runtime: ProcessRuntime, mode: str, rate: float, kind: str) -> Callable[[], Sequence[float]]:
    """One side: messages a second, and CPU microseconds a message."""
    arguments = [mode, runtime.endpoint(BROKER, "stomp").uri, str(COUNT[kind]), str(rate), kind]

    def side() -> Sequence[float]:
        done = subprocess.run(
            [sys.executable, "-W", "ignore", "-m", "benchmarks.stomp_worker", *arguments],
            input=runtime.credentials().password,
            capture_output=True,
            text=True,
            check=True,
        )
        figures = json.loads(done.stdout.splitlines()[-1])
        return figures["messages_per_s"], figures["cpu_us_per_message"]

    return side


def compare(runtime: ProcessRuntime, kind: str, a: str, b: str, rate: float, pairs: int) -> None:
    pace = f"{rate:g} messages a second" if rate else "as fast as it goes"
    rates, cpu = measure(worker(runtime, a, rate, kind), worker(runtime, b, rate, kind), pairs)
    print(f"\n{kind}, {pace}: {a} (A) against {b} (B)\n\n{HEADER}")
    print(rates.row("messages a second", "/s"))
    print(cpu.row("CPU a message", "µs"), flush=True)


def main(pairs: int) -> None:
    print(conditions())
    with tempfile.TemporaryDirectory() as folder:
        runtime = ProcessRuntime(build("single"), RunDirectory.create(Path(folder), "broker"))
        runtime.up(print)
        try:
            for kind in COUNT:
                compare(runtime, kind, "recorded", "unrecorded", PACED_PER_S, pairs)
                compare(runtime, kind, "recorded", "bare", 0.0, pairs)
        finally:
            runtime.close()


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 5)
