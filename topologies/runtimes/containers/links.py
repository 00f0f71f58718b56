"""Puts proxies into links between containers, by a Toxiproxy in a separate container on their network.

    opener ──► toxiproxy.links:port ──► broker:port       harness ──► 127.0.0.1:port, where proxies are published too

The server is this machine's Toxiproxy. Its single file is mounted read-only into a container of the brokers' image. So
links in containers and between processes use the same version, and no further image is pulled.

A proxy is open while its broker listens. The listening ports in the brokers' containers are read from /proc. Each read
costs the kernel milliseconds, so it is done rarely.
"""

import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from testcontainers.core.container import DockerContainer

from topologies.model.launch import LOOPBACK
from topologies.runtimes.containers.broker_container import EVERYWHERE, BrokerContainer, ContainerContext
from topologies.runtimes.proxies.link_proxies import LinkProxies, Place
from topologies.runtimes.proxies.proxy_plan import PlannedProxy
from topologies.runtimes.proxies.toxiproxy import INSTALL, LOG_LEVEL, ToxiproxyUnavailable
from topologies.runtimes.proxies.toxiproxy import command as toxiproxy_line

LINKS_HOST = "toxiproxy.links"
"""Host name on the brokers' network, where no broker's name has a dot."""

INSIDE = Path("/brokerbench")
SERVER_INSIDE = INSIDE / "toxiproxy-server"
LOG_INSIDE = INSIDE / "log" / "toxiproxy.log"
LOG_LINES = 3


class ProxyContainer(BrokerContainer):
    """Toxiproxy's container. The run's guard removes it with the brokers, so ending it does not involve the engine."""

    def start(self) -> None:
        super().start()
        if self.pid is None:
            lines = " | ".join(self.log_lines()[-LOG_LINES:]) or "the log is empty"
            raise ToxiproxyUnavailable(
                "Toxiproxy's container has no process that is visible from here. This requires an engine whose"
                " containers share this machine's kernel, and a server that runs in the brokers' image, such as a"
                f" statically linked one: build it by {INSTALL}, or use --runtime processes; its log {self.log} ends:"
                f" {lines}"
            )

    def kill(self) -> None:
        self.kill_process()

    def wait(self, timeout_s: float) -> bool:
        """Return True: the guard has already waited."""
        return True


def links_in_containers(
    toxiproxy: Path,
    context: ContainerContext,
    proxies: tuple[PlannedProxy, ...],
    api_port: int,
    brokers: Mapping[str, BrokerContainer],
    log: Path,
) -> LinkProxies:
    """Return Toxiproxy with its proxies. Its container is not created yet.

    ``brokers``: may be filled until it starts.
    """
    line = toxiproxy_line(SERVER_INSIDE, api_port, EVERYWHERE)
    container = DockerContainer(context.image.name, network=context.network, network_aliases=[LINKS_HOST])
    container.with_name(f"{context.network.name}-{LINKS_HOST}")
    container.with_command(line).with_envs(**LOG_LEVEL)
    for port in (api_port, *(proxy.port for proxy in proxies)):
        container.ports[f"{port}/tcp"] = (LOOPBACK, port)  # type: ignore[assignment]
    container.with_volume_mapping(toxiproxy.resolve(), str(SERVER_INSIDE), "ro")
    container.with_volume_mapping(log.parent, str(LOG_INSIDE.parent), "rw")
    container.with_kwargs(**context.options(LOG_INSIDE))
    server = ProxyContainer("Toxiproxy's container", container, line, log=log, host=context.engine.host)
    return LinkProxies(
        server, api_port, proxies, Place(BrokerListeners(brokers, listeners(proxies)).listening, LINKS_HOST, EVERYWHERE)
    )


def listeners(proxies: tuple[PlannedProxy, ...]) -> dict[str, frozenset[int]]:
    """Return each broker that links call, with the ports at which they call it. Pure."""
    called = {proxy.door.broker for proxy in proxies}
    return {name: frozenset(proxy.upstream_port for proxy in proxies if proxy.door.broker == name) for name in called}


SETTLED_S, UNSETTLED_S, LEAVING_S = 5.0, 0.5, 0.1
TABLES = ("tcp6", "tcp")  # Java's listeners are in the first
LISTENS = "0A"


def listening_in(pid: int, wanted: frozenset[int], proc: Path = Path("/proc")) -> frozenset[int]:
    """Return the ``wanted`` ports with a listener in a process's network namespace; empty once the process is gone."""
    ports: set[int] = set()
    for table in TABLES:
        if not wanted <= ports:
            try:
                ports |= listening_among((proc / str(pid) / "net" / table).read_text(encoding="ascii").splitlines())
            except OSError:
                return frozenset()
    return wanted & ports


def listening_among(lines: Iterable[str]) -> set[int]:
    """Parse ports from the lines of /proc/net/tcp or tcp6: ``0: 0100007F:EE48 00000000:0000 0A …``. Pure."""
    rows = (line.split(maxsplit=4) for line in lines)
    return {int(row[1].rpartition(":")[2], 16) for row in rows if len(row) > 3 and row[3] == LISTENS}


@dataclass(frozen=True)
class ListeningPorts:
    """The ports at which a broker's process was listening at a given time."""

    pid: int
    ports: frozenset[int]
    at_s: float


class BrokerListeners:
    """The ports at which brokers currently accept connections. ``wanted``: each broker's ports once it is up."""

    def __init__(
        self,
        brokers: Mapping[str, BrokerContainer],
        wanted: Mapping[str, frozenset[int]],
        look: Callable[[int, frozenset[int]], frozenset[int]] = listening_in,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._brokers, self._wanted = brokers, wanted
        self._look, self._clock = look, clock
        self._looks: dict[str, ListeningPorts] = {}

    def listening(self) -> frozenset[int]:
        """Return all listening ports. Ports are unique within a topology, in containers too."""
        return frozenset(port for broker in self._wanted for port in self._ports_of(broker))

    def _ports_of(self, broker: str) -> frozenset[int]:
        handle, pid = self._brokers[broker], self._brokers[broker].pid
        if pid is None:
            self._looks.pop(broker, None)
            return frozenset()
        latest = self._looks.get(broker)
        if latest is None or latest.pid != pid or self._clock() - latest.at_s >= self._holds_s(broker, handle, latest):
            latest = self._looks[broker] = ListeningPorts(pid, self._look(pid, self._wanted[broker]), self._clock())
        return latest.ports

    def _holds_s(self, broker: str, handle: BrokerContainer, latest: ListeningPorts) -> float:
        """Return how many seconds a look stays valid: a broker that is up stays up while its process lives."""
        if handle.is_leaving:
            return LEAVING_S
        return SETTLED_S if latest.ports >= self._wanted[broker] else UNSETTLED_S
