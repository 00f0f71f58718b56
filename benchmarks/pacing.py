"""Measures how late the generator is at a steady rate from one worker, by real runs' own events.

``python -m benchmarks.pacing --aims`` makes sixteen short runs and says which aims are met: each protocol at 120/s and
2,000/s, with normal priority, and with real-time priority beside two busy loops.

``python -m benchmarks.pacing [RATE] [--protocol A,B] [--pairs N] [--busy N]`` makes runs of 30 s at RATE messages a
second in all (default 120) on one broker that speaks the protocol (default: each of the four). Core runs on Artemis,
the others on Classic. Each pair has a run with normal and a run with real-time priority, in turn. With ``--pairs 0``
there is one run with normal priority. ``--busy N``: N loops beside it keep as many cores busy.

Beside each run stands a bare loop (`benchmarks.bare_loop`), which waits with the same priority at the same rate. A
Markdown row has the medians of the runs: own lag (sent - ready, of first attempts in the load), the bare loop's
lateness in the same load, the ratio of both p99, and from sent to received. Messages are one way
(`benchmarks.pacing_load`).
"""

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
from benchmarks.bare_loop import NS_PER_MS, bare_loop, lateness_ms
from benchmarks.connections import REAL_PROTOCOLS, entry_for
from benchmarks.pairs import conditions
from benchmarks.real_runs import load_ns, make_run
from drivers.realtime import why_refused
from records.reader import read_events
from records.run import RunInfo
from records.rundir import RunDirectory
from scenarios.harness.options.run_options import NORMAL, REALTIME

LOAD = "benchmarks/pacing_load.py"
BUSY = "while True: pass"
PERCENTILES = (50, 99, 99.9)
AIM_RATES = ("120", "2000")
AIM_BUSY = 2
AIM_LOAD_S, AIM_WARM_UP_S = 10, 5
MOST_P50_MS, MOST_P99_MS, MOST_RATIO = 0.2, 1.0, 1.5

HEADER = (
    "Milliseconds, but for the ratio and the messages sent and received.\n\n"
    "| protocol | rate | priority | busy loops | own lag p50 | p99 | p99.9 | bare loop p50 | p99 | own p99 / bare p99 "
    "| sent → received p50 | p99 | sent | received | runs | remarks |\n"
    "|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|"
)


@dataclass(frozen=True)
class PacedRun:
    """What to measure. ``warm_up_s``: '' for the harness's own."""

    protocol: str
    rate: str
    priority: str
    load_s: int
    warm_up_s: str = ""


@dataclass(frozen=True)
class Measured:
    """One run; milliseconds, p50, p99 and p99.9 of each."""

    own_lag: tuple[float, float, float]
    bare: tuple[float, float, float]
    sent_to_received: tuple[float, float, float]
    sent: int
    received: int
    remarks: tuple[str, ...] = ()

    @property
    def ratio(self) -> float:
        return self.own_lag[1] / self.bare[1]


def in_load(directory: RunDirectory) -> pa.Table:
    """The first attempt of each message that was due within the load."""
    (began_ns, ended_ns), sends = load_ns(directory), read_events(directory, "sends")
    due_ns, attempt = sends["due_ns"].to_numpy(), sends["attempt"].to_numpy()
    return sends.filter(pa.array((attempt == 1) & (due_ns >= began_ns) & (due_ns < ended_ns)))


def own_lags_ms(sends: pa.Table) -> Any:
    """How late (ms), by our own fault, each of them was."""
    return np.maximum(sends["sent_ns"].to_numpy() - sends["ready_ns"].to_numpy(), 0) / NS_PER_MS


def transits_ms(sends: pa.Table, receipts: pa.Table) -> Any:
    """How long (ms) each of them took from sent to received."""
    which = ["producer", "seq"]
    arrived = receipts.select([*which, "received_ns"]).join(sends.select([*which, "sent_ns"]), which, join_type="inner")
    return (arrived["received_ns"].to_numpy() - arrived["sent_ns"].to_numpy()) / NS_PER_MS


def percentiles(values_ms: Any) -> tuple[float, float, float]:
    """NaN for each if there are none."""
    p50, p99, p99_9 = np.percentile(values_ms, PERCENTILES) if len(values_ms) else (float("nan"),) * 3
    return float(p50), float(p99), float(p99_9)


def locust_options(asked: PacedRun) -> list[str]:
    """What of the run's command line its measurement is about."""
    where = ["--topology", entry_for(asked.protocol), "--protocol", asked.protocol]
    how = ["-t", f"{asked.load_s}s", "--rate", asked.rate, "--priority", asked.priority]
    warm_up = ["--warm-up", asked.warm_up_s] if asked.warm_up_s else []
    return [*how, *warm_up, *where]


def measure(asked: PacedRun) -> Measured:
    """Raises RuntimeError with what the run printed if it could not be made."""
    with tempfile.TemporaryDirectory() as folder:
        runs, times = Path(folder) / "runs", Path(folder) / "bare"
        with bare_loop(asked.rate, asked.priority, times):
            directory, _ = make_run(LOAD, locust_options(asked), runs)
        return measured(directory, times)


def measured(directory: RunDirectory, times: Path) -> Measured:
    """The figures of a run that is over. ``times``: the bare loop's."""
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
    """What went wrong in a run."""
    given_back = any("gave its real-time priority back" in warning for warning in info.warnings)
    return (*(["priority given back"] if given_back else []), *(["invalid"] if info.problems else []))


def row(asked: PacedRun, busy: int, seen: Sequence[Measured]) -> str:
    """Medians of the runs, and the messages of all of them."""
    times = zip(*((*one.own_lag, *one.bare[:2], one.ratio, *one.sent_to_received[:2]) for one in seen), strict=True)
    medians = [f"{statistics.median(each):.3f}" for each in times]
    counts = [f"{sum(one.sent for one in seen):,}", f"{sum(one.received for one in seen):,}"]
    rate = f"{float(asked.rate):,g}/s"
    remarks = ", ".join(sorted({remark for one in seen for remark in one.remarks}))
    cells = [f"`{asked.protocol}`", rate, asked.priority, f"{busy}", *medians, *counts, f"{len(seen)}", remarks]
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
            both = [PacedRun(protocol, rate, priority, load_s) for priority in priorities]
            seen: dict[PacedRun, list[Measured]] = {asked: [] for asked in both}
            for pair in range(max(pairs, 1)):
                for asked in both[:: 1 if pair % 2 == 0 else -1]:
                    seen[asked].append(measure(asked))
            for asked in both:
                print(row(asked, busy, seen[asked]), flush=True)


def aim_runs(protocols: Sequence[str]) -> list[tuple[PacedRun, int]]:
    """Each run with its number of busy loops; without those of real-time priority where it is not permitted."""
    ways = [(NORMAL, 0)] if why_refused() else [(NORMAL, 0), (REALTIME, AIM_BUSY)]
    return [
        (PacedRun(protocol, rate, priority, AIM_LOAD_S, f"{AIM_WARM_UP_S}"), busy)
        for priority, busy in ways
        for rate in AIM_RATES
        for protocol in protocols
    ]


def judged(seen: Sequence[tuple[PacedRun, Measured]]) -> Iterator[str]:
    """A Markdown list: of each aim, how many of the runs that it is about met it, and which did not."""
    normal = [(asked, one) for asked, one in seen if asked.priority == NORMAL]
    raised = [(asked, one) for asked, one in seen if asked.priority == REALTIME]
    yield _aim(f"own lag p50 below {MOST_P50_MS:g} ms", normal, lambda one: one.own_lag[0] < MOST_P50_MS)
    if raised:
        beside = f"with real-time priority, beside {AIM_BUSY} busy loops: own lag p99"
        yield _aim(f"{beside} below {MOST_P99_MS:g} ms", raised, lambda one: one.own_lag[1] < MOST_P99_MS)
        yield _aim(f"{beside} within {MOST_RATIO:g} × of a bare loop", raised, lambda one: one.ratio <= MOST_RATIO)


def _aim(what: str, seen: Sequence[tuple[PacedRun, Measured]], met: Callable[[Measured], bool]) -> str:
    missed = [f"`{asked.protocol}` at {float(asked.rate):,g}/s" for asked, one in seen if not met(one)]
    return f"- {what}: {len(seen) - len(missed)} of {len(seen)}" + (f", not {', '.join(missed)}" if missed else "")


def aims(protocols: Sequence[str]) -> None:
    """One run each, of `AIM_LOAD_S` seconds after `AIM_WARM_UP_S` seconds of warm-up."""
    began_s = time.monotonic()
    print(f"{conditions()}\n\n{HEADER}", flush=True)
    seen = []
    for asked, busy in aim_runs(protocols):
        with busy_loops(busy):
            one = measure(asked)
        seen.append((asked, one))
        print(row(asked, busy, [one]), flush=True)
    print("\n" + "\n".join(judged(seen)))
    if why := why_refused():
        print(f"- not measured: {why}")
    print(f"\n{len(seen)} runs in {time.monotonic() - began_s:.0f} s")


if __name__ == "__main__":
    parser = Parser("pacing", __doc__)
    parser.add_argument(
        "rate", nargs="?", type=above_0, default=120.0, metavar="RATE", help="messages a second, in all (120)"
    )
    parser.add_argument("--aims", action="store_true", help="make short runs of both rates, and say which aims are met")
    which = ",".join(REAL_PROTOCOLS)
    parser.add_argument(
        "--protocol", type=several_of(REAL_PROTOCOLS), default=REAL_PROTOCOLS, metavar="A,B", help=f"of {which} (all)"
    )
    parser.add_argument(
        "--pairs", type=whole(0), default=0, metavar="N", help="runs with normal and with real-time priority (0)"
    )
    parser.add_argument("--busy", type=whole(0), default=0, metavar="N", help="loops that each keep a core busy (0)")
    parser.add_argument("--for", dest="for_s", type=whole(1), default=30, metavar="S", help="seconds of each load (30)")
    given = parser.parse_args()
    if given.aims:
        aims(given.protocol)
    else:
        main(f"{given.rate:g}", given.protocol, given.pairs, given.busy, given.for_s)
