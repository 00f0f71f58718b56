"""Measures what sampling, proxies and faults cost: CPU a message, with (A) and without (B), in turn.

``python -m benchmarks.harness_cost [WHAT …] [--pairs N]``. WHAT is ``sampling`` (every broker asked once a second),
``proxies`` (every link through Toxiproxy, without a delay) or ``faults`` (FAULT); all by default. Each side is a whole
run of its own. CPU is read from outside, of the processes of the load generator, the brokers and the proxies, at two
moments of the load; messages are those received between them. It prints a Markdown table for each: microseconds of CPU
a message, and A / B of each pair.

A FAULT that kills a broker makes the brokers' figure worthless: what the killed process used is not counted, and a
start costs CPU too. The generator's figure holds.
"""

import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import psutil
import pyarrow.compute as pc

from benchmarks.arguments import Parser, above_0
from benchmarks.entries import topology
from benchmarks.pairs import HEADER, conditions, measure
from benchmarks.real_runs import LOCUST, opened
from records.reader import read_events
from records.rundir import RunDirectory

LOAD = "benchmarks/harness_cost_load.py"
UNSAMPLED = {"BROKERBENCH_UNSAMPLED": "1"}
FAULT = "disconnect(consumers, at=4, every=4, times=4)"
WARM_UP_S, AROUND_S, GIVE_UP_S = 5, 10.0, 300.0
WHATS = ("sampling", "proxies", "faults")
IN_LOAD = re.compile(r"load: \d+ s of")
PARTS = GENERATOR, BROKERS, PROXIES = "load generator", "brokers", "proxies"
US_PER_S = 1e6
EXIT_STATUS_UNUSABLE = 2  # of a run that could not be made


@dataclass(frozen=True)
class Side:
    """Options and environment of a run."""

    options: tuple[str, ...] = ()
    environment: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class Reading:
    """CPU seconds so far, by part and process."""

    at_ns: int
    cpu_s: Mapping[str, Mapping[int, float]]

    def used_s(self, before: "Reading", part: str) -> float:
        """By the processes of a part that were there at both times."""
        now, then = self.cpu_s[part], before.cpu_s[part]
        return sum(now[pid] - then[pid] for pid in now.keys() & then.keys())


def sides_of(what: str, fault: str) -> tuple[Side, Side]:
    """With and without it."""
    match what:
        case "sampling":
            return Side(), Side(environment=tuple(UNSAMPLED.items()))
        case "proxies":
            return Side(("--link", "*:delay=0ms")), Side()
        case _:
            return Side(("--fault", fault)), Side()


def part_of(name: str) -> str:
    """The part that a process belongs to, by its name."""
    if name.startswith("java"):
        return BROKERS
    return PROXIES if name.startswith("toxiproxy") else GENERATOR


def read_cpu(process: psutil.Process) -> Reading:
    """Of a run's own process and all below it."""
    found: dict[str, dict[int, float]] = {part: {} for part in PARTS}
    at_ns = time.perf_counter_ns()
    for each in (process, *process.children(recursive=True)):
        try:
            times = each.cpu_times()
            found[part_of(each.name())][each.pid] = times.user + times.system
        except psutil.NoSuchProcess:
            continue  # a command that had ended just then
    return Reading(at_ns, found)


def received(directory: RunDirectory, from_ns: int, until_ns: int) -> int:
    at_ns = read_events(directory, "receipts")["received_ns"]
    return int(pc.sum(pc.and_(pc.greater_equal(at_ns, from_ns), pc.less(at_ns, until_ns))).as_py() or 0)


def one_run(side: Side, options: Sequence[str], for_s: float) -> list[float]:
    """Microseconds of CPU a message: of the generator, the brokers, and all of them with the proxies."""
    with tempfile.TemporaryDirectory() as folder:
        log, runs = Path(folder) / "log", Path(folder) / "runs"
        length = ("-t", f"{for_s + AROUND_S:g}s", "--warm-up", str(WARM_UP_S), "--analyse-later", "--runs", str(runs))
        command = [str(LOCUST), "-f", LOAD, "--headless", "--runtime", "processes", *options, *side.options, *length]
        with log.open("w") as output:
            environment = {**os.environ, **dict(side.environment)}
            process = subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT, env=environment)
            first = _reading_in_load(process, log)
            time.sleep(for_s)
            last = read_cpu(psutil.Process(process.pid))
            process.wait(GIVE_UP_S)
        directory = opened(runs)
        if problems := directory.read_run().problems:
            sys.exit(f"{' '.join(command)}: {problems[0]}")
        messages = received(directory, first.at_ns, last.at_ns)
    each = [last.used_s(first, part) * US_PER_S / messages for part in PARTS]
    return [each[0], each[1], sum(each)]


def _reading_in_load(process: subprocess.Popen[bytes], log: Path) -> Reading:
    ends_s = time.monotonic() + GIVE_UP_S
    while not IN_LOAD.search(log.read_text("utf-8")):
        if process.poll() == EXIT_STATUS_UNUSABLE:  # such as of a fault that cannot be
            sys.stderr.write(log.read_text("utf-8").splitlines()[-1] + "\n")
            sys.exit(EXIT_STATUS_UNUSABLE)
        if process.poll() is not None or time.monotonic() > ends_s:
            process.terminate()
            sys.exit(f"{LOAD} did not come to its load:\n{log.read_text('utf-8')[-2_000:]}")
        time.sleep(0.1)
    return read_cpu(psutil.Process(process.pid))


def main() -> None:
    parser = Parser("harness_cost", __doc__)
    parser.add_whats(WHATS)
    parser.add_pairs()
    parser.add_argument("--for", dest="for_s", type=above_0, default=20.0, metavar="S", help="seconds of the load (20)")
    parser.add_argument("--rate", type=above_0, default=600.0, metavar="RATE", help="messages a second, in all (600)")
    parser.add_argument("--topology", type=topology, default="mesh", help="catalogue entry (mesh)")
    parser.add_argument("--fault", default=FAULT, help=f"what the faults are ({FAULT})")
    given = parser.parse_args()
    options = ("--topology", given.topology, "--rate", f"{given.rate:g}")
    print(f"{conditions()}; {given.topology}, {given.rate:g} messages a second, {given.for_s:g} s of each load")
    for what in given.whats or WHATS:
        a, b = (partial(one_run, side, options, given.for_s) for side in sides_of(what, given.fault))
        rows = zip((GENERATOR, BROKERS, "all"), measure(a, b, given.pairs, warm=False), strict=True)
        print(f"\n{what}: with (A), without (B)\n\n{HEADER}")
        print("\n".join(figures.row(f"CPU a message, {part}", "µs") for part, figures in rows), flush=True)


if __name__ == "__main__":
    main()
