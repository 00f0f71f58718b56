"""Finds the ports that have a listener in the brokers' containers, from /proc.

Each read takes the kernel milliseconds, so it is done seldom.
"""

import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from topologies.runtimes.containers.broker_container import BrokerContainer

SETTLED_S, UNSETTLED_S, LEAVING_S = 5.0, 0.5, 0.1
TABLES = ("tcp6", "tcp")  # Java's listeners are in the first
LISTENS = "0A"


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


@dataclass(frozen=True)
class Look:
    """At which ports the process of a broker was seen to listen, and when."""

    pid: int
    ports: frozenset[int]
    at_s: float


class BrokerListeners:
    """The ports at which brokers take connections now. ``wanted``: each broker's ports once it is up."""

    def __init__(
        self,
        brokers: Mapping[str, BrokerContainer],
        wanted: Mapping[str, frozenset[int]],
        look: Callable[[int, frozenset[int]], frozenset[int]] = listening_in,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._brokers, self._wanted = brokers, wanted
        self._look, self._clock = look, clock
        self._seen: dict[str, Look] = {}

    def listening(self) -> frozenset[int]:
        """Every port of a topology is another one, in containers too."""
        return frozenset(port for broker in self._wanted for port in self._of(broker))

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
