"""Transactions over STOMP: BEGIN, SENDs that name the transaction, COMMIT or ABORT.

Each SEND requests a receipt. The receipt does not show the outcome of the transaction. But only an ERROR with a
receipt's id shows which message the broker refused. All messages that were not refused before the COMMIT's receipt have
arrived.
"""

import itertools
from collections.abc import Iterator, Sequence
from typing import Protocol

from drivers.contract import OnSettled, Outcome, Outgoing, Refused
from drivers.stomp.frames import encode, transacted_head
from drivers.stomp.stream import END
from drivers.transactions import ABORTED, Held

PREFIX = b"tx-"


class Writes(Protocol):
    """The part of `drivers.stomp.wire.StompWire` that transactions use."""

    reason: str

    def write(self, data: bytes) -> int: ...


class StompTransaction:
    """See `drivers.contract.Transaction`. ``who`` begins the errors: the broker and its address."""

    def __init__(
        self, broker_at: str, name: bytes, wire: Writes, on_settled: OnSettled, *, by_type: bool = False
    ) -> None:
        self.held = Held(on_settled)
        self._who, self._name, self._wire, self._by_type = broker_at, name, wire, by_type
        self._confirmed, self._why = Outcome.ACKED, ""  # the outcome that the receipt of its end means
        self.ending = False  # commit or abort was called

    def begin(self) -> None:
        self._wire.write(encode("BEGIN", {"transaction": self._name.decode()}))

    def send_batch(self, messages: Sequence[Outgoing]) -> int:
        heads = [self._head(message) for message in messages]
        return self._wire.write(b"".join(itertools.chain.from_iterable(map(self._frame, heads, messages))))

    def commit(self) -> None:
        self._end("COMMIT")

    def abort(self) -> None:
        self._confirmed, self._why = Outcome.FAILED, ABORTED
        self._end("ABORT")

    def ended(self, at_ns: int) -> None:
        """Settle the messages, because the broker confirmed the end."""
        self.held.settle(self._confirmed, at_ns, self._why)

    def _frame(self, head: bytes, message: Outgoing) -> tuple[bytes, ...]:
        number = b"%d" % self.held.add(message.token)
        named = b"transaction:" + self._name + b"\nreceipt:" + self._name + b"/" + number
        return head, named, b"\n\n", message.body, END

    def _end(self, command: str) -> None:
        name, self.ending = self._name.decode(), True
        self._wire.write(encode(command, {"transaction": name, "receipt": name}))
        if not self.held.wait():
            raise ConnectionError(f"{self._who}: {self._wire.reason}")

    def _head(self, message: Outgoing) -> bytes:
        try:
            return transacted_head(message, by_type=self._by_type)
        except ValueError as error:
            raise Refused(f"{self._who}: {error}") from error


class StompTransactions:
    """The unfinished transactions of one connection. The reader calls the methods ``on_…``."""

    def __init__(self, broker_at: str, wire: Writes, on_settled: OnSettled) -> None:
        self._who, self._wire, self._on_settled = broker_at, wire, on_settled
        self.by_type = False  # for Artemis, once the broker has identified itself
        self._names: Iterator[int] = itertools.count(1)
        self._open: dict[bytes, StompTransaction] = {}

    def begin(self) -> StompTransaction:
        """See the contract. Raises ConnectionError."""
        name = PREFIX + b"%d" % next(self._names)
        transaction = StompTransaction(self._who, name, self._wire, self._on_settled, by_type=self.by_type)
        self._open[name] = transaction
        if (
            self._wire.reason
        ):  # checked after the insertion: the end of the connection loses all transactions that it finds
            raise ConnectionError(f"{self._who}: {self._wire.reason}")
        transaction.begin()
        return transaction

    @property
    def ending(self) -> bool:
        """Whether the answer to a COMMIT or an ABORT is still outstanding."""
        return any(transaction.ending for transaction in list(self._open.values()))

    def on_receipt(self, receipt: bytes, at_ns: int) -> None:
        """Handle a receipt for a message, which has no meaning yet, or for the end of a transaction."""
        if receipt in self._open:
            self._open.pop(receipt).ended(at_ns)

    def on_error(self, receipt: bytes, at_ns: int, words: str) -> None:
        """Handle the refusal of one message, or of the end."""
        name, _, number = receipt.partition(b"/")
        if number and name in self._open:
            self._open[name].held.refuse(int(number), at_ns, words)
        elif name in self._open:
            self._open.pop(name).held.settle(Outcome.FAILED, at_ns, words)

    def on_gone(self) -> None:
        for name in list(self._open):
            self._open.pop(name).held.lose()
