"""How do users hold their connections? Each its own, several together, or one for each message.

The habits by the names that ``--connections`` takes. Whoever drives users asks for a *seat* (`drivers.session`): a
user's place at a client, which is its own or shared.
"""

import threading
from collections.abc import Callable

from drivers.client import Client
from drivers.contract import DriverError
from drivers.own_clients import OwnClient

ONE, POOLED, PER_MESSAGE = "one", "pooled", "per-message"
HABITS = (ONE, POOLED, PER_MESSAGE)


class Shared:
    """A client of one or several users: opened once, by the first of them, and closed by the last that leaves."""

    def __init__(self, client: Client | OwnClient) -> None:
        self.client = client
        self._changing = threading.Lock()
        self._seats = 0
        self._asked = False
        self._failure = ""

    def seat(self, number: int) -> "Seat":
        """A place for one user more, who has this number in the run."""
        with self._changing:
            self._seats += 1
        return Seat(number, self)

    def open(self) -> None:
        """Connect, unless another user did. Raises DriverError, to each of them."""
        with self._changing:
            if not self._asked:
                self._asked = True
                self._open()
        if self._failure:
            raise DriverError(self._failure)
        self.client.usable()

    def _open(self) -> None:
        try:
            self.client.open()
        except DriverError as error:
            self._failure = str(error)

    def left(self) -> None:
        """One user less; with the last one the client leaves, once it has heard the answers that were under way."""
        with self._changing:
            self._seats -= 1
            last = self._seats == 0
        if last:
            self.client.close()


class Seat:
    """One user's place at a client. Until the last user of a client has left, it goes on for all that it ever had."""

    def __init__(self, number: int, shared: Shared) -> None:
        self.number = number
        self.client = shared.client
        self._shared = shared
        self._left = False

    def __repr__(self) -> str:
        return f"Seat({self.number} at {self.client!r})"

    def open(self) -> None:
        """Connect, or wait until another user has. Raises DriverError: refused, or the schedule exhausted."""
        self._shared.open()

    def usable(self) -> None:
        """Wait while the client is disconnected. Raises DriverError once there will be no connection again."""
        self.client.usable()

    def close(self) -> None:
        """Leave. Idempotent."""
        if not self._left:
            self._left = True
            self._shared.left()


class Pool:
    """So many clients, which users take in turn, as a pool of JMS connections hands them out."""

    def __init__(self, size: int, make: Callable[[], Client | OwnClient]) -> None:
        self._size, self._make = size, make
        self._clients: list[Shared] = []
        self._taken = 0

    def seat(self, number: int) -> Seat:
        """The next user's place."""
        turn = self._taken % self._size
        self._taken += 1
        if turn == len(self._clients):
            self._clients.append(Shared(self._make()))
        return self._clients[turn].seat(number)
