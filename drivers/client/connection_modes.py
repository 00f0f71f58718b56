"""Holds the connections of users: one each, shared ones from a pool, or one per message.

The modes have the names that ``--connections`` accepts. A user gets a `PooledClient` from its session: a handle on a
client that is exclusive or shared.
"""

import threading
from collections.abc import Callable

from drivers.client.contract import LoadClient
from drivers.contract import DriverError

ONE, POOLED, PER_MESSAGE = "one", "pooled", "per-message"
CONNECTION_MODES = (ONE, POOLED, PER_MESSAGE)
ALL_URIS, ONE_URI = "all", "one"
URIS = (ALL_URIS, ONE_URI)
"""Whether a client's failover URI lists all brokers of the group, or only one."""


class SharedClient:
    """A client of one or several users: the first of them opens it, and the last one to leave closes it."""

    def __init__(self, client: LoadClient) -> None:
        self.client = client
        self._changing = threading.Lock()
        self._users = 0
        self._opened = False
        self._failure = ""

    def join(self, number: int) -> "PooledClient":
        """Return a handle for another user. ``number``: the user's number in the run."""
        with self._changing:
            self._users += 1
        return PooledClient(number, self)

    def open(self) -> None:
        """Connect, unless another user did. Raises DriverError for each of them."""
        with self._changing:
            if not self._opened:
                self._opened = True
                self._open()
        if self._failure:
            raise DriverError(self._failure)
        self.client.usable()

    def _open(self) -> None:
        try:
            self.client.open()
        except DriverError as error:
            self._failure = str(error)

    def leave(self) -> None:
        """Remove one user. After the last user the client waits for outstanding answers, and closes."""
        with self._changing:
            self._users -= 1
            last = self._users == 0
        if last:
            self.client.close()


class PooledClient:
    """One user's handle on a client. The user's sends and subscriptions stay until the last user has left."""

    def __init__(self, number: int, shared: SharedClient) -> None:
        self.number = number
        self.client = shared.client
        self._shared = shared
        self._left = False

    def __repr__(self) -> str:
        return f"PooledClient({self.number} at {self.client!r})"

    def open(self) -> None:
        """Connect, or wait until another user has. Raises DriverError: refused, or the schedule exhausted."""
        self._shared.open()

    def usable(self) -> None:
        """Wait while the client is disconnected. Raises DriverError once it will never be connected again."""
        self.client.usable()

    def close(self) -> None:
        """Leave. Idempotent."""
        if not self._left:
            self._left = True
            self._shared.leave()


class ClientPool:
    """A fixed number of clients. Users take them in rotation, like connections from a JMS pool."""

    def __init__(self, size: int, make: Callable[[], LoadClient]) -> None:
        self._size, self._make = size, make
        self._clients: list[SharedClient] = []
        self._taken = 0

    def take(self, number: int) -> PooledClient:
        """Return the next user's handle. ``number``: the user's number in the run."""
        turn = self._taken % self._size
        self._taken += 1
        if turn == len(self._clients):
            self._clients.append(SharedClient(self._make()))
        return self._clients[turn].join(number)
