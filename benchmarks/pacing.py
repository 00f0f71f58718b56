"""Measures how late one worker sends at a steady rate, from the recorded events of real runs.

``python -m benchmarks.pacing --aims`` makes sixteen short runs and reports which aims are met. It measures each
protocol at 120/s and 2,000/s, both with normal priority, and with real-time priority next to two busy loops.

``python -m benchmarks.pacing [RATE] [--protocol A,B] [--pairs N] [--busy N]`` makes 30-second runs at a total of RATE
messages per second (default 120) on one broker, for each of the protocols (default: all four). Core runs on Artemis,
the others on Classic. Each pair has a run with normal and a run with real-time priority, in alternating order. With
``--pairs 0`` there is one run with normal priority. ``--busy N`` runs N busy loops at the same time.

During each run, a bare loop in Java waits for due times and does nothing else, at the same rate and with the same
priority. No load generator can do better on this machine. A Markdown row has the medians of the runs: own lag (sent -
ready, for first attempts during the load), the bare loop's lateness during the same load, the ratio of both p99, and
the time from sent to received. There are no replies (`benchmarks.pacing_load`).
"""

import brokerbench.api  # isort: skip  # noqa: F401 - first, as it makes gevent patch the standard library

import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from benchmarks.arguments import Parser, above_0, several_of, whole
from benchmarks.one_broker import REAL_PROTOCOLS, entry_for
from benchmarks.pairs import conditions
from benchmarks.real_runs import load_ns, make_run
from drivers.realtime import why_refused
from harness.java_parts import find_java_parts
from harness.options.declarations import NORMAL, REALTIME
from records.run import RunInfo
from records.store.reader import read_events
from records.store.rundir import RunDirectory
from records.units import NS_PER_MS

LOAD = "benchmarks/pacing_load.py"
BUSY = "while True: pass"
SOURCES = Path(__file__).with_name("java")
NUMBERS_A_TIME = 2
PERCENTILES = (50, 99, 99.9)
AIM_RATES = ("120", "2000")
AIM_BUSY = 2
AIM_LOAD_S, AIM_WARM_UP_S = 10, 5
MOST_P50_MS, MOST_P99_MS, MOST_RATIO = 0.2, 1.0, 1.5

HEADER = (
    "All values are in milliseconds, except the ratio, the counts and the rate.\n\n"
    "| protocol | rate | priority | busy loops | own lag p50 | p99 | p99.9 | bare loop p50 | p99 | own p99 / bare p99 "
    "| sent → received p50 | p99 | sent | received | runs | remarks |\n"
    "|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|"
)


@dataclass(frozen=True)
class PacedRun:
    """A run to measure. ``warm_up_s``: empty for the harness's default."""

    protocol: str
    rate: str
    priority: str
    load_s: int
    warm_up_s: str = ""


@dataclass(frozen=True)
class Measured:
    """Figures of one run. Each duration has p50, p99 and p99.9, in milliseconds."""

    own_lag: tuple[float, float, float]
    bare: tuple[float, float, float]
    sent_to_received: tuple[float, float, float]
    sent: int
    received: int
    remarks: tuple[str, ...] = ()

    @property
    def ratio(self) -> float:
        return self.own_lag[1] / self.bare[1]


@contextmanager
def bare_loop(rate: str, priority: str, file: Path) -> Iterator[None]:
    """Run a process that wakes ``rate`` times per second until the block ends. Afterwards ``file`` is complete.

    Its times are on the same clock as a run's events (`tests/drivers/jvm/test_clocks.py`), so it is known which times
    are within the load.
    """
    parts = find_java_parts("openwire")
    classes = parts.compiler.compiled((SOURCES,), ())
    java = str(parts.home / "bin" / "java")
    command = [java, "-XX:+UseSerialGC", "-cp", str(classes), "brokerbench.BareLoop", rate, str(file)]
    before = raise_all_priorities if priority == REALTIME else None
    loop = subprocess.Popen(command, stdin=subprocess.PIPE, preexec_fn=before)
    try:
        yield
    finally:
        loop.communicate()  # closes its input, which ends the loop


def raise_all_priorities() -> None:
    """Give the current process real-time priority, for use as a ``preexec_fn``.

    All threads of the new program inherit the priority, while `drivers.realtime` raises single threads.
    """
    os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(1))


def lateness_ms(file: Path, began_ns: int, ended_ns: int) -> Any:
    """Return the bare loop's lateness (ms) for each due time from ``began_ns`` until before ``ended_ns``."""
    due_ns, woke_ns = np.fromfile(file, dtype=">i8").reshape(-1, NUMBERS_A_TIME).T
    return (woke_ns - due_ns)[(due_ns >= began_ns) & (due_ns < ended_ns)] / NS_PER_MS


def in_load(directory: RunDirectory) -> pa.Table:
    """Return the first send attempts of messages that were due during the load."""
    (began_ns, ended_ns), sends = load_ns(directory), read_events(directory, "sends")
    due_ns, attempt = sends["due_ns"].to_numpy(), sends["attempt"].to_numpy()
    return sends.filter(pa.array((attempt == 1) & (due_ns >= began_ns) & (due_ns < ended_ns)))


def own_lags_ms(sends: pa.Table) -> Any:
    """Return the lag (ms) that the load generator itself caused, for each send."""
    return np.maximum(sends["sent_ns"].to_numpy() - sends["ready_ns"].to_numpy(), 0) / NS_PER_MS


def transits_ms(sends: pa.Table, receipts: pa.Table) -> Any:
    """Return the time (ms) from sent to received, for each receipt of these sends."""
    message_key = ["producer", "seq"]
    arrived = receipts.select([*message_key, "received_ns"]).join(
        sends.select([*message_key, "sent_ns"]), message_key, join_type="inner"
    )
    return (arrived["received_ns"].to_numpy() - arrived["sent_ns"].to_numpy()) / NS_PER_MS


def percentiles(values_ms: Any) -> tuple[float, float, float]:
    """Return p50, p99 and p99.9. All are NaN if there are no values."""
    p50, p99, p99_9 = np.percentile(values_ms, PERCENTILES) if len(values_ms) else (float("nan"),) * 3
    return float(p50), float(p99), float(p99_9)


def locust_options(paced_run: PacedRun) -> list[str]:
    """Return the run's command-line options that depend on the measurement."""
    where = ["--topology", entry_for(paced_run.protocol), "--protocol", paced_run.protocol]
    how = ["-t", f"{paced_run.load_s}s", "--rate", paced_run.rate, "--priority", paced_run.priority]
    warm_up = ["--warm-up", paced_run.warm_up_s] if paced_run.warm_up_s else []
    return [*how, *warm_up, *where]


def measure(paced_run: PacedRun) -> Measured:
    """Make the run and return its figures. Raises RuntimeError with the run's output if it fails."""
    with tempfile.TemporaryDirectory() as folder:
        runs, times = Path(folder) / "runs", Path(folder) / "bare"
        with bare_loop(paced_run.rate, paced_run.priority, times):
            directory, _ = make_run(LOAD, locust_options(paced_run), runs)
        return measured(directory, times)


def measured(directory: RunDirectory, times: Path) -> Measured:
    """Return the figures of a finished run. ``times``: the file of the bare loop."""
    sends = in_load(directory)
    transits = transits_ms(sends, read_events(directory, "receipts"))
    return Measured(
        percentiles(own_lags_ms(sends)),
        percentiles(lateness_ms(times, *load_ns(directory))),
        percentiles(transits),
        len(sends),
        len(transits),
        remarks_on(directory.read_run()),
    )


def remarks_on(info: RunInfo) -> tuple[str, ...]:
    """Return remarks on the problems of a run."""
    given_back = any("gave up its real-time priority" in warning for warning in info.warnings)
    return (*(["priority given back"] if given_back else []), *(["invalid"] if info.problems else []))


def row(paced_run: PacedRun, busy: int, measured_runs: Sequence[Measured]) -> str:
    """Return a table row with the medians of the runs, and their total messages."""
    times = zip(
        *((*run.own_lag, *run.bare[:2], run.ratio, *run.sent_to_received[:2]) for run in measured_runs), strict=True
    )
    medians = [f"{statistics.median(values):.3f}" for values in times]
    counts = [f"{sum(run.sent for run in measured_runs):,}", f"{sum(run.received for run in measured_runs):,}"]
    rate = f"{float(paced_run.rate):,g}/s"
    remarks = ", ".join(sorted({remark for run in measured_runs for remark in run.remarks}))
    cells = [
        f"`{paced_run.protocol}`",
        rate,
        paced_run.priority,
        f"{busy}",
        *medians,
        *counts,
        f"{len(measured_runs)}",
        remarks,
    ]
    return f"| {' | '.join(cells)} |"


@contextmanager
def busy_loops(count: int) -> Iterator[None]:
    loops = [subprocess.Popen([sys.executable, "-c", BUSY]) for _ in range(count)]
    try:
        yield
    finally:
        for loop in loops:
            loop.kill()
            loop.wait()


def main(rate: str, protocols: Sequence[str], pairs: int, busy: int, load_s: int) -> None:
    print(f"{conditions()}\n\n{HEADER}", flush=True)
    with busy_loops(busy):
        for protocol in protocols:
            priorities = (NORMAL, REALTIME) if pairs else (NORMAL,)
            paced_runs = [PacedRun(protocol, rate, priority, load_s) for priority in priorities]
            measured_runs: dict[PacedRun, list[Measured]] = {paced_run: [] for paced_run in paced_runs}
            for pair in range(max(pairs, 1)):
                for paced_run in paced_runs[:: 1 if pair % 2 == 0 else -1]:
                    measured_runs[paced_run].append(measure(paced_run))
            for paced_run in paced_runs:
                print(row(paced_run, busy, measured_runs[paced_run]), flush=True)


def aim_runs(protocols: Sequence[str]) -> list[tuple[PacedRun, int]]:
    """Return each run with its number of busy loops. Real-time runs are left out if real-time is not permitted."""
    ways = [(NORMAL, 0)] if why_refused() else [(NORMAL, 0), (REALTIME, AIM_BUSY)]
    return [
        (PacedRun(protocol, rate, priority, AIM_LOAD_S, f"{AIM_WARM_UP_S}"), busy)
        for priority, busy in ways
        for rate in AIM_RATES
        for protocol in protocols
    ]


def aim_results(runs: Sequence[tuple[PacedRun, Measured]]) -> Iterator[str]:
    """Yield a Markdown list item per aim: how many of its runs met it, and which runs did not."""
    normal = [(paced_run, run) for paced_run, run in runs if paced_run.priority == NORMAL]
    raised = [(paced_run, run) for paced_run, run in runs if paced_run.priority == REALTIME]
    yield _aim(f"own lag p50 below {MOST_P50_MS:g} ms", normal, lambda measured: measured.own_lag[0] < MOST_P50_MS)
    if raised:
        next_to_loops = f"with real-time priority, next to {AIM_BUSY} busy loops: own lag p99"
        yield _aim(
            f"{next_to_loops} below {MOST_P99_MS:g} ms", raised, lambda measured: measured.own_lag[1] < MOST_P99_MS
        )
        yield _aim(
            f"{next_to_loops} within {MOST_RATIO:g} × of a bare loop",
            raised,
            lambda measured: measured.ratio <= MOST_RATIO,
        )


def _aim(aim: str, runs: Sequence[tuple[PacedRun, Measured]], is_met: Callable[[Measured], bool]) -> str:
    missed = [f"`{paced_run.protocol}` at {float(paced_run.rate):,g}/s" for paced_run, run in runs if not is_met(run)]
    return f"- {aim}: {len(runs) - len(missed)} of {len(runs)}" + (f", not {', '.join(missed)}" if missed else "")


def aims(protocols: Sequence[str]) -> None:
    """Make each of `aim_runs` once and print which aims are met."""
    began_s = time.monotonic()
    print(f"{conditions()}\n\n{HEADER}", flush=True)
    runs = []
    for paced_run, busy in aim_runs(protocols):
        with busy_loops(busy):
            measured_run = measure(paced_run)
        runs.append((paced_run, measured_run))
        print(row(paced_run, busy, [measured_run]), flush=True)
    print("\n" + "\n".join(aim_results(runs)))
    if why := why_refused():
        print(f"- not measured: {why}")
    print(f"\n{len(runs)} runs in {time.monotonic() - began_s:.0f} s")


if __name__ == "__main__":
    parser = Parser("pacing", __doc__)
    parser.add_argument(
        "rate", nargs="?", type=above_0, default=120.0, metavar="RATE", help="total messages per second (120)"
    )
    parser.add_argument("--aims", action="store_true", help="make short runs and report which aims are met")
    protocols = ",".join(REAL_PROTOCOLS)
    parser.add_argument(
        "--protocol",
        type=several_of(REAL_PROTOCOLS),
        default=REAL_PROTOCOLS,
        metavar="A,B",
        help=f"protocols: {protocols} (all)",
    )
    parser.add_argument(
        "--pairs", type=whole(0), default=0, metavar="N", help="runs with normal and with real-time priority (0)"
    )
    parser.add_argument("--busy", type=whole(0), default=0, metavar="N", help="number of busy loops, one core each (0)")
    parser.add_argument("--for", dest="for_s", type=whole(1), default=30, metavar="S", help="load seconds per run (30)")
    options = parser.parse_args()
    if options.aims:
        aims(options.protocol)
    else:
        main(f"{options.rate:g}", options.protocol, options.pairs, options.busy, options.for_s)
