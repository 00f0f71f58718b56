"""The methods of a client that its producers and consumers may use."""

from collections.abc import Callable
from typing import Protocol

from drivers.failover.client_connection import ClientConnection
from records.writer import Recorder


class ClientAccess(Protocol):
    """`drivers.client.client.Client`, as its producers and consumers see it."""

    number: int
    group: str
    recorder: Recorder
    clock: Callable[[], int]

    def usable(self, timeout_s: float | None = None) -> ClientConnection:
        """The connection to use now; waits until there is one. Raises DriverError: timed out, given up or closed."""

    def broken(self, connection: ClientConnection, reason: str) -> None:
        """That connection is gone. Only the first call for a connection counts."""

    def blocked(self, broker: str, began_ns: int, ended_ns: int, reason: str) -> None:
        """Record that a broker took nothing from a producer between these times."""
