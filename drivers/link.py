"""What do a client, its producer and its consumer share? The connection in use, and the way to say that it broke."""

from collections.abc import Callable, Sequence
from typing import Protocol

from drivers.contract import Connection, NamesOthers, Outgoing, SendsBatches
from records.writer import Recorder


class Link:
    """One connection's life as a client sees it. ``alive`` goes false once, before anything else learns of the loss."""

    def __init__(self, broker: str) -> None:
        self.broker = broker
        self.alive = True
        self.leaving = False  # its client says goodbye: what breaks from now on is part of that
        self.gone = False  # the connection itself told so: there is nothing left to close
        self.ended = False  # its end is recorded
        self.reason = ""  # why it was lost
        self.lost_ns = 0
        self._connection: Connection | None = None
        self._batching: SendsBatches | None = None  # the same, if it can write several messages at once

    def __repr__(self) -> str:
        return f"Link({self.broker}, {'alive' if self.alive else f'lost: {self.reason}'})"

    @property
    def connection(self) -> Connection:
        """The connection; ConnectionError while there is none."""
        if self._connection is None:
            raise ConnectionError(f"not connected to {self.broker} yet")
        return self._connection

    @property
    def redirected_to(self) -> str:
        """The ``host:port`` that the broker sent this client to when it ended the connection, or ''."""
        return self._connection.redirected_to if isinstance(self._connection, NamesOthers) else ""

    def carry(self, connection: Connection) -> None:
        """The connector succeeded: from now on this link has a connection."""
        self._connection = connection
        self._batching = connection if isinstance(connection, SendsBatches) else None

    def together(self, messages: int) -> int:
        """How many of so many messages `send` takes at once: all of them, or one."""
        return messages if self._batching else 1

    def send(self, messages: Sequence[Outgoing]) -> int:
        """Write as many messages as go `together`; return when (ns) that began.

        Raises ConnectionError, and DriverError for what the driver refuses.
        """
        if self._batching:
            return self._batching.send_batch(messages)
        (message,) = messages
        return self.connection.send(message)


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

    def blocked(self, broker: str, began_ns: int, ended_ns: int, reason: str) -> None:
        """A broker took nothing from a producer for so long."""
