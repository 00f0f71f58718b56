"""Measures the time until each catalogue entry is up and proven, and the memory of its brokers.

``python -m benchmarks.entries [ENTRY …] [--runs N]`` brings each entry up and down N times, one after the other, on two
cores of the machine, and prints medians. An entry is proven when it meets the conditions for a run's first user: every
link by management, then a canary over every path that clients will use. Memory is the resident memory of all broker
processes just then: an idle heap of fixed size is reserved, but hardly touched.

An entry that cannot be brought up or proven has a row that says why, and the exit status is 1.
"""

import statistics
import sys
import tempfile
import time
from argparse import ArgumentTypeError
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import psutil

from benchmarks.arguments import Parser, one_of, whole
from benchmarks.around_a_run import RUNTIMES
from benchmarks.pairs import conditions
from brokerbench.errors import sentence
from brokerbench.up import routes
from drivers import canary
from drivers.protocols import Spoken, connectors_of
from records.rundir import RunDirectory
from scenarios.bring_up import bring_up
from topologies.catalogue.lookup import ENTRIES, build
from topologies.model.topology import Topology
from topologies.model.trust import Trust
from topologies.model.validity import TopologyInvalid
from topologies.runtimes.contract import Runtime
from topologies.runtimes.runtime_factory import Wanted, runtime_of

CORES = 2
MIB = 1 << 20
PROTOCOLS = ("stomp", "amqp")  # of the canaries: the first that all brokers speak where clients enter
HEADER = "| entry | brokers | up | proven, in all | resident, all brokers | one broker |\n|---|---|---|---|---|---|"


@dataclass(frozen=True)
class Figures:
    """One time that a topology was brought up; ``proven_s`` counts from the beginning."""

    up_s: float
    proven_s: float
    resident_bytes: int


def topology(text: str) -> str:
    """The text of a topology that can be built, as an argument."""
    try:
        build(text)
    except TopologyInvalid as error:
        raise ArgumentTypeError(str(error)) from None
    return text


def once(topology: Topology, wanted: Wanted) -> Figures:
    """Raises the error that prevented the proof. Everything is down again afterwards."""
    with tempfile.TemporaryDirectory() as folder:
        runtime = runtime_of(wanted, topology, RunDirectory.create(Path(folder), "run"))
        try:
            began_s = time.perf_counter()
            up_at_s: list[float] = []
            spoken = spoken_by(topology)
            ends = canary.sides(runtime, connectors_of(spoken, Trust()), spoken)
            bring_up(runtime, topology, routes(topology), ends, _silent, lambda: up_at_s.append(time.perf_counter()))
            proven_s = time.perf_counter() - began_s
            return Figures(up_at_s[0] - began_s, proven_s, resident_bytes(runtime, topology))
        finally:
            runtime.close()


def _silent(line: str) -> None:
    """The table is all that is printed."""


def spoken_by(topology: Topology) -> Spoken:
    """Routers know no STOMP."""
    brokers = [broker for group in topology.groups for broker in group.enter_at]
    common = (each for each in PROTOCOLS if all(each in broker.protocols for broker in brokers))
    return Spoken.parse(next(common, PROTOCOLS[0]))


def resident_bytes(runtime: Runtime, topology: Topology) -> int:
    pids = [runtime.pid(broker.name) for broker in topology.brokers]
    return sum(psutil.Process(pid).memory_info().rss for pid in pids if pid is not None)


def row(entry: str, topology: Topology, found: Sequence[Figures]) -> str:
    """A row of a Markdown table: medians, and the extremes of the whole time."""
    proven = [each.proven_s for each in found]
    resident = statistics.median(each.resident_bytes for each in found)
    brokers = len(topology.brokers)
    return (
        f"| `{entry}` | {brokers} | {statistics.median(each.up_s for each in found):.1f} s"
        f" | **{statistics.median(proven):.1f} s** ({min(proven):.1f} … {max(proven):.1f})"
        f" | {resident / MIB:,.0f} MiB | {resident / MIB / brokers:,.0f} MiB |"
    )


def measured(entry: str, topology: Topology, runs: int, bring_up: Callable[[], Figures]) -> tuple[str, bool]:
    """The entry's row, and whether all its runs were proven. The first that was not ends it, but not the table."""
    found: list[Figures] = []
    for run in range(1, runs + 1):
        try:
            found.append(bring_up())
        except Exception as error:  # any error: the later entries do not depend on this one
            why = sentence(error).partition("\n")[0].replace("|", "\\|")
            return f"| `{entry}` | {len(topology.brokers)} | failed in run {run} of {runs}: {why} | | | |", False
    return row(entry, topology, found), True


def table(topologies: dict[str, Topology], wanted: Wanted, runs: int) -> bool:
    """Prints a row for each entry as soon as it is known. Returns whether all were proven."""
    print(HEADER)
    proven = []
    for entry, topology in topologies.items():
        line, succeeded = measured(entry, topology, runs, partial(once, topology, wanted))
        print(line, flush=True)
        proven.append(succeeded)
    return all(proven)


def main() -> int:
    parser = Parser("entries", __doc__)
    parser.add_argument("entries", nargs="*", type=topology, metavar="ENTRY", help="of the catalogue (all)")
    parser.add_argument("--runs", type=whole(1), default=3, metavar="N", help="how often each is brought up (3)")
    parser.add_argument("--memory", type=whole(64), default=512, metavar="MIB", help="heap of each broker (512)")
    parser.add_argument("--runtime", type=one_of(RUNTIMES), default=RUNTIMES[0], help=" or ".join(RUNTIMES))
    given = parser.parse_args()
    topologies = {entry: build(entry) for entry in given.entries or ENTRIES}
    process = psutil.Process()
    process.cpu_affinity(process.cpu_affinity()[:CORES])  # brokers inherit it
    print(f"{conditions()}; {CORES} cores, {given.runtime}, heaps of {given.memory} MiB, medians of {given.runs}\n")
    return 0 if table(topologies, Wanted(given.runtime, broker_memory_mb=given.memory), given.runs) else 1


if __name__ == "__main__":
    sys.exit(main())
