"""Runs `benchmarks.java_users` in a process of its own, on a broker that is up, and reads what it prints."""

import json
import subprocess
import sys
from collections.abc import Callable

from benchmarks.arguments import sized
from benchmarks.stopwatch import IN_FLIGHT
from topologies.runtimes.contract import Runtime

PACED_PER_S, PACED_S, PACED_WARM_UP = 10_000, 30, 50_000


def users(
    runtime: Runtime,
    protocol: str,
    count: int,
    *,
    durable: bool,
    in_flight: int = IN_FLIGHT,
    rate: float = 0.0,
    warm_up: int = 0,
) -> dict[str, float]:
    """So many messages, every one recorded; a rate of 0: all due at once."""
    kind, uri = "durable" if durable else "non-durable", runtime.endpoint("broker-1", protocol).uri
    wishes = (protocol, uri, str(count), kind, str(in_flight), str(rate), str(warm_up))
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-m", "benchmarks.java_users", *wishes],
        input=runtime.credentials().password,
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    figures: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    assert (figures["sends"], figures["receipts"]) == (count, count), figures
    return figures


def side(
    runtime: Runtime, protocol: str, count: int, *, durable: bool, in_flight: int, warm_up: int = 0
) -> Callable[[], tuple[float, float]]:
    """One side of a comparison: messages a second, and CPU microseconds a message."""

    def run() -> tuple[float, float]:
        figures = users(runtime, protocol, count, durable=durable, in_flight=in_flight, warm_up=warm_up)
        return figures["messages_per_s"], figures["cpu_us_per_message"]

    return run


def paced(runtime: Runtime, protocol: str, times: int, size: float) -> None:
    """Print the figures of a load at a steady rate, so many times."""
    count, warm_up = sized(PACED_PER_S * PACED_S, size), sized(PACED_WARM_UP, size)
    for _ in range(times):
        figures = users(runtime, protocol, count, durable=False, rate=PACED_PER_S, warm_up=warm_up)
        print(f"paced {PACED_PER_S}/s for {count / PACED_PER_S:g} s: {figures}", flush=True)
