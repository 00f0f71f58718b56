"""Leads links between containers through proxies, by a Toxiproxy in a container of its own, on their network.

    opener ──► toxiproxy.links:port ──► broker:port          harness ──► 127.0.0.1:port, where doors are published too

The server is this machine's Toxiproxy: the container runs this machine's programs, mounted read-only, with any image.
Therefore it needs no image of its own, and no registry.
"""

import os
from collections.abc import Mapping
from pathlib import Path

from testcontainers.core.container import DockerContainer

from topologies.model.launch import LOOPBACK
from topologies.runtimes.containers.broker_container import BrokerContainer
from topologies.runtimes.containers.container_context import EVERYWHERE, ContainerContext
from topologies.runtimes.containers.listening import BrokerListeners
from topologies.runtimes.proxies.link_proxies import LinkProxies, Place
from topologies.runtimes.proxies.proxy_plan import PlannedProxy
from topologies.runtimes.proxies.toxiproxy import LOG_LEVEL, ToxiproxyUnavailable
from topologies.runtimes.proxies.toxiproxy import command as toxiproxy_line

LINKS_HOST = "toxiproxy.links"
"""On the brokers' network, where no broker has a name with a dot."""

INSIDE = Path("/brokerbench")
SERVER_INSIDE = INSIDE / "toxiproxy-server"
LOG_INSIDE = INSIDE / "log" / "toxiproxy.log"
PROGRAMS = ("/bin", "/lib", "/lib64", "/usr", "/etc/ld.so.cache")
LIBRARIES = "LD_LIBRARY_PATH"
LOG_LINES = 3


class ProxyContainer(BrokerContainer):
    """Toxiproxy's container. The run's guard removes it with the brokers': to end it, the engine is not asked."""

    def start(self) -> None:
        super().start()
        if self.pid is None:
            lines = " | ".join(self.log_lines()[-LOG_LINES:]) or "it has said nothing"
            raise ToxiproxyUnavailable(
                "Toxiproxy's container has no process that can be seen from here, for which it takes an engine whose"
                f" containers share this machine's kernel: use --runtime processes; its log {self.log} ends: {lines}"
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
) -> LinkProxies:
    """Toxiproxy with its doors. Its container is not created yet. ``brokers``: may be filled until it starts."""
    line = toxiproxy_line(SERVER_INSIDE, api_port, EVERYWHERE)
    container = DockerContainer(context.image.name, network=context.network, network_aliases=[LINKS_HOST])
    container.with_name(f"{context.network.name}-{LINKS_HOST}")
    container.with_command(line).with_envs(**LOG_LEVEL)
    for port in (api_port, *(way.port for way in every)):
        container.ports[f"{port}/tcp"] = (LOOPBACK, port)  # type: ignore[assignment]
    for outside, inside, mode in mounts(toxiproxy, log):
        container.with_volume_mapping(outside, inside, mode)
    if LIBRARIES in os.environ:
        container.with_env(LIBRARIES, os.environ[LIBRARIES])
    container.with_kwargs(**context.options(LOG_INSIDE))
    server = ProxyContainer("Toxiproxy's container", container, line, log=log, host=context.engine.host)
    return LinkProxies(
        server, api_port, every, Place(BrokerListeners(brokers, listeners(every)).listening, LINKS_HOST, EVERYWHERE)
    )


def listeners(every: tuple[PlannedProxy, ...]) -> dict[str, frozenset[int]]:
    """The ports by which links call each broker that they call. Pure."""
    called = {way.door.broker for way in every}
    return {name: frozenset(way.upstream_port for way in every if way.door.broker == name) for name in called}


def mounts(toxiproxy: Path, log: Path) -> list[tuple[str, str, str]]:
    """(outside, inside, mode): this machine's programs where they are, and what is the run's."""
    return [
        *((place, place, "ro") for place in PROGRAMS if Path(place).exists()),
        (str(toxiproxy.resolve()), str(SERVER_INSIDE), "ro"),
        (str(log.parent), str(LOG_INSIDE.parent), "rw"),
    ]
