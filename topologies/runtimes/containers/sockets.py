"""Sees what listens in the brokers' containers, and what the connections at the proxies of their links carried.

Toxiproxy's container hands over a netlink socket (containers.handover), which reads the kernel's counters of the
proxies' connections. Brokers hand over no socket, so their listeners are read from /proc. Each such read takes the
kernel milliseconds, so it is done seldom.
"""

import socket
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from topologies.runtimes.containers.broker_container import BrokerContainer
from topologies.runtimes.containers.handover import Handover
from topologies.runtimes.proxies.socket_bytes import Connection, connections_at

HANDOVER_LIMIT_S = 30.0
SETTLED_S, UNSETTLED_S, LEAVING_S = 5.0, 0.5, 0.1
MAPPED = "::ffff:"  # before an IPv4 address where the other end takes both kinds
TABLES = ("tcp6", "tcp")  # Java's listeners are in the first
LISTENS, ESTABLISHED = "0A", "01"


def listening_in(pid: int, wanted: frozenset[int], proc: Path = Path("/proc")) -> frozenset[int]:
    """Those of these ports with a listener in the network namespace of a process; none once the process has ended."""
    found: set[int] = set()
    for table in TABLES:
        if not wanted <= found:
            try:
                found |= listening_among((proc / str(pid) / "net" / table).read_text(encoding="ascii").splitlines())
            except OSError:
                return frozenset()
    return wanted & found


def listening_among(lines: Iterable[str]) -> set[int]:
    """Ports from the lines of /proc/net/tcp or tcp6: ``0: 0100007F:EE48 00000000:0000 0A …``. Pure."""
    rows = (line.split(maxsplit=4) for line in lines)
    return {int(row[1].rpartition(":")[2], 16) for row in rows if len(row) > 3 and row[3] == LISTENS}


def ends_in(pid: int, proc: Path = Path("/proc")) -> set[tuple[str, int]]:
    """The near ends of all connections in the network namespace of a process; none once it ended."""
    found: set[tuple[str, int]] = set()
    for table in TABLES:
        with suppress(OSError):
            found |= ends_among((proc / str(pid) / "net" / table).read_text(encoding="ascii").splitlines())
    return found


def ends_among(lines: Iterable[str]) -> set[tuple[str, int]]:
    """Their IPv4 addresses and ports, from the lines of /proc/net/tcp or tcp6. Pure."""
    rows = (line.split(maxsplit=4) for line in lines)
    near = (row[1].split(":") for row in rows if len(row) > 3 and row[3] == ESTABLISHED)
    return {(".".join(map(str, bytes.fromhex(address)[:-5:-1])), int(port, 16)) for address, port in near}


@dataclass(frozen=True)
class Look:
    """At which ports the process of a broker was seen to listen, and when."""

    pid: int
    ports: frozenset[int]
    at_s: float


class ContainerSockets:
    """See `topologies.runtimes.proxies.link_proxies.Sockets`. ``wanted``: each broker's ports once it is up."""

    def __init__(
        self,
        handed: Handover,
        brokers: Mapping[str, BrokerContainer],
        wanted: Mapping[str, frozenset[int]],
        look: Callable[[int, frozenset[int]], frozenset[int]] = listening_in,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._handed, self._brokers, self._wanted = handed, brokers, wanted
        self._look, self._clock = look, clock
        self._seen: dict[str, Look] = {}
        self._netlink: socket.socket | None = None
        self._asking = threading.Lock()

    def receive(self, is_there: Callable[[], bool]) -> bool:
        """Wait for the netlink socket; False if the container does not hand it over."""
        self._netlink = self._handed.take(is_there, HANDOVER_LIMIT_S)
        return self._netlink is not None

    def listening(self) -> frozenset[int]:
        """Every port of a topology is another one, in containers too."""
        return frozenset(port for broker in self._wanted for port in self._of(broker))

    def connections(self, port: int, address: str = "") -> list[Connection]:
        with self._asking:
            if self._netlink is None:
                raise OSError("Toxiproxy's container has not handed over by what its sockets are seen")
            return connections_at(port, self._netlink, address)

    def caller(self, peer: tuple[str, int]) -> str:
        """The broker whose container opened a connection; '' for a connection from this machine."""
        end = (peer[0].removeprefix(MAPPED), peer[1])
        pids = ((broker, handle.pid) for broker, handle in self._brokers.items())
        return next((broker for broker, pid in pids if pid is not None and end in ends_in(pid)), "")

    def close(self) -> None:
        self._handed.close()
        if self._netlink is not None:
            self._netlink.close()

    def _of(self, broker: str) -> frozenset[int]:
        handle, pid = self._brokers[broker], self._brokers[broker].pid
        if pid is None:
            self._seen.pop(broker, None)
            return frozenset()
        seen = self._seen.get(broker)
        if seen is None or seen.pid != pid or self._clock() - seen.at_s >= self._holds_s(broker, handle, seen):
            seen = self._seen[broker] = Look(pid, self._look(pid, self._wanted[broker]), self._clock())
        return seen.ports

    def _holds_s(self, broker: str, handle: BrokerContainer, seen: Look) -> float:
        """For how many seconds a look stays valid: a broker that is up stays up as long as its process lives."""
        if handle.is_leaving:
            return LEAVING_S
        return SETTLED_S if seen.ports >= self._wanted[broker] else UNSETTLED_S
