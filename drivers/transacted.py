"""What of a producer that sends so many messages at a time, all or none? One transaction after the other.

A transaction begins with the first message, and is committed with its last, which waits for the broker: what was due
meanwhile goes late and counts as blocked. Its messages are settled together. A lost connection puts all of them in
doubt, and they go again together, in a transaction of their own.
"""

from collections.abc import Callable
from dataclasses import dataclass

from drivers.contract import Destination, Transaction
from drivers.link import Access, Link
from drivers.producer import Producer
from drivers.sends import SendAttempt, Settled


@dataclass
class _Current:
    """The open transaction: on which link, and how many messages it holds."""

    transaction: Transaction
    link: Link
    messages: int = 0


class TransactedProducer(Producer):
    """Stands where a `drivers.producer.Producer` stands. Every outcome is known, also of what is not durable."""

    def __init__(
        self,
        access: Access,
        destination: Destination,
        *,
        size: int,
        number: int,
        durable: bool,
        run: int,
        timeout_s: float | None,
        resend_in_doubt: bool,
        on_settled: Callable[[Settled], None],
    ) -> None:
        super().__init__(
            access,
            destination,
            number=number,
            durable=durable,
            run=run,
            timeout_s=timeout_s,
            resend_in_doubt=resend_in_doubt,
            on_settled=on_settled,
        )
        self._size = size
        self._current: _Current | None = None
        self._committed_ns = 0

    def commit(self) -> None:
        """End the transaction that is open, however few messages it holds, and wait until their outcome is known."""
        current, self._current = self._current, None
        if current is None or not current.link.alive:
            return
        self._patience.awaits(current.link.broker, self._access.clock())
        try:
            current.transaction.commit()
        except ConnectionError as error:
            self._access.broken(current.link, str(error))
        finally:
            self._committed_ns = self._access.clock()
            self._patience.ends(self._committed_ns)

    def send_again(self, link: Link) -> None:
        """All that waits, as one transaction. Raises ConnectionError."""
        waiting = self._waiting()
        if not waiting:
            return
        transaction = link.connection.begin()
        claimed = [attempt for attempt in waiting if self._claim([attempt], link)]
        if claimed:
            self._write(claimed, transaction.send_batch, [self._outgoing(attempt) for attempt in claimed])
        transaction.commit()

    def _send_some(self, attempts: list[SendAttempt], link: Link) -> int:
        try:
            current = self._transaction_on(link)
        except ConnectionError as error:
            self._access.broken(link, str(error))
            return 0
        some = attempts[: self._size - current.messages]
        for attempt in some:
            attempt.blocked |= attempt.due_ns < self._committed_ns
        messages = [self._outgoing(attempt) for attempt in some]
        if not self._claim(some, link):
            return 0
        try:
            self._write(some, current.transaction.send_batch, messages)
        except ConnectionError as error:
            self._access.broken(link, str(error))  # in doubt from now on; the client sends it again
        current.messages += len(some)
        if current.messages >= self._size:
            self.commit()
        return len(some)

    def _await_answers(self, attempts: list[SendAttempt], link: Link) -> None:
        """None is due before the commit."""

    def _transaction_on(self, link: Link) -> _Current:
        """The open one, or a new one where that went with its connection."""
        if self._current is None or self._current.link is not link:
            self._current = _Current(link.connection.begin(), link)
        return self._current
