"""Measures Core users under Locust, every message recorded, beside ``artemis perf client``.

``python -m benchmarks.core_speed [PAIRS [WHAT …]]`` starts one Artemis broker and prints Markdown tables for
docs/performance.md. WHAT is any of `WHATS`, by default all. A is `benchmarks.java_users`, B the distribution's ``perf
client --max-pending 1000``; each is one process. Both have one producer and one consumer, send 1 KiB to one queue, have
as many sends ahead of their answers, and are warmed up. B's rate is the mean of the messages received in each second.
A's rate is all messages divided by the time from the first send to the last receipt. Pauses of the broker are in both
rates. CPU is the clients' CPU; for B without the CPU of its start.
"""

import json
import statistics
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from benchmarks import one_broker
from benchmarks.java_side import users
from benchmarks.pairs import HEADER, measure
from benchmarks.stopwatch import BODY_BYTES, USER, children_cpu_s
from topologies.artemis.launch import MAIN
from topologies.runtimes.distribution import ensure, pinned
from topologies.runtimes.java import find_java
from topologies.runtimes.processes.runtime import ProcessRuntime

AHEAD = 1_000  # sends without their answer, of either side
ANSWERED_BYTES = (
    1 << 20
)  # without a window the tool's durable sends would each wait for their answer; ours has the same
COUNT = {"durable": 60_000, "non-durable": 150_000}
WARM_UP, WARM_UP_S, TOOL_S = 50_000, 4, 8
PACED_PER_S, PACED_S = 10_000, 30


class Bench:
    """One broker, and the distribution's tool on it."""

    def __init__(self, runtime: ProcessRuntime, folder: Path) -> None:
        self.runtime, self._folder = runtime, folder
        self._home, self._java = ensure(pinned("activemq-artemis")), find_java().executable
        self._start_cpu_s = 0.0
        self._start_cpu_s = self._perf("--message-count 1", durable=False)[0]

    def tool(self, *, durable: bool) -> Sequence[float]:
        """Messages a second and CPU us a message of the perf client."""
        wishes = f"--max-pending {AHEAD} --warmup {WARM_UP_S} --duration {TOOL_S}"
        cpu_s, samples = self._perf(wishes, durable=durable)
        (summary,) = (each for each in samples if each["sampleType"] == "summary")
        received = [
            float(each["received"]) for each in samples if each["sampleType"] == "interval" and not each["warmup"]
        ]
        assert summary["result"] == "success", summary
        cpu_us = (cpu_s - self._start_cpu_s) / float(summary["totalReceived"]) * 1e6
        return statistics.fmean(received[: TOOL_S - WARM_UP_S]), cpu_us

    def _perf(self, wishes: str, *, durable: bool) -> tuple[float, list[dict[str, str]]]:
        """CPU seconds of one run, and what it told. The password is passed in a file that only we can read."""
        arguments, report, before_s = self._folder / "perf.args", self._folder / "perf.json", children_cpu_s()
        report.unlink(missing_ok=True)
        arguments.touch(mode=0o600)
        ahead_bytes = ANSWERED_BYTES if durable else -1
        uri = f"{self.runtime.endpoint('broker-1', 'core').uri}?confirmationWindowSize={ahead_bytes}"
        arguments.write_text(
            f"-Dartemis.home={self._home} -Dartemis.instance={self._folder} -Dlog4j2.level=OFF "
            f"-classpath {self._home}/lib/artemis-boot.jar {MAIN} perf client {wishes} --json {report} "
            f"--message-size {BODY_BYTES} --url {uri} --user {USER} --password {self.runtime.credentials().password} "
            f"{'--persistent ' if durable else ''}queue://tool.{time.time_ns()}\n"
        )
        done = subprocess.run([self._java, f"@{arguments}"], cwd=self._folder, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout[-2_000:] + done.stderr[-2_000:]
        return children_cpu_s() - before_s, json.loads(report.read_text())


def compare(bench: Bench, kind: str, pairs: int) -> None:
    durable = kind == "durable"

    def ours() -> Sequence[float]:
        figures = users(bench.runtime, "core", COUNT[kind], durable=durable, in_flight=AHEAD, warm_up=WARM_UP)
        return figures["messages_per_s"], figures["cpu_us_per_message"]

    rates, cpu = measure(ours, lambda: bench.tool(durable=durable), pairs, warm=False)
    print(f"\n{kind}: users under Locust (A), artemis perf client --max-pending {AHEAD} (B)\n\n{HEADER}")
    print(rates.row("messages a second", "/s"))
    print(cpu.row("CPU a message", "µs"), flush=True)


def paced(bench: Bench, pairs: int) -> None:
    for _ in range(pairs):
        count = PACED_PER_S * PACED_S
        figures = users(bench.runtime, "core", count, durable=False, rate=PACED_PER_S, warm_up=WARM_UP)
        print(f"paced {PACED_PER_S}/s for {PACED_S} s: {figures}", flush=True)


WHATS: Mapping[str, Callable[[Bench, int], None]] = {
    "non-durable": lambda bench, pairs: compare(bench, "non-durable", pairs),
    "durable": lambda bench, pairs: compare(bench, "durable", pairs),
    "paced": paced,
}


if __name__ == "__main__":
    one_broker.run("artemis-single", Bench, WHATS)
