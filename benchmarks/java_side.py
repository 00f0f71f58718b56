"""Runs `benchmarks.java_users` in a process of its own, on a broker that is up, and reads what it prints."""

import json
import subprocess
import sys

from benchmarks.stopwatch import IN_FLIGHT
from topologies.runtimes.contract import Runtime


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
