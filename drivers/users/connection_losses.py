"""Counts the connected clients, and keeps the last loss of each client that ever lost its connection.

The tally of a session has an instance. From it a run reports how many clients a fault has cut off, and when they are
back. Nothing here reaches the results: the analysis reads the ``connections`` events.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace

Row = tuple[int, int, int | None]
"""(client number, when it lost its connection, when it was connected again), in nanoseconds; None: not yet"""


@dataclass(frozen=True)
class Loss:
    """When a client lost its connection and when it was connected again, in nanoseconds; None: not yet."""

    lost_ns: int
    back_ns: int | None = None


class ConnectionLosses:
    """The clients of one process, or of several added up. ``connected``: their number. ``by_client``: by client number.

    Each user that shares a connection counts as a client. A client that closes while it is off stays off.
    """

    def __init__(self) -> None:
        self.connected = 0
        self.by_client: dict[int, Loss] = {}
        self._connected: set[int] = set()
        self._users: dict[int, list[int]] = {}  # by the client number of the connection that they share
        self._open: set[int] = set()  # connections

    def share(self, user: int, connection: int) -> None:
        """Record that the user sends and receives over that connection."""
        self._users.setdefault(connection, []).append(user)
        if connection in self._open:
            self._connected.add(user)
            self.connected = len(self._connected)

    def users_of(self, connection: int) -> list[int]:
        """Return the users of a connection. An unshared connection belongs to its user, and has the user's number."""
        return self._users.get(connection, [connection])

    def note(self, client: int, event: str, at_ns: int) -> None:
        """Record a change of a client's connection; ``event``: as in the ``connections`` table."""
        users = self.users_of(client)
        if event == "connected":
            self._open.add(client)
            self._connected.update(users)
            for user in users:
                loss = self.by_client.get(user)
                if loss and loss.back_ns is None:
                    self.by_client[user] = replace(loss, back_ns=at_ns)
        elif event in ("lost", "closed"):
            self._open.discard(client)
            self._connected.difference_update(users)
            if event == "lost":
                self.by_client.update(dict.fromkeys(users, Loss(at_ns)))
        self.connected = len(self._connected)

    def rows(self) -> list[Row]:
        """Return the losses, as plain values."""
        return [(client, loss.lost_ns, loss.back_ns) for client, loss in list(self.by_client.items())]

    def add(self, connected: int, rows: Iterable[Row], ahead_ns: int) -> None:
        """Add the losses of a process whose clock is ahead by ``ahead_ns``."""
        self.connected += connected
        for client, lost_ns, back_ns in rows:
            self.by_client[client] = Loss(lost_ns - ahead_ns, None if back_ns is None else back_ns - ahead_ns)
