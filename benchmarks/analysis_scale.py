"""Measures how the time and memory of the analysis grow with the size of a run, compared with DuckDB.

``python -m benchmarks.analysis_scale [--messages N …] [--pairs N]`` generates runs. The analysis (A) and DuckDB (B)
compute the same tables alternately, each in a separate process. The benchmark checks that their tables are equal, and
prints a table of figures. With ``--warm``, A is the second analysis in one Spark session. A's CPU and memory do not
include a cluster's executors (``--master``).
"""

import subprocess
import sys
import tempfile
import time
from argparse import Namespace
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import psutil
import pyarrow.parquet as pq

from benchmarks.arguments import Parser, whole
from benchmarks.duckdb_answers import TABLES
from benchmarks.generate_events import add_rate, write_run
from benchmarks.pairs import HEADER, conditions, measure
from benchmarks.stopwatch import sampling
from records.store.rundir import RunDirectory
from records.tables.results import WRITTEN_BY_PARTS, added_up
from records.verdicts import EXIT_STATUS

LOOK_EVERY_S = 0.1
FIGURES = {"start-up": "s", "work": "s", "CPU in all": "s", "peak memory": "GiB"}


class Usage:
    """CPU seconds and peak resident memory of a process and its descendants, by sampling."""

    def __init__(self, root: psutil.Process) -> None:
        self.peak_bytes = 0
        self._root = root
        self._cpu_s: dict[int, float] = {}

    @property
    def cpu_s(self) -> float:
        return sum(self._cpu_s.values())

    def look(self) -> None:
        resident = 0
        try:
            for process in (self._root, *self._root.children(recursive=True)):
                times = process.cpu_times()
                self._cpu_s[process.pid] = times.user + times.system
                resident += process.memory_info().rss
        except psutil.NoSuchProcess:
            return  # a process ended during this sample; the next sample leaves it out
        self.peak_bytes = max(self.peak_bytes, resident)


def timed(
    module: str, *arguments: str, statuses: Sequence[int], begins_with: str = "started", to_last_line: bool = False
) -> tuple[float, float, float, float]:
    """Run a module in a process and return its `FIGURES`.

    Its work begins with the first output line that contains ``begins_with``. It ends when the process ends or, with
    ``to_last_line``, at the last line of output. The end of a Spark session then does not count.
    """
    began_s, started_s = time.perf_counter(), None
    command = [sys.executable, "-m", module, *arguments]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        usage = Usage(psutil.Process(process.pid))
        with sampling(usage.look, LOOK_EVERY_S):
            assert process.stdout is not None
            for line in process.stdout:
                last_line_s = time.perf_counter()
                if started_s is None and begins_with in line:
                    started_s = last_line_s
        assert process.stderr is not None
        errors = process.stderr.read()
    ended_s = time.perf_counter()
    if process.returncode not in statuses or started_s is None:
        sys.exit(f"{module} ended with {process.returncode}: {errors}")
    ended_s = last_line_s if to_last_line else ended_s
    return started_s - began_s, ended_s - started_s, usage.cpu_s, usage.peak_bytes / 2**30


def differences(run: Path, answers: Path) -> list[str]:
    """Return the names of the tables that differ between the analysis and DuckDB."""
    return [name for name in TABLES if not _equal(name, RunDirectory(run).results(name), answers / f"{name}.parquet")]


def _equal(name: str, ours: Path, duckdbs: Path) -> bool:
    table = pq.read_table(ours)
    tables = [added_up(name, table) if name in WRITTEN_BY_PARTS else table, pq.read_table(duckdbs)]
    ordered = [table.sort_by([(name, "ascending") for name in table.schema.names]) for table in tables]
    return bool(ordered[0].equals(ordered[1]))


def compare(run: Path, messages: int, options: Namespace) -> list[str]:
    """Measure both programs on one run and return table rows. Exits with an error if their answers differ."""
    answers = run.with_name(f"{run.name}-duckdb")
    answers.mkdir()
    runs, begins_with = ([str(run)] * 2, "run 2 of 2") if options.warm else ([str(run)], "started")
    command = ("analysis.jobs", *runs, "--master", options.master)
    # Generated runs contain foreign messages, and large runs also lost messages.
    statuses = [EXIT_STATUS[verdict] for verdict in ("pass", "fail", "unknown")]
    analysis = partial(timed, *command, statuses=statuses, begins_with=begins_with, to_last_line=options.warm)
    duckdb = partial(timed, "benchmarks.duckdb_answers", str(run), str(answers), statuses=(0,))
    figures = measure(analysis, duckdb, options.pairs, warm=not options.no_warm_up)
    if differing := differences(run, answers):
        sys.exit(f"{run}: the analysis and DuckDB differ in {', '.join(differing)}")
    size = f"{messages / 1e6:g} million sends and receipts"
    return [figure.row(f"{size}: {name}", unit) for (name, unit), figure in zip(FIGURES.items(), figures, strict=True)]


def main() -> None:
    parser = Parser("analysis_scale", __doc__)
    sizes = [1_000_000, 10_000_000]
    parser.add_argument(
        "--messages", type=whole(1), nargs="+", default=sizes, metavar="N", help="messages per run (1000000 10000000)"
    )
    parser.add_pairs()
    add_rate(parser, 20_000)
    parser.add_argument("--no-warm-up", action="store_true", help="count the first pair too, for runs of many minutes")
    parser.add_argument("--warm", action="store_true", help="A is the second analysis in a Spark session")
    parser.add_argument("--master", default="local[2]", metavar="URL", help="Spark master of the analysis (local[2])")
    options = parser.parse_args()
    print(conditions())
    rows = []
    with tempfile.TemporaryDirectory(prefix="brokerbench-scale-") as folder:
        for messages in options.messages:
            run = write_run(Path(folder), messages, options.per_s)
            rows += compare(run, messages, options)
    print("answers equal; A is the analysis, B is DuckDB", HEADER, *rows, sep="\n")


if __name__ == "__main__":
    main()
