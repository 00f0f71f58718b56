"""How late is the generator at 2,000 messages a second from one worker? A real run of the steady scenario tells.

``python -m benchmarks.pacing [RATE]`` prints a Markdown row: generator lag p50, p99, p99.9 and largest.
"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks.pairs import conditions

LOCUST = Path(sys.executable).with_name("locust")


def main(rate: str) -> None:
    print(conditions())
    with tempfile.TemporaryDirectory() as folder:
        runs = Path(folder) / "runs"
        options = ["--topology", "single", "-t", "30s", "--rate", rate, "--lag-limit", "60000", "--runs", str(runs)]
        subprocess.run(
            [LOCUST, "-f", "scenarios/steady.py", "--headless", *options], stdout=subprocess.DEVNULL, check=True
        )
        summary = json.loads(next(runs.glob("*/summary.json")).read_text(encoding="utf-8"))
    lag, done = summary["lag_ms"], summary["throughput"]
    print(
        "\n| asked for | sent | lag p50 | p99 | p99.9 | largest | CPU of the generator |\n|---|---|---|---|---|---|---|"
    )
    print(
        f"| {rate}/s | {done['sent_per_s']:.0f}/s | {lag['p50']:.2f} ms | {lag['p99']:.2f} ms | {lag['p99_9']:.2f} ms "
        f"| {lag['max']:.1f} ms | {done['cpu_ms_per_message_generator'] * 1_000:.0f} µs/message |"
    )


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "2000")
