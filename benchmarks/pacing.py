"""Measures how late the generator is at a steady rate from one worker, by a real run's own events.

``python -m benchmarks.pacing [RATE] [--protocol PROTOCOL]`` runs 30 s at RATE messages a second in all (default 2,000)
on one broker that speaks the protocol (default STOMP). Core runs on Artemis, any other protocol on Classic. It prints a
Markdown row: how late first attempts of the load were written (sent - due). The row also has the run's verdict, and is
printed for every verdict. Messages are one way (`benchmarks.pacing_load`).
"""

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.connections import topology_for
from benchmarks.pairs import conditions
from drivers.protocols import PROTOCOLS
from records.reader import read_events
from records.rundir import RunDirectory

LOCUST = Path(sys.executable).with_name("locust")
LOAD = "benchmarks/pacing_load.py"
NS_PER_MS = 1e6
HEADER = (
    "| protocol | asked for | sent | lag p50 | p99 | p99.9 | largest | CPU of the generator | verdict |\n"
    "|---|---|---|---|---|---|---|---|---|"
)


def lags_ms(directory: RunDirectory) -> Any:
    """How late (ms) the first attempt of each message was written that was due within the load."""
    phases = directory.read_run().phases
    sends = read_events(directory, "sends")
    due_ns, sent_ns, attempt = (sends[name].to_numpy() for name in ("due_ns", "sent_ns", "attempt"))
    counted = (attempt == 1) & (due_ns >= phases.load_began_ns) & (due_ns < phases.load_ended_ns)
    return (sent_ns[counted] - due_ns[counted]) / NS_PER_MS


def row(protocol: str, rate: str, directory: RunDirectory) -> str:
    lag_ms = lags_ms(directory)
    p50, p99, p99_9 = np.percentile(lag_ms, (50, 99, 99.9))
    summary = json.loads(directory.summary_path.read_text(encoding="utf-8"))
    done = summary["throughput"]
    return (
        f"| `{protocol}` | {rate}/s | {done['sent_per_s']:.0f}/s "
        f"| {p50:.2f} ms | {p99:.2f} ms | {p99_9:.2f} ms | {lag_ms.max():.1f} ms "
        f"| {done['cpu_ms_per_message_generator'] * 1_000:.0f} µs/message | {summary['verdict']} |"
    )


def locust_options(rate: str, protocol: str, runs: Path) -> list[str]:
    """The command line of the run."""
    topology = topology_for(protocol).name
    where = ["--runtime", "processes", "--topology", topology, "--protocol", protocol, "--runs", str(runs)]
    return ["--headless", "-t", "30s", "--rate", rate, *where]


def main(rate: str, protocol: str) -> None:
    print(conditions())
    with tempfile.TemporaryDirectory() as folder:
        runs = Path(folder) / "runs"
        options = locust_options(rate, protocol, runs)
        subprocess.run([LOCUST, "-f", LOAD, *options], stdout=subprocess.DEVNULL, check=False)
        (run,) = runs.iterdir()
        print(f"\n{HEADER}\n{row(protocol, rate, RunDirectory.open(run))}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="How late is the generator at a steady rate?")
    parser.add_argument("rate", nargs="?", default="2000", help="messages a second, in all (2000)")
    parser.add_argument("--protocol", choices=[each for each in PROTOCOLS if each != "memory"], default="stomp")
    asked = parser.parse_args()
    main(asked.rate, asked.protocol)
