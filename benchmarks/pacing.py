"""How late is the generator at 2,000 messages a second from one worker? A real run tells, from its own events.

``python -m benchmarks.pacing [RATE]`` prints a Markdown row: how late first attempts of the load were written (sent -
due), whatever the run's verdict, which stands beside. Messages are one way (`benchmarks.pacing_load`).
"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.pairs import conditions
from records.reader import read_events
from records.rundir import RunDirectory

LOCUST = Path(sys.executable).with_name("locust")
LOAD = "benchmarks/pacing_load.py"
NS_PER_MS = 1e6
HEADER = (
    "| asked for | sent | lag p50 | p99 | p99.9 | largest | CPU of the generator | verdict |\n"
    "|---|---|---|---|---|---|---|---|"
)


def lags_ms(directory: RunDirectory) -> Any:
    """How late (ms) the first attempt of each message was written that was due within the load."""
    phases = directory.read_run().phases
    sends = read_events(directory, "sends")
    due_ns, sent_ns, attempt = (sends[name].to_numpy() for name in ("due_ns", "sent_ns", "attempt"))
    counted = (attempt == 1) & (due_ns >= phases.load_began_ns) & (due_ns < phases.load_ended_ns)
    return (sent_ns[counted] - due_ns[counted]) / NS_PER_MS


def row(rate: str, directory: RunDirectory) -> str:
    lag_ms = lags_ms(directory)
    p50, p99, p99_9 = np.percentile(lag_ms, (50, 99, 99.9))
    summary = json.loads(directory.summary_path.read_text(encoding="utf-8"))
    done = summary["throughput"]
    return (
        f"| {rate}/s | {done['sent_per_s']:.0f}/s "
        f"| {p50:.2f} ms | {p99:.2f} ms | {p99_9:.2f} ms | {lag_ms.max():.1f} ms "
        f"| {done['cpu_ms_per_message_generator'] * 1_000:.0f} µs/message | {summary['verdict']} |"
    )


def main(rate: str) -> None:
    print(conditions())
    with tempfile.TemporaryDirectory() as folder:
        runs = Path(folder) / "runs"
        options = ["--runtime", "processes", "-t", "30s", "--rate", rate, "--runs", str(runs)]
        subprocess.run([LOCUST, "-f", LOAD, "--headless", *options], stdout=subprocess.DEVNULL, check=False)
        (run,) = runs.iterdir()
        print(f"\n{HEADER}\n{row(rate, RunDirectory.open(run))}")


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "2000")
