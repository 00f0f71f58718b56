"""Leads links between containers through proxies, by a Toxiproxy in a container of its own, on their network.

    opener ──► toxiproxy.links:port ──► broker:port          harness ──► 127.0.0.1:port, where doors are published too

The server is this machine's Toxiproxy. Its one file is mounted read-only into a container of the brokers' image. So
links in containers and in processes go through the same version, and no further image is pulled.
"""

from collections.abc import Mapping
from pathlib import Path

from testcontainers.core.container import DockerContainer

from topologies.model.launch import LOOPBACK
from topologies.runtimes.containers.broker_container import BrokerContainer
from topologies.runtimes.containers.container_context import EVERYWHERE, ContainerContext
from topologies.runtimes.containers.listening import BrokerListeners
from topologies.runtimes.proxies.link_proxies import LinkProxies, Place
from topologies.runtimes.proxies.proxy_plan import PlannedProxy
from topologies.runtimes.proxies.toxiproxy import INSTALL, LOG_LEVEL, ToxiproxyUnavailable
from topologies.runtimes.proxies.toxiproxy import command as toxiproxy_line

LINKS_HOST = "toxiproxy.links"
"""On the brokers' network, where no broker has a name with a dot."""

INSIDE = Path("/brokerbench")
SERVER_INSIDE = INSIDE / "toxiproxy-server"
LOG_INSIDE = INSIDE / "log" / "toxiproxy.log"
LOG_LINES = 3


class ProxyContainer(BrokerContainer):
    """Toxiproxy's container. The run's guard removes it with the brokers': to end it, the engine is not asked."""

    def start(self) -> None:
        super().start()
        if self.pid is None:
            lines = " | ".join(self.log_lines()[-LOG_LINES:]) or "it has said nothing"
            raise ToxiproxyUnavailable(
                "Toxiproxy's container has no process that can be seen from here. It takes an engine whose containers"
                " share this machine's kernel, and a server that runs in the brokers' image, as a statically linked one"
                f" does: build it by {INSTALL}, or use --runtime processes; its log {self.log} ends: {lines}"
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
    container.with_volume_mapping(toxiproxy.resolve(), str(SERVER_INSIDE), "ro")
    container.with_volume_mapping(log.parent, str(LOG_INSIDE.parent), "rw")
    container.with_kwargs(**context.options(LOG_INSIDE))
    server = ProxyContainer("Toxiproxy's container", container, line, log=log, host=context.engine.host)
    return LinkProxies(
        server, api_port, every, Place(BrokerListeners(brokers, listeners(every)).listening, LINKS_HOST, EVERYWHERE)
    )


def listeners(every: tuple[PlannedProxy, ...]) -> dict[str, frozenset[int]]:
    """The ports by which links call each broker that they call. Pure."""
    called = {way.door.broker for way in every}
    return {name: frozenset(way.upstream_port for way in every if way.door.broker == name) for name in called}
