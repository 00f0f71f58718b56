"""Leads links between containers through proxies, by a Toxiproxy in a container of its own, on their network.

    opener ──► toxiproxy.links:port ──► broker:port          harness ──► 127.0.0.1:port, where doors are published too

The server is this machine's Toxiproxy: the container runs this machine's programs, mounted read-only, with any image.
Therefore it needs no image of its own, and no registry.
"""

import os
import sys
from collections.abc import Mapping
from pathlib import Path

from testcontainers.core.container import DockerContainer

from topologies.model.launch import LOOPBACK
from topologies.runtimes.containers import handover
from topologies.runtimes.containers.broker_container import BrokerContainer
from topologies.runtimes.containers.container_context import EVERYWHERE, ContainerContext
from topologies.runtimes.containers.handover import Handover
from topologies.runtimes.containers.sockets import ContainerSockets
from topologies.runtimes.proxies.link_proxies import LinkProxies, Place
from topologies.runtimes.proxies.proxy_plan import PlannedProxy
from topologies.runtimes.proxies.toxiproxy import ToxiproxyUnavailable
from topologies.runtimes.proxies.toxiproxy import command as toxiproxy_line

LINKS_HOST = "toxiproxy.links"
"""On the brokers' network, where no broker has a name with a dot."""

INSIDE = Path("/brokerbench")
SERVER_INSIDE, SCRIPT_INSIDE, SOCKET_INSIDE = INSIDE / "toxiproxy-server", INSIDE / "handover.py", INSIDE / "handover"
LOG_INSIDE = INSIDE / "log" / "toxiproxy.log"
PROGRAMS = ("/bin", "/lib", "/lib64", "/usr", "/etc/ld.so.cache")
LIBRARIES = "LD_LIBRARY_PATH"
LOG_LINES = 3


class ProxyContainer(BrokerContainer):
    """Toxiproxy's container. The run's guard removes it with the brokers': to end it, the engine is not asked."""

    def __init__(
        self, container: DockerContainer, line: list[str], *, log: Path, host: str, sockets: ContainerSockets
    ) -> None:
        super().__init__("Toxiproxy's container", container, line, log=log, host=host)
        self._sockets = sockets

    def start(self) -> None:
        super().start()
        if not self._sockets.receive(lambda: self.alive):
            lines = " | ".join(self.log_lines()[-LOG_LINES:]) or "it has said nothing"
            raise ToxiproxyUnavailable(
                "Toxiproxy's container does not hand over by what its sockets are seen, for which it takes this"
                " machine's Python and an engine whose containers share this kernel: use --runtime processes; its log"
                f" {self.log} ends: {lines}"
            )

    def kill(self) -> None:
        self.kill_process()

    def wait(self, timeout_s: float) -> bool:
        """The guard has waited."""
        return True


def links_in_containers(
    toxiproxy: Path,
    context: ContainerContext,
    every: tuple[PlannedProxy, ...],
    api_port: int,
    brokers: Mapping[str, BrokerContainer],
    log: Path,
    private: Path,
) -> LinkProxies:
    """Toxiproxy with its doors. Its container is not created yet. Always close it. Raises OSError.

    ``brokers``: may be filled until it starts. ``private``: a folder of this user's alone.
    """
    line = toxiproxy_line(SERVER_INSIDE, api_port, EVERYWHERE)
    container = DockerContainer(context.image.name, network=context.network, network_aliases=[LINKS_HOST])
    container.with_name(f"{context.network.name}-{LINKS_HOST}")
    container.with_command([str(python()), "-I", "-S", str(SCRIPT_INSIDE), str(SOCKET_INSIDE), *line])
    for port in (api_port, *(way.port for way in every)):
        container.ports[f"{port}/tcp"] = (LOOPBACK, port)  # type: ignore[assignment]
    for outside, inside, mode in mounts(toxiproxy, private, log):
        container.with_volume_mapping(outside, inside, mode)
    if LIBRARIES in os.environ:
        container.with_env(LIBRARIES, os.environ[LIBRARIES])
    container.with_kwargs(**context.options(LOG_INSIDE))
    sockets = ContainerSockets(Handover(private / SOCKET_INSIDE.name), brokers, listeners(every))
    server = ProxyContainer(container, line, log=log, host=context.engine.host, sockets=sockets)
    return LinkProxies(server, api_port, every, Place(sockets, LINKS_HOST, EVERYWHERE))


def listeners(every: tuple[PlannedProxy, ...]) -> dict[str, frozenset[int]]:
    """The ports by which links call each broker that they call. Pure."""
    called = {way.door.broker for way in every}
    return {name: frozenset(way.upstream_port for way in every if way.door.broker == name) for name in called}


def python() -> Path:
    """This machine's own, not an environment's link to it."""
    return Path(sys.executable).resolve()


def mounts(toxiproxy: Path, private: Path, log: Path) -> list[tuple[str, str, str]]:
    """(outside, inside, mode): this machine's programs where they are, and what is the run's."""
    programs = [place for place in PROGRAMS if Path(place).exists()]
    if not any(python().is_relative_to(place) for place in programs):
        programs.append(sys.base_prefix)
    return [
        *((place, place, "ro") for place in programs),
        (str(toxiproxy.resolve()), str(SERVER_INSIDE), "ro"),
        (str(Path(handover.__file__).resolve()), str(SCRIPT_INSIDE), "ro"),
        (str(private / SOCKET_INSIDE.name), str(SOCKET_INSIDE), "rw"),
        (str(log.parent), str(LOG_INSIDE.parent), "rw"),
    ]
