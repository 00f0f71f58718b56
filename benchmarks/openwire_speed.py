"""Compares OpenWire users under Locust, which record every message, with the broker's command-line tools.

``python -m benchmarks.openwire_speed [WHAT …] [--pairs N]`` starts one broker and prints Markdown tables for
docs/performance.md. A is `benchmarks.java_users`, one process. B is ``activemq producer`` and ``activemq consumer`` of
the broker's distribution, two processes at the same time. Both sides send 1 KiB messages to one queue, receive with a
prefetch of 1,000, and begin with a cold JVM. Rates are measured from the first send to the last receipt. CPU is the
clients' CPU time without their start.
"""

import re
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from benchmarks import one_broker
from benchmarks.arguments import Parser, scaled
from benchmarks.one_broker import java_side, run_paced
from benchmarks.pairs import compare
from benchmarks.stopwatch import BODY_BYTES, IN_FLIGHT, USER, children_cpu_s
from topologies.jvm.distribution import ensure
from topologies.jvm.java import find_java
from topologies.pinned import pinned
from topologies.runtimes.processes.runtime import ProcessRuntime

COUNT = {"durable": 10_000, "non-durable": 100_000}


class OpenWireBench:
    """Both sides of the OpenWire comparisons, on one broker."""

    def __init__(self, runtime: ProcessRuntime, folder: Path, size: float) -> None:
        self.runtime, self._folder, self.size = runtime, folder, size
        self._uri = runtime.endpoint("broker-1", "openwire").uri
        self._home, self._java = ensure(pinned("activemq-classic")), find_java().executable
        self._start_cpu_s = 0.0
        self._start_cpu_s = self.tools(2, durable=False)[1] * 2 / 1e6

    def tools(self, count: int, *, durable: bool) -> Sequence[float]:
        """Run ``activemq producer`` and ``activemq consumer``; return messages per second and CPU us per message."""
        queue, before_s = f"queue://tools.{time.time_ns()}", children_cpu_s()
        shared = f"--brokerUrl {self._uri} --destination {queue} --messageCount {count}"
        consumer = self._tool(f"consumer {shared}")
        persistent = f"--persistent {'true' if durable else 'false'}"
        producer = self._tool(f"producer {shared} {persistent} --messageSize {BODY_BYTES}")
        with ThreadPoolExecutor() as readers:  # read both: the consumer prints a line per message and would block
            began, ended = readers.submit(_began_s, producer), readers.submit(_ended_s, consumer)
            began_s, ended_s = began.result(), ended.result()
        for tool in (producer, consumer):
            assert tool.wait(60) == 0
        cpu_s = children_cpu_s() - before_s - self._start_cpu_s
        return count / (ended_s - began_s), cpu_s / count * 1e6

    def _tool(self, command: str) -> subprocess.Popen[str]:
        """Start a tool. The password is in a file for the current user only, as arguments are visible to all users."""
        arguments = self._folder / f"{command.split()[0]}.args"
        arguments.touch(mode=0o600)
        places = f"-Dactivemq.home={self._home} -Dactivemq.base={self._home} -Dactivemq.data={self._folder}"
        arguments.write_text(
            f"{places} -Dlog4j2.configurationFile={self._home / 'conf' / 'log4j2.properties'} "
            f"-jar {self._home / 'bin' / 'activemq.jar'} {command} "
            f"--user {USER} --password {self.runtime.credentials().password}\n"
        )
        return subprocess.Popen(
            [self._java, f"@{arguments}"],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            cwd=self._folder,
        )


def _began_s(producer: subprocess.Popen[str]) -> float:
    """Return the time when it began to send, computed from the elapsed time that it prints at the end."""
    elapsed_ms, at_s = _number_in_output(producer, r"Elapsed time in milli second : (\d+)")
    return at_s - elapsed_ms / 1_000


def _ended_s(consumer: subprocess.Popen[str]) -> float:
    return _number_in_output(consumer, r"Consumed: (\d+) messages")[1]


def _number_in_output(tool: subprocess.Popen[str], pattern: str) -> tuple[int, float]:
    """Read a tool's output to the end. Return the number in the line that matches, and the time of that line."""
    assert tool.stdout is not None
    number_and_time, last_line = None, ""
    for line in tool.stdout:
        last_line = line.strip() or last_line
        if match := re.search(pattern, line):
            number_and_time = int(match.group(1)), time.perf_counter()
    assert number_and_time, last_line
    return number_and_time


def compare_with_tools(bench: OpenWireBench, kind: str, in_flight: int, pairs: int) -> None:
    count, durable = scaled(COUNT[kind], bench.size), kind == "durable"
    ours = java_side(bench.runtime, "openwire", count, durable=durable, in_flight=in_flight)
    cap = f", {in_flight} in flight" if durable else ""
    title = f"{kind}{cap}: users under Locust (A), activemq producer and consumer (B)"
    compare(title, ours, lambda: bench.tools(count, durable=durable), pairs)


MEASUREMENTS: Mapping[str, Callable[[OpenWireBench, int], None]] = {
    "non-durable": lambda bench, pairs: compare_with_tools(bench, "non-durable", IN_FLIGHT, pairs),
    "durable": lambda bench, pairs: compare_with_tools(bench, "durable", 1, pairs),
    "durable-in-flight": lambda bench, pairs: compare_with_tools(bench, "durable", IN_FLIGHT, pairs),
    "paced": lambda bench, pairs: run_paced(bench.runtime, "openwire", pairs, bench.size),
}


if __name__ == "__main__":
    one_broker.run(Parser("openwire_speed", __doc__), "single", OpenWireBench, MEASUREMENTS)
