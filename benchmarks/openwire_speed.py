"""How fast are OpenWire users under Locust, every message recorded, beside the broker's own command-line tools?

``python -m benchmarks.openwire_speed [PAIRS]`` starts one broker and prints Markdown tables for docs/performance.md. A
is `benchmarks.openwire_users`, one process; B is ``activemq producer`` and ``activemq consumer`` of the same
distribution, two processes at once. Both send 1 KiB to one queue, take by a prefetch of 1,000 and begin with a cold
JVM. A rate counts from the first send to the last receipt; CPU is the clients', without what they need to start.
"""

import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from benchmarks.pairs import HEADER, conditions, measure
from benchmarks.stopwatch import BODY_BYTES, IN_FLIGHT, USER
from records.rundir import RunDirectory
from topologies.catalogue import build
from topologies.runtimes.distribution import ensure, pinned
from topologies.runtimes.java import find_java
from topologies.runtimes.processes import ProcessRuntime

COUNT = {"durable": 10_000, "non-durable": 100_000}
PACED_PER_S, PACED_S = 10_000, 30
ELAPSED = re.compile(r"Elapsed time in milliseconds : (\d+)")


class Bench:
    """One broker, and both sides of a comparison on it."""

    def __init__(self, runtime: ProcessRuntime, folder: Path) -> None:
        self._runtime, self._folder = runtime, folder
        self._uri = runtime.endpoint("broker-1", "openwire").uri
        self._home, self._java = ensure(pinned("activemq-classic")), find_java().executable
        self._start_cpu_s = 0.0
        self._start_cpu_s = self.tools(2, durable=False)[1] * 2 / 1e6

    def users(self, count: int, *, durable: bool, in_flight: int = IN_FLIGHT, rate: float = 0.0) -> dict[str, float]:
        kind = "durable" if durable else "non-durable"
        wishes = (self._uri, str(count), kind, str(in_flight), str(rate))
        done = subprocess.run(
            [sys.executable, "-W", "ignore", "-m", "benchmarks.openwire_users", *wishes],
            input=self._runtime.credentials().password,
            capture_output=True,
            text=True,
            check=True,
        )
        figures: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
        assert (figures["sends"], figures["receipts"]) == (count, count), figures
        return figures

    def tools(self, count: int, *, durable: bool) -> Sequence[float]:
        """Messages a second and CPU us a message of the distribution's producer and consumer."""
        queue, before_s = f"queue://tools.{time.time_ns()}", _children_s()
        shared = f"--brokerUrl {self._uri} --destination {queue} --messageCount {count}"
        consumer = self._tool(f"consumer {shared}")
        persistent = f"--persistent {'true' if durable else 'false'}"
        producer = self._tool(f"producer {shared} {persistent} --messageSize {BODY_BYTES}")
        began_s = _ended_s(producer, first=True)
        ended_s = _ended_s(consumer, first=False)
        for each in (producer, consumer):
            assert each.wait(60) == 0
        cpu_s = _children_s() - before_s - self._start_cpu_s
        return count / (ended_s - began_s), cpu_s / count * 1e6

    def _tool(self, command: str) -> subprocess.Popen[str]:
        """The password goes by a file that only we can read: an argument would be seen by everyone."""
        arguments = self._folder / f"{command.split()[0]}.args"
        arguments.touch(mode=0o600)
        places = " ".join(f"-Dactivemq.{what}={self._home}" for what in ("home", "base", "data"))
        arguments.write_text(
            f"{places} -Dlog4j2.configurationFile={self._home / 'conf' / 'log4j2.properties'} "
            f"-jar {self._home / 'bin' / 'activemq.jar'} {command} "
            f"--user {USER} --password {self._runtime.credentials().password}\n"
        )
        return subprocess.Popen(
            [self._java, f"@{arguments}"],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            cwd=self._folder,
        )


def _ended_s(tool: subprocess.Popen[str], *, first: bool) -> float:
    """When a tool had done its work, or with ``first`` when it began: it tells at the end how long it took."""
    assert tool.stdout is not None
    said = []
    for line in tool.stdout:
        said.append(line)
        if elapsed := ELAPSED.search(line):
            return time.perf_counter() - (int(elapsed.group(1)) / 1_000 if first else 0.0)
    raise AssertionError("".join(said))


def _children_s() -> float:
    times = os.times()
    return times.children_user + times.children_system


def compare(bench: Bench, kind: str, in_flight: int, pairs: int) -> None:
    count, durable = COUNT[kind], kind == "durable"

    def ours() -> Sequence[float]:
        figures = bench.users(count, durable=durable, in_flight=in_flight)
        return figures["messages_per_s"], figures["cpu_us_per_message"]

    rates, cpu = measure(ours, lambda: bench.tools(count, durable=durable), pairs)
    cap = f", {in_flight} in flight" if durable else ""
    print(f"\n{kind}{cap}: users under Locust (A), activemq producer and consumer (B)\n\n{HEADER}")
    print(rates.row("messages a second", "/s"))
    print(cpu.row("CPU a message", "µs"), flush=True)


def main(pairs: int) -> None:
    print(conditions())
    with tempfile.TemporaryDirectory() as folder:
        runtime = ProcessRuntime(build("single"), RunDirectory.create(Path(folder), "broker"))
        runtime.up(print)
        try:
            bench = Bench(runtime, Path(folder))
            compare(bench, "non-durable", IN_FLIGHT, pairs)
            compare(bench, "durable", 1, pairs)
            compare(bench, "durable", IN_FLIGHT, pairs)
            paced = bench.users(PACED_PER_S * PACED_S, durable=False, rate=PACED_PER_S)
            print(f"\npaced {PACED_PER_S}/s for {PACED_S} s: {paced}", flush=True)
        finally:
            runtime.close()


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 5)
