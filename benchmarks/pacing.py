"""Measures how late the generator is at a steady rate from one worker, by real runs' own events.

``python -m benchmarks.pacing [RATE] [--protocol A,B] [--pairs N] [--busy N]`` makes runs of 30 s at RATE messages a
second in all (default 120) on one broker that speaks the protocol (default: each of the four). Core runs on Artemis,
the others on Classic. Each pair has a run with normal and a run with real-time priority, in turn. With ``--pairs 0``
there is one run with normal priority. ``--busy N``: N loops beside it keep as many cores busy.

Beside the runs stands a bare loop, which only waits for the same due times with the same priority. A Markdown row has
the medians of the runs: own lag (sent - ready, of first attempts in the load), the bare loop's lateness, and from sent
to received. Messages are one way (`benchmarks.pacing_load`).
"""

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.connections import entry_for
from benchmarks.pairs import conditions
from drivers.protocols import PROTOCOLS
from records.reader import read_events
from records.rundir import RunDirectory
from scenarios.harness.options.run_options import NORMAL, REALTIME

LOCUST = Path(sys.executable).with_name("locust")
LOAD = "benchmarks/pacing_load.py"
NS_PER_MS = 1e6
BUSY = "while True: pass"
BARE_S = 10
BARE = """
import os, sys, time
rate, seconds, realtime = float(sys.argv[1]), float(sys.argv[2]), sys.argv[3] == "realtime"
if realtime:
    os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(1))
began = time.perf_counter_ns()
late = []
for slot in range(int(rate * seconds)):
    due = began + int(slot * 1e9 / rate)
    wait = due - time.perf_counter_ns()
    if wait > 0:
        time.sleep(wait / 1e9)
    late.append(time.perf_counter_ns() - due)
late.sort()
print(late[len(late) // 2] / 1e6, late[int(len(late) * 0.99)] / 1e6)
"""
"""A loop that waits for due times and does nothing else."""
HEADER = (
    "| protocol | priority | own lag p50 | p99 | p99.9 | bare loop p50 | p99 | sent → received p50 | p99 | runs "
    "| verdicts |\n"
    "|---|---|---|---|---|---|---|---|---|---|---|"
)


@dataclass(frozen=True)
class Measured:
    """One run; milliseconds."""

    own_lag: tuple[float, float, float]
    bare: tuple[float, float]
    sent_to_received: tuple[float, float]
    verdict: str


def own_lags_ms(directory: RunDirectory) -> Any:
    """How late (ms), by our own fault, the first attempt of each message was that was due within the load."""
    phases = directory.read_run().phases
    sends = read_events(directory, "sends")
    due_ns, ready_ns, sent_ns, attempt = (
        sends[name].to_numpy() for name in ("due_ns", "ready_ns", "sent_ns", "attempt")
    )
    counted = (attempt == 1) & (due_ns >= phases.load_began_ns) & (due_ns < phases.load_ended_ns)
    return np.maximum(sent_ns[counted] - ready_ns[counted], 0) / NS_PER_MS


def locust_options(rate: str, protocol: str, runs: Path, priority: str = NORMAL) -> list[str]:
    """The command line of the run."""
    where = ["--runtime", "processes", "--topology", entry_for(protocol), "--protocol", protocol, "--runs", str(runs)]
    return ["--headless", "-t", "30s", "--rate", rate, "--priority", priority, *where]


def bare_loop(rate: str, priority: str) -> tuple[float, float]:
    """Lateness p50 and p99 (ms)."""
    command = [sys.executable, "-c", BARE, rate, str(BARE_S), priority]
    p50, p99 = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
    return float(p50), float(p99)


def measure(rate: str, protocol: str, priority: str) -> Measured:
    with tempfile.TemporaryDirectory() as folder:
        runs = Path(folder) / "runs"
        options = locust_options(rate, protocol, runs, priority)
        subprocess.run(
            [LOCUST, "-f", LOAD, *options], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False
        )
        (run,) = runs.iterdir()
        directory = RunDirectory.open(run)
        p50, p99, p99_9 = np.percentile(own_lags_ms(directory), (50, 99, 99.9))
        summary = json.loads(directory.summary_path.read_text(encoding="utf-8"))
    took = summary["latency_ms"]["sent_to_received"]
    return Measured(
        (float(p50), float(p99), float(p99_9)),
        bare_loop(rate, priority),
        (took["p50"], took["p99"] or float("nan")),
        summary["verdict"],
    )


def row(protocol: str, priority: str, measured: Sequence[Measured]) -> str:
    """Medians of the runs."""
    figures = zip(*[(*one.own_lag, *one.bare, *one.sent_to_received) for one in measured], strict=True)
    cells = " | ".join(f"{statistics.median(each):.2f} ms" for each in figures)
    verdicts = ", ".join(sorted({one.verdict for one in measured}))
    return f"| `{protocol}` | {priority} | {cells} | {len(measured)} | {verdicts} |"


@contextmanager
def busy_loops(count: int) -> Iterator[None]:
    loops = [subprocess.Popen([sys.executable, "-c", BUSY]) for _ in range(count)]
    try:
        yield
    finally:
        for loop in loops:
            loop.kill()
            loop.wait()


def main(rate: str, protocols: Sequence[str], pairs: int, busy: int) -> None:
    print(f"{conditions()}, {rate} messages a second, {busy} busy loops beside it\n\n{HEADER}", flush=True)
    with busy_loops(busy):
        for protocol in protocols:
            seen: dict[str, list[Measured]] = {NORMAL: [], REALTIME: []} if pairs else {NORMAL: []}
            for pair in range(max(pairs, 1)):
                for priority in list(seen)[:: 1 if pair % 2 == 0 else -1]:
                    seen[priority].append(measure(rate, protocol, priority))
            for priority, measured in seen.items():
                print(row(protocol, priority, measured), flush=True)


if __name__ == "__main__":
    known = [each for each in PROTOCOLS if each != "memory"]
    parser = argparse.ArgumentParser(description="How late is the generator at a steady rate?")
    parser.add_argument("rate", nargs="?", default="120", help="messages a second, in all (120)")
    parser.add_argument("--protocol", default=",".join(known), help="with commas between them (all)")
    parser.add_argument("--pairs", type=int, default=0, help="of runs with normal and real-time priority (0)")
    parser.add_argument("--busy", type=int, default=0, help="loops beside it, each of which keeps a core busy (0)")
    asked = parser.parse_args()
    main(asked.rate, asked.protocol.split(","), asked.pairs, asked.busy)
