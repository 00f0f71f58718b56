"""Measures the overhead of a 30-second run before and after its load: the time of each step, and the report's size.

``python -m benchmarks.around_a_run [--runs N] [--runtime RUNTIME]`` runs the steady scenario on the mesh and prints
medians.
"""

import json
import statistics
import subprocess
import tempfile
import time
from pathlib import Path

from benchmarks.arguments import Parser, above_0, one_of, whole
from benchmarks.pairs import conditions
from benchmarks.real_runs import LOCUST

RUNTIMES = ("processes", "containers")
STEPS = ("up", "prove", "clients", "drain", "browse", "down", "analysis", "report")


def one_run(folder: Path, runtime: str, for_s: float) -> dict[str, float]:
    """Make a run. Return the seconds of each step, the total outside warm-up and load, and the report's kilobytes."""
    options = ["--runtime", runtime, "--topology", "mesh", "-t", f"{for_s:g}s"]
    began_s = time.perf_counter()
    subprocess.run(
        [LOCUST, "-f", "scenarios/steady.py", "--headless", *options, "--runs", folder],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        check=True,
    )
    wall_s = time.perf_counter() - began_s
    (run,) = folder.iterdir()
    info = json.loads((run / "run.json").read_text(encoding="utf-8"))
    phases = info["phases"]
    loaded_s = (phases["load_ended_ns"] - phases["warm_up_began_ns"]) / 1e9
    durations_s = json.loads((run / "logs" / "durations.json").read_text(encoding="utf-8"))
    steps = {step: durations_s[step] for step in STEPS}
    size_kb = (run / "report.html").stat().st_size / 1e3
    return {**steps, "around warm-up and load, in all": wall_s - loaded_s, "report kB": size_kb}


def main(runs: int, runtime: str, for_s: float) -> None:
    print(conditions())
    rows = []
    for number in range(runs):
        with tempfile.TemporaryDirectory() as folder:
            rows.append(one_run(Path(folder) / "runs", runtime, for_s))
        print(f"run {number + 1} of {runs}: {rows[-1]['around warm-up and load, in all']:.1f} s around the load")
    print(f"\n| step, {runtime} | median | smallest | largest |\n|---|---|---|---|")
    for name in rows[0]:
        values = [row[name] for row in rows]
        unit = "kB" if name.endswith("kB") else "s"
        print(f"| {name} | {statistics.median(values):.1f} {unit} | {min(values):.1f} | {max(values):.1f} |")


if __name__ == "__main__":
    parser = Parser("around_a_run", __doc__)
    parser.add_argument("--runs", type=whole(1), default=5, metavar="N", help="runs (5)")
    parser.add_argument("--runtime", type=one_of(RUNTIMES), default=RUNTIMES[0], help=f"{' or '.join(RUNTIMES)}")
    parser.add_argument("--for", dest="for_s", type=above_0, default=30.0, metavar="S", help="seconds of the load (30)")
    options = parser.parse_args()
    main(options.runs, options.runtime, options.for_s)
