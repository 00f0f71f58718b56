"""Measures STOMP users under Locust beside a bare stomp.py loop, and the cost of recording.

``python -m benchmarks.stomp_speed [PAIRS]`` starts one broker and prints Markdown tables for docs/performance.md; about
four minutes with 5 pairs. Every side is one process with one producer and one consumer, 1 KiB bodies, the same cap on
durable messages in flight and the same prefetch: `benchmarks.stomp_users` and `benchmarks.stomp_bare`.
"""

import json
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from benchmarks.one_broker import broker
from benchmarks.pairs import compare, conditions
from topologies.runtimes.processes.runtime import ProcessRuntime

COUNT = {"durable": 6_000, "non-durable": 30_000}
PACED_PER_S, PACED_COUNT = 2_000, 6_000
BROKER = "broker-1"

Side = Callable[[], Sequence[float]]


def users(runtime: ProcessRuntime, mode: str, count: int, kind: str, rate: int = 0) -> Side:
    return side(runtime, "benchmarks.stomp_users", mode, _uri(runtime), str(count), kind, str(rate))


def bare(runtime: ProcessRuntime, count: int, kind: str) -> Side:
    return side(runtime, "benchmarks.stomp_bare", _uri(runtime), str(count), kind)


def _uri(runtime: ProcessRuntime) -> str:
    return runtime.endpoint(BROKER, "stomp").uri


def side(runtime: ProcessRuntime, module: str, *arguments: str, checkout: Path | None = None) -> Side:
    """One side: messages a second, and CPU microseconds a message. ``checkout``: another one's module of that name.

    ``-m`` looks for modules in the folder that it is run in, before those that are installed.
    """

    def run() -> Sequence[float]:
        done = subprocess.run(
            [sys.executable, "-W", "ignore", "-m", module, *arguments],
            input=runtime.credentials().password,
            capture_output=True,
            text=True,
            check=True,
            cwd=checkout,
        )
        figures = json.loads(done.stdout.splitlines()[-1])
        return figures["messages_per_s"], figures["cpu_us_per_message"]

    return run


def main(pairs: int) -> None:
    print(conditions())
    with broker("single") as (runtime, _):
        for kind, count in COUNT.items():
            both = users(runtime, "recorded", count, kind), bare(runtime, count, kind)
            compare(f"{kind}, as fast as it goes: users under Locust (A), bare stomp.py (B)", *both, pairs)
        paced = (PACED_COUNT, "non-durable", PACED_PER_S)
        both = users(runtime, "recorded", *paced), users(runtime, "unrecorded", *paced)
        compare(f"non-durable, {PACED_PER_S}/s: recorded (A), unrecorded (B)", *both, pairs)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 5)
