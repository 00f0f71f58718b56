"""Measures the cost of each further small run in one Spark session: CPU seconds, Spark jobs, and the time of each step.

``python -m benchmarks.analysis_session [--runs N] [--messages N]`` generates runs and analyzes them one after the
other, like `brokerbench analyse RUN RUN …`. It prints a row for each run. CPU seconds are measured for Python and for
Java. On a busy machine they are more reliable than wall time.
"""

import os
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import psutil
from pyspark.sql import SparkSession

from analysis.jobs import analyse
from analysis.spark import session
from benchmarks.arguments import Parser, whole
from benchmarks.generate_events import add_rate, write_run
from benchmarks.pairs import conditions
from topologies.jvm.java import find_java, spark_environment

HEADER = "| run | wall | CPU in Java | CPU in Python | Spark jobs |\n|---|---|---|---|---|"


@dataclass(frozen=True)
class Cost:
    """The cost of one run's analysis. ``steps``: the progress lines of the analysis."""

    wall_s: float
    java_s: float
    python_s: float
    jobs: int
    steps: tuple[str, ...]

    def row(self, number: int) -> str:
        return f"| {number} | {self.wall_s:.1f} s | {self.java_s:.1f} s | {self.python_s:.1f} s | {self.jobs} |"


def cost(spark: SparkSession, run: Path) -> Cost:
    steps: list[str] = []
    began_s, (java_s, python_s), jobs = time.perf_counter(), _cpu_s(), _jobs(spark)
    analyse(run, progress=steps.append)
    ended_s, (java_after_s, python_after_s) = time.perf_counter(), _cpu_s()
    return Cost(ended_s - began_s, java_after_s - java_s, python_after_s - python_s, _jobs(spark) - jobs, tuple(steps))


def _cpu_s() -> tuple[float, float]:
    """Return the CPU seconds of this process's child JVM, and of this process."""
    own = psutil.Process()
    java = [times.cpu_times() for times in own.children(recursive=True)]
    return sum(times.user + times.system for times in java), sum(own.cpu_times()[:2])


def _jobs(spark: SparkSession) -> int:
    """Return the number of jobs that the session has started."""
    return int(spark.sparkContext._jsc.sc().dagScheduler().nextJobId())


def measure(runs: Sequence[Path]) -> list[Cost]:
    with session("local[2]") as spark:
        return [cost(spark, run) for run in runs]


def main() -> None:
    parser = Parser("analysis_session", __doc__)
    parser.add_argument("--runs", type=whole(1), default=8, metavar="N", help="runs (8)")
    parser.add_argument("--messages", type=whole(1), default=3_000, metavar="N", help="messages of each run (3000)")
    add_rate(parser, 100)
    options = parser.parse_args()
    print(conditions())
    with tempfile.TemporaryDirectory(prefix="brokerbench-session-") as folder:
        os.environ.update(spark_environment(find_java(), Path(folder) / "java"))
        runs = []
        for number in range(options.runs):
            parent = Path(folder) / str(number)
            parent.mkdir()
            runs.append(write_run(parent, options.messages, options.per_s))
        costs = measure(runs)
    print(HEADER, *(run_cost.row(number) for number, run_cost in enumerate(costs, start=1)), sep="\n")
    print("the last run:", *costs[-1].steps, sep="\n  ")


if __name__ == "__main__":
    main()
