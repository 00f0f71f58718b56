"""Sends messages in transactions: a fixed number of messages arrive together, or none of them.

A transaction begins with the first message, and is committed with its last. The commit waits for the broker: messages
that are due during the commit are sent late and count as blocked. The messages of a transaction are settled together. A
lost connection puts all of them in doubt, and they are sent again together, in a new transaction.
"""

from dataclasses import dataclass
from typing import Any

from drivers.client.contract import ProducerSettings
from drivers.client.producer import ClientAccess, Producer, SendAttempt
from drivers.contract import Destination, Transaction
from drivers.failover.client_connection import ClientConnection


@dataclass
class _Current:
    """The open transaction: its connection, and the number of messages in it."""

    transaction: Transaction
    connection: ClientConnection
    messages: int = 0


class TransactedProducer(Producer):
    """A `drivers.client.producer.Producer` that sends in transactions.

    Every outcome is known, even for non-durable messages.
    """

    def __init__(
        self, access: ClientAccess, destination: Destination, settings: ProducerSettings, **wiring: Any
    ) -> None:
        """``wiring``: as in `Producer`."""
        super().__init__(access, destination, settings, **wiring)
        self._size = settings.transaction_size
        self._current: _Current | None = None
        self._committed_ns = 0
        self._late_by_commit = False

    @property
    def held_back(self) -> bool:
        """Also True if its last message was due before the previous commit was answered."""
        return self._late_by_commit or super().held_back

    def finish(self) -> None:
        """Commit the last transaction, even if it is not full."""
        self.commit()

    def commit(self) -> None:
        """End the open transaction, even if it is not full, and wait until its outcome is known."""
        current, self._current = self._current, None
        if current is None or not current.connection.alive:
            return
        self._blocked_detector.on_send(current.connection.broker, self._access.clock())
        try:
            current.transaction.commit()
        except ConnectionError as error:
            self._access.broken(current.connection, str(error))
        finally:
            self._committed_ns = self._access.clock()
            self._blocked_detector.on_end(self._committed_ns)
            self._readiness.released(self._committed_ns)

    def send_again(self, connection: ClientConnection) -> None:
        """Send all waiting messages as one transaction. Raises ConnectionError."""
        waiting = self._waiting()
        if not waiting:
            return
        transaction = connection.begin()
        claimed = [attempt for attempt in waiting if self._claim([attempt], connection)]
        if claimed:
            self._write(claimed, connection, transaction.send_batch, [self._outgoing(attempt) for attempt in claimed])
        transaction.commit()

    def _send_some(self, attempts: list[SendAttempt], connection: ClientConnection) -> int:
        try:
            current = self._transaction_on(connection)
        except ConnectionError as error:
            self._access.broken(connection, str(error))
            return 0
        some = attempts[: self._size - current.messages]
        for attempt in some:
            attempt.blocked |= attempt.due_ns < self._committed_ns
        self._late_by_commit = some[-1].blocked
        messages = self._when_due(some)
        if not self._claim(some, connection):
            return 0
        try:
            self._write(some, connection, current.transaction.send_batch, messages)
        except ConnectionError as error:
            self._access.broken(connection, str(error))  # in doubt from now on; the client sends it again
        current.messages += len(some)
        if current.messages >= self._size:
            self.commit()
        return len(some)

    def _await_answers(self, attempts: list[SendAttempt], connection: ClientConnection) -> None:
        """Do nothing: no answer is due before the commit."""

    def _transaction_on(self, connection: ClientConnection) -> _Current:
        """Return the open transaction, or a new one if that was lost with its connection."""
        if self._current is None or self._current.connection is not connection:
            self._current = _Current(connection.begin(), connection)
        return self._current
