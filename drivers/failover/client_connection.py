"""One connection of a client: whether it is alive, why it was lost, and the protocol's own connection in it."""

from collections.abc import Sequence

from drivers.contract import (
    Connection,
    GivesCredit,
    Outgoing,
    RedirectSupport,
    Refused,
    SendsBatches,
    Transaction,
    Transacts,
)
from records.tables.connection_events import Cause


class ClientConnection:
    """One connection's life from the client's view. ``alive`` becomes False once, before any other code learns of
    the loss."""

    def __init__(self, broker: str) -> None:
        self.broker = broker
        self.alive = True
        self.leaving = False  # its client is closing: errors from now on are a result of that
        self.gone = False  # the connection itself reported it: there is nothing left to close
        self.ended = False  # its end is recorded
        self.reason = ""  # why it was lost
        self.cause = Cause.LOST  # the same as one word; for a closed one, set when its end is recorded
        self.lost_ns = 0
        self.ready_ns = 0  # from when its client may use it
        self._protocol_connection: Connection | None = None
        self._batching: SendsBatches | None = None  # the same, if it can write several messages at once
        self._with_credit: GivesCredit | None = None  # the same, if its sends wait for credit

    def __repr__(self) -> str:
        return f"ClientConnection({self.broker}, {'alive' if self.alive else f'lost: {self.reason}'})"

    @property
    def protocol_connection(self) -> Connection:
        """The protocol's connection. Raises ConnectionError without one."""
        if self._protocol_connection is None:
            raise ConnectionError(f"not connected to {self.broker} yet")
        return self._protocol_connection

    @property
    def redirected_to(self) -> str:
        """The ``host:port`` that the broker redirected this client to when it ended the connection, or empty."""
        connection = self._protocol_connection
        return connection.redirected_to if isinstance(connection, RedirectSupport) else ""

    @property
    def credit_ns(self) -> int:
        """When the last send that waited for credit got it; 0 if none did."""
        return self._with_credit.credit_ns if self._with_credit else 0

    def carry(self, connection: Connection) -> None:
        """Set the protocol's connection, once the connector has succeeded."""
        self._protocol_connection = connection
        self._batching = connection if isinstance(connection, SendsBatches) else None
        self._with_credit = connection if isinstance(connection, GivesCredit) else None

    def together(self, messages: int) -> int:
        """Return how many of ``messages`` `send` accepts at once: all of them, or one."""
        return messages if self._batching else 1

    def send(self, messages: Sequence[Outgoing]) -> int:
        """Write as many messages as go `together`; return when (ns) that began.

        Raises ConnectionError, and DriverError if the driver rejects a message.
        """
        if self._batching:
            return self._batching.send_batch(messages)
        (message,) = messages
        return self.protocol_connection.send(message)

    def begin(self) -> Transaction:
        """Begin a transaction on the connection. Raises ConnectionError, and `Refused` if the connection has none."""
        connection = self.protocol_connection
        if isinstance(connection, Transacts):
            return connection.begin()
        raise Refused(
            f"broker {self.broker}: {connection!r} has no transactions; send without them, or by another protocol"
        )
