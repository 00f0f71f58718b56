"""How long until a topology is up and proven, and how much memory do its brokers take? Each entry of the catalogue.

``python -m benchmarks.entries [ENTRY …] [--runs 3] [--memory 512] [--runtime processes]`` brings each entry up and down
so often, one after the other, on two cores of the machine, and prints medians. Proven is what a run demands before its
first user starts: every link by management, then a canary over every path that clients will use. Memory is the
resident memory of all broker processes just then: an idle heap of fixed size is reserved, but hardly touched.

An entry that cannot be brought up or proven has a row that says why, and the exit status is 1.
"""

import argparse
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import psutil

from benchmarks.pairs import conditions
from brokerbench.errors import sentence
from brokerbench.up import PROOF_TIMEOUT_S, routes
from drivers import canary
from drivers.protocols import Spoken, connectors_of
from records.rundir import RunDirectory
from topologies.catalogue import ENTRIES, build
from topologies.management.links import prove_links
from topologies.model import Topology
from topologies.runtimes.contract import Runtime
from topologies.runtimes.making import Wanted, runtime_of
from topologies.trust import Trust
from topologies.validity import TopologyInvalid

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


def once(topology: Topology, wanted: Wanted) -> Figures:
    """Raises whatever kept it from being proven; everything is down again afterwards."""
    with tempfile.TemporaryDirectory() as folder:
        runtime = runtime_of(wanted, topology, RunDirectory.create(Path(folder), "run"))
        try:
            began_s = time.perf_counter()
            runtime.up(lambda line: None)
            up_s = time.perf_counter() - began_s
            prove(runtime, topology)
            return Figures(up_s, time.perf_counter() - began_s, resident_bytes(runtime, topology))
        finally:
            runtime.close()


def prove(runtime: Runtime, topology: Topology) -> None:
    prove_links(runtime, topology, timeout_s=PROOF_TIMEOUT_S)
    spoken = spoken_by(topology)
    producers, consumers = canary.sides(runtime, connectors_of(spoken, Trust()), spoken)
    canary.prove(routes(topology), producers, consumers, runtime.credentials(), timeout_s=PROOF_TIMEOUT_S)


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
        except Exception as error:  # whatever it is, the entries behind this one have nothing to do with it
            why = sentence(error).partition("\n")[0].replace("|", "\\|")
            return f"| `{entry}` | {len(topology.brokers)} | failed in run {run} of {runs}: {why} | | | |", False
    return row(entry, topology, found), True


def table(topologies: dict[str, Topology], wanted: Wanted, runs: int) -> bool:
    """Prints a row for each as soon as it is known; whether all were proven."""
    print(HEADER)
    proven = []
    for entry, topology in topologies.items():
        line, succeeded = measured(entry, topology, runs, partial(once, topology, wanted))
        print(line, flush=True)
        proven.append(succeeded)
    return all(proven)


def main() -> int:
    parser = argparse.ArgumentParser(description="Time to up and proven, and memory, of catalogue entries.")
    parser.add_argument("entries", nargs="*", default=list(ENTRIES), help="entries of the catalogue (default: all)")
    parser.add_argument("--runs", type=int, default=3, help="how often each is brought up")
    parser.add_argument("--memory", type=int, default=512, help="heap of each broker in MiB")
    parser.add_argument("--runtime", choices=("processes", "containers"), default="processes")
    asked = parser.parse_args()
    try:
        topologies = {entry: build(entry) for entry in asked.entries}
    except TopologyInvalid as error:
        parser.error(str(error))
    process = psutil.Process()
    process.cpu_affinity(process.cpu_affinity()[:CORES])  # brokers inherit it
    print(f"{conditions()}; {CORES} cores, {asked.runtime}, heaps of {asked.memory} MiB, medians of {asked.runs}\n")
    return 0 if table(topologies, Wanted(asked.runtime, broker_memory_mb=asked.memory), asked.runs) else 1


if __name__ == "__main__":
    sys.exit(main())
