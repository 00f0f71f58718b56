"""Measures the cost of --jfr: CPU per message of the brokers, with and without recording.

``python -m benchmarks.jfr_cost [--pairs N]`` makes pairs of short runs of `steady`, alternately, and prints a Markdown
table for docs/performance.md. A records Java Flight Recorder in each broker; B does not.
"""

import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.arguments import Parser, scaled
from benchmarks.pairs import compare, conditions

TOPOLOGY, RATE_PER_S, SECONDS, WARM_UP_S = "single", 400, 12, 5
UNITS = {"CPU per message, brokers": "ms", "p99 from due to received": "ms"}


def figures(seconds: int, *options: str) -> Sequence[float]:
    """Return the figures of one run, in the order of ``UNITS``."""
    with TemporaryDirectory() as runs:
        command = [sys.executable, "-m", "locust", "-f", "scenarios/steady.py", "--headless", "--runtime", "processes"]
        load = ["--topology", TOPOLOGY, "--rate", str(RATE_PER_S), "-t", f"{seconds}s", "--warm-up", str(WARM_UP_S)]
        made = subprocess.run([*command, *load, "--runs", runs, *options], capture_output=True, text=True, check=False)
        path = next(Path(runs).glob("*/summary.json"), None)
        if path is None:
            raise SystemExit(f"the run ended without a summary:\n{made.stdout}{made.stderr}")
        summary = json.loads(path.read_text(encoding="utf-8"))
    return [summary["throughput"]["cpu_ms_per_message_brokers"], summary["latency_ms"]["due_to_received"]["p99"]]


if __name__ == "__main__":
    parser = Parser("jfr_cost", __doc__)
    parser.add_pairs()
    parser.add_size()
    options = parser.parse_args()
    seconds = int(scaled(SECONDS, options.size))
    print(conditions())
    title = f"{TOPOLOGY}, {RATE_PER_S} messages per second, {seconds} s: with --jfr (A), without (B)"
    compare(title, lambda: figures(seconds, "--jfr"), lambda: figures(seconds), options.pairs, warm=False, units=UNITS)
