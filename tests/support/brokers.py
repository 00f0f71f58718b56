"""Starts real brokers for a test as local processes, like a run; also with TLS or with a wrong password."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from records.store.rundir import RunDirectory
from tests.support.waiting import until
from topologies.catalogue.lookup import build
from topologies.classic.network_connectors import NetworkConnector
from topologies.classic.transport_connectors import TransportConnector
from topologies.model.broker import AnyBroker
from topologies.model.site import BRIDGE_PASSWORD, Site
from topologies.model.topology import Topology
from topologies.runtimes.contract import Runtime
from topologies.runtimes.prepared import render
from topologies.runtimes.processes.runtime import ProcessRuntime


@contextmanager
def running(
    topology: str | Topology, parent: Path, memory_mb: int = 256, renderer: Callable[..., Mapping[str, str]] = render
) -> Iterator[Runtime]:
    """Start the brokers of a topology or catalogue entry; take them down at the end, even after errors."""
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
    """Suspend the broker for the block, once the signal has reached all its threads."""
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


def over_tls(topology: Topology) -> Topology:
    """Return the same network with every connector, and so every bridge, over TLS."""
    connectors = (TransportConnector("openwire", transport="ssl"), TransportConnector("stomp", transport="ssl"))
    brokers = {broker.name: replace(broker, connectors=connectors) for broker in topology.brokers}
    links = tuple(
        replace(link, opened_by=brokers[link.opened_by.name], to=brokers[link.to.name])
        for link in topology.links
        if isinstance(link, NetworkConnector)
    )
    groups = tuple(replace(g, enter_at=tuple(brokers[b.name] for b in g.enter_at)) for g in topology.groups)
    return replace(topology, brokers=tuple(brokers.values()), links=links, groups=groups)


def wrong_password_of_bridges(topology: Topology, broker: AnyBroker, site: Site) -> dict[str, str]:
    """Files of a Classic broker whose links log in with another password than the far end knows."""
    files = dict(render(topology, broker, site))
    # Only the connectors' logins: the password stands before them too, as one that the broker itself knows.
    head, separator, tail = files["activemq.xml"].partition("<networkConnector ")
    files["activemq.xml"] = head + separator + tail.replace(f'"${{{BRIDGE_PASSWORD}}}"', '"wrong"')
    return files
