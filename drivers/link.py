"""What do a client, its producer and its consumer share? The connection in use, and the way to say that it broke."""

from collections.abc import Callable
from typing import Protocol

from drivers.contract import Connection
from records.writer import Recorder


class Link:
    """One connection's life as a client sees it. ``alive`` goes false once, before anything else learns of the loss."""

    def __init__(self, broker: str) -> None:
        self.broker = broker
        self.alive = True
        self.gone = False  # the connection itself told so: there is nothing left to close
        self.ended = False  # its end is recorded
        self.reason = ""  # why it was lost
        self.lost_ns = 0
        self._connection: Connection | None = None

    def __repr__(self) -> str:
        return f"Link({self.broker}, {'alive' if self.alive else f'lost: {self.reason}'})"

    @property
    def connection(self) -> Connection:
        """The connection; ConnectionError while there is none."""
        if self._connection is None:
            raise ConnectionError(f"not connected to {self.broker} yet")
        return self._connection

    def carry(self, connection: Connection) -> None:
        """The connector succeeded: from now on this link has a connection."""
        self._connection = connection


class Access(Protocol):
    """What a producer or consumer may ask of its client."""

    number: int
    group: str
    recorder: Recorder
    clock: Callable[[], int]

    def usable(self, timeout_s: float | None = None) -> Link:
        """The link to use now; waits while there is none. Raises DriverError: timed out, given up or closed."""

    def broken(self, link: Link, reason: str) -> None:
        """The connection of ``link`` is gone. Only the first call for a link counts."""
