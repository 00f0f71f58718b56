"""Starts the broker of a comparison, and runs each side of the comparison on it in a separate process.

``python -m benchmarks.NAME [WHAT …] [--pairs N]`` runs all measurements on the same broker. This module also has the
sides that several benchmarks share: modules of benchmarks/ that print their figures, users of a Java client, and the
load generator of the Artemis distribution.
"""

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

from benchmarks.arguments import Parser, scaled
from benchmarks.pairs import conditions
from benchmarks.stopwatch import BODY_BYTES, IN_FLIGHT, USER, children_cpu_s
from drivers.protocols import PROTOCOLS
from records.store.rundir import RunDirectory
from topologies.artemis.launch import MAIN
from topologies.catalogue.lookup import build
from topologies.catalogue.overlay import Overlay
from topologies.jvm.distribution import ensure
from topologies.jvm.java import find_java
from topologies.pinned import pinned
from topologies.runtimes.contract import Runtime
from topologies.runtimes.processes.runtime import ProcessRuntime

BROKER = "broker-1"
REAL_PROTOCOLS = tuple(name for name in PROTOCOLS if name != "memory")
PACED_PER_S, PACED_S, PACED_WARM_UP = 10_000, 30, 50_000

Bench = TypeVar("Bench")
Side = Callable[[], Sequence[float]]
"""One side of a comparison: messages per second, and CPU microseconds per message."""


def entry_for(protocol: str) -> str:
    """Return the name of a catalogue entry with one broker that supports the protocol: Artemis for Core."""
    return "artemis-single" if protocol == "core" else "single"


@contextmanager
def broker(entry: str, overlay: str = "") -> Iterator[tuple[ProcessRuntime, Path]]:
    """Start the broker of the one-broker entry ``entry``; yield its runtime and a temporary folder.

    ``overlay``: YAML that is applied to the entry.
    """
    topology = Overlay(Path("overlay"), overlay).apply(build(entry)) if overlay else build(entry)
    with tempfile.TemporaryDirectory() as folder:
        runtime = ProcessRuntime(topology, RunDirectory.create(Path(folder), "broker"))
        runtime.up(print)
        try:
            yield runtime, Path(folder)
        finally:
            runtime.close()


def run(
    parser: Parser,
    entry: str,
    make_bench: Callable[[ProcessRuntime, Path, float], Bench],
    measurements: Mapping[str, Callable[[Bench, int], None]],
) -> None:
    """Start the broker of the one-broker entry ``entry`` and run measurements on it.

    The command line selects the ``measurements``; by default all of them run. Each is called with the bench and the
    requested number of pairs. ``make_bench`` gets the requested size.
    """
    parser.add_measurements(measurements)
    parser.add_pairs()
    parser.add_size()
    options = parser.parse_args()
    print(conditions())
    with broker(entry) as (runtime, folder):
        bench = make_bench(runtime, folder, options.size)
        for name in options.measurements or measurements:
            measurements[name](bench, options.pairs)


def figures_of(runtime: Runtime, module: str, *arguments: str, checkout: Path | None = None) -> dict[str, float]:
    """Run a module of benchmarks/ and return the JSON in its last line of output.

    The module reads the broker's password from standard input.

    ``checkout``: run this checkout's module of the same name. This works because ``-m`` searches the working directory
    before the installed packages.
    """
    process = subprocess.run(
        [sys.executable, "-W", "ignore", "-m", f"benchmarks.{module}", *arguments],
        input=runtime.credentials().password,
        stdout=subprocess.PIPE,
        text=True,
        check=True,
        cwd=checkout,
    )
    figures: dict[str, float] = json.loads(process.stdout.splitlines()[-1])
    return figures


def side(runtime: Runtime, module: str, *arguments: str, checkout: Path | None = None) -> Side:
    """Return a side that runs a module of benchmarks/. For ``checkout`` see `figures_of`."""

    def run_once() -> Sequence[float]:
        figures = figures_of(runtime, module, *arguments, checkout=checkout)
        return figures["messages_per_s"], figures["cpu_us_per_message"]

    return run_once


def java_users(
    runtime: Runtime,
    protocol: str,
    count: int,
    *,
    durable: bool,
    in_flight: int = IN_FLIGHT,
    rate: float = 0.0,
    warm_up: int = 0,
) -> dict[str, float]:
    """Return the figures of `benchmarks.java_users` for ``count`` recorded messages.

    If ``rate`` is 0, all messages are due at once.
    """
    kind, uri = "durable" if durable else "non-durable", runtime.endpoint(BROKER, protocol).uri
    load = (str(count), kind, str(in_flight), str(rate), str(warm_up))
    figures = figures_of(runtime, "java_users", protocol, uri, *load)
    assert (figures["sends"], figures["receipts"]) == (count, count), figures
    return figures


def java_side(
    runtime: Runtime, protocol: str, count: int, *, durable: bool, in_flight: int, warm_up: int = 0
) -> Callable[[], tuple[float, float]]:
    def run_once() -> tuple[float, float]:
        figures = java_users(runtime, protocol, count, durable=durable, in_flight=in_flight, warm_up=warm_up)
        return figures["messages_per_s"], figures["cpu_us_per_message"]

    return run_once


def run_paced(runtime: Runtime, protocol: str, times: int, size: float) -> None:
    """Run a Java client's load at a steady rate ``times`` times, and print the figures of each run."""
    count, warm_up = scaled(PACED_PER_S * PACED_S, size), scaled(PACED_WARM_UP, size)
    for _ in range(times):
        figures = java_users(runtime, protocol, count, durable=False, rate=PACED_PER_S, warm_up=warm_up)
        print(f"paced {PACED_PER_S}/s for {count / PACED_PER_S:g} s: {figures}", flush=True)


class PerfClient:
    """Runs ``artemis perf client``, the load generator in the Artemis distribution: one producer and one consumer.
    Each run is a process. Its arguments and reports are in ``folder``.
    """

    def __init__(self, runtime: ProcessRuntime, folder: Path) -> None:
        self._runtime, self._folder = runtime, folder
        self._home, self._java = ensure(pinned("activemq-artemis")), find_java().executable

    def run(self, options: str, uri: str, *, durable: bool) -> tuple[float, list[dict[str, Any]]]:
        """Run the load generator and return the CPU seconds of its whole process, and its samples.

        The password is in an argument file that only the current user can read.
        """
        arguments, report, before_s = self._folder / "perf.args", self._folder / "perf.json", children_cpu_s()
        report.unlink(missing_ok=True)
        arguments.touch(mode=0o600)
        arguments.write_text(
            f"-Dartemis.home={self._home} -Dartemis.instance={self._folder} -Dlog4j2.level=OFF "
            f"-classpath {self._home}/lib/artemis-boot.jar {MAIN} perf client {options} --json {report} "
            f"--message-size {BODY_BYTES} --url {uri} --user {USER} --password {self._runtime.credentials().password} "
            f"{'--persistent ' if durable else ''}queue://perf.{time.time_ns()}\n"
        )
        process = subprocess.run([self._java, f"@{arguments}"], cwd=self._folder, capture_output=True, text=True)
        assert process.returncode == 0, process.stdout[-2_000:] + process.stderr[-2_000:]
        return children_cpu_s() - before_s, json.loads(report.read_text())
