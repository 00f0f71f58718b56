"""Transactions over AMQP, declared and discharged by the broker's coordinator.

    declare ─► declared (id) ── transfers in the state transactional-state(id) ── discharge (id) ─► accepted | rejected

The broker's answers to transfers before the discharge are provisional, except rejections of a message. Source: OASIS
AMQP 1.0, part 4.
"""

import time
from collections.abc import Sequence
from functools import partial

from proton import Delivery, Described, Message, symbol

from drivers.amqp.engine import DECLARED, TRANSACTIONAL
from drivers.amqp.links import Attachments, PeerReply, rejection
from drivers.amqp.sending import Sending
from drivers.amqp.wire import Call
from drivers.contract import OnSettled, Outcome, Outgoing, Refused
from drivers.transactions import ABORTED, Held

DECLARE, DISCHARGE = symbol("amqp:declare:list"), symbol("amqp:discharge:list")
ACCEPTED = (0x24, "amqp:accepted:list")  # the descriptor of an outcome inside a transactional state


class AmqpTransaction:
    """See `drivers.contract.Transaction`."""

    def __init__(self, number: bytes, sending: Sending, attachments: Attachments, held: Held) -> None:
        self.held = held
        self._id, self._sending, self._attachments = number, sending, attachments

    def send_batch(self, messages: Sequence[Outgoing]) -> int:
        on_answers = [partial(self._on_provisional, self.held.add(message.token)) for message in messages]
        return self._sending.send_in(self._id, messages, on_answers)

    def commit(self) -> None:
        self._discharge(fail=False)

    def abort(self) -> None:
        self._discharge(fail=True)

    def _discharge(self, *, fail: bool) -> None:
        self._sending.control(_control(DISCHARGE, [self._id, fail]), partial(self._on_discharged, fail))
        if not self.held.wait():
            raise self._attachments.lost()

    def _on_provisional(self, number: int, transfer: Delivery, at_ns: int) -> Call | None:
        """Handle the broker's answer: it has accepted this message provisionally, or rejects it for good."""
        reason = refusal(transfer)
        return partial(self.held.refuse, number, at_ns, reason) if reason else None

    def _on_discharged(self, fail: bool, transfer: Delivery, at_ns: int) -> Call:
        if transfer.remote_state != Delivery.ACCEPTED:
            return partial(self.held.settle, Outcome.FAILED, at_ns, rejection(transfer))
        return partial(self.held.settle, Outcome.FAILED if fail else Outcome.ACKED, at_ns, ABORTED if fail else "")


class AmqpTransactions:
    """The transactions of one connection."""

    def __init__(self, broker: str, sending: Sending, attachments: Attachments, on_settled: OnSettled) -> None:
        self._broker, self._sending, self._attachments, self._on_settled = broker, sending, attachments, on_settled
        self._asked: list[PeerReply] = []
        self._open: list[AmqpTransaction] = []

    def begin(self) -> AmqpTransaction:
        """See the contract. Raises `Refused` and ConnectionError."""
        answer, numbers = PeerReply(), list[bytes]()
        self._asked.append(answer)
        try:
            self._attachments.require_open()
            self._sending.control(_control(DECLARE, [None]), partial(_on_declared, answer, numbers))
            self._attachments.wait(answer, "to the declaration of a transaction")
            self._sending.credit_ns = time.perf_counter_ns()
        except Refused as error:
            raise Refused(f"broker {self._broker} has no transactions for this connection: {error}") from error
        finally:
            self._asked.remove(answer)
        if answer.refusal:
            raise Refused(f"broker {self._broker} refused to begin a transaction: {answer.refusal}")
        return self._opened(numbers[0])

    def _opened(self, number: bytes) -> AmqpTransaction:
        transaction = AmqpTransaction(number, self._sending, self._attachments, Held(self._on_settled))
        self._open = [*(earlier for earlier in self._open if not earlier.held.ended), transaction]
        self._attachments.require_open()  # after the insertion: the end of the connection loses all that it finds
        return transaction

    def on_gone(self) -> None:
        """Answer all waiting requests: no reply will come."""
        for answer in list(self._asked):
            answer.give(0)
        for transaction in self._open:
            transaction.held.lose()


def _on_declared(answer: PeerReply, numbers: list[bytes], transfer: Delivery, at_ns: int) -> None:
    if transfer.remote_state == DECLARED and transfer.remote.data:
        numbers.append(bytes(transfer.remote.data[0]))
        answer.give(at_ns)
    else:
        answer.give(at_ns, rejection(transfer))


def refusal(transfer: Delivery) -> str:
    """Return why the broker does not accept this message into the transaction; empty if it does."""
    if transfer.remote_state == TRANSACTIONAL:
        _number, *outcome = transfer.remote.data or [b""]
        named = outcome[0].descriptor if outcome and isinstance(outcome[0], Described) else ACCEPTED[0]
        return "" if named in ACCEPTED else f"the broker answered {named} in the transaction"
    return "" if transfer.remote_state == Delivery.ACCEPTED else rejection(transfer)


def _control(descriptor: symbol, values: list[object]) -> bytes:
    encoded: bytes = Message(body=Described(descriptor, values)).encode()
    return encoded
