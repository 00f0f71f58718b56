"""Starts real brokers for a test, as a run does, as local processes."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from records.rundir import RunDirectory
from tests.support.waiting import until
from topologies.catalogue.lookup import build
from topologies.model.topology import Topology
from topologies.runtimes.contract import Runtime
from topologies.runtimes.prepared import render
from topologies.runtimes.processes.runtime import ProcessRuntime


@contextmanager
def running(
    topology: str | Topology, parent: Path, memory_mb: int = 256, renderer: Callable[..., Mapping[str, str]] = render
) -> Iterator[Runtime]:
    """The brokers of a topology or catalogue entry, up; taken down at the end, whatever happened."""
    meant = build(topology) if isinstance(topology, str) else topology
    folder = RunDirectory.create(parent, "brokers")
    runtime = ProcessRuntime(meant, folder, broker_memory_mb=memory_mb, renderer=renderer)
    try:
        runtime.up(lambda line: None)
        yield runtime
    finally:
        runtime.close()


@contextmanager
def frozen(runtime: Runtime, broker: str) -> Iterator[None]:
    """The broker stands still for as long as the block lasts: a signal takes a moment to reach its every thread."""
    pid = runtime.pid(broker)
    runtime.pause(broker)
    try:
        until(lambda: all(_stopped(task / "stat") for task in Path(f"/proc/{pid}/task").iterdir()))
        yield
    finally:
        runtime.resume(broker)


def _stopped(stat: Path) -> bool:
    """Whether a thread is in state T; the state follows the name, which is in brackets and may hold anything."""
    try:
        return stat.read_text().rpartition(")")[2].split()[0] == "T"
    except OSError:  # ended meanwhile: look again
        return False


def stomp_upstream(runtime: Runtime, broker: str) -> tuple[str, int]:
    """Host and port of a broker's STOMP connector, as `StompProxy` takes them."""
    host, _, port = runtime.endpoint(broker, "stomp").uri.partition("://")[2].partition("?")[0].rpartition(":")
    return host, int(port)
