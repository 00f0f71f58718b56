"""Sends messages over AMQP, and settles them by the broker's answers.

Durable sends are unsettled and end with the broker's disposition; all others are settled. A sender link is attached to
a destination with the first message for it, and used within the credit that the broker gives.
"""

import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

from proton import Delivery, Sender, Session

from drivers.amqp import engine
from drivers.amqp.engine import Transfer
from drivers.amqp.links import Attachments, PeerReply, attach_coordinator, attach_sender, rejection
from drivers.amqp.messages import node_address, write_message
from drivers.amqp.wire import AmqpWire, Call
from drivers.contract import Destination, OnSettled, Outcome, Outgoing, Refused

MOST_UNWRITTEN_BYTES = 4 * 1024 * 1024  # beyond, a sender waits until the broker has taken some of it
LOOK_AGAIN_S = 0.005  # the engine does not report when a full session has room again
LOOK_FOR_CREDIT_S = 1.0  # credit wakes the sender; this bounds the wait if a wake-up is ever missed
COORDINATOR = Destination("coordinator", "")

Put = Callable[[Sender], None]
OnAnswer = Callable[[Delivery, int], Call | None]
"""(transfer with the broker's answer, when (ns)) -> call to make next. Called by the reader, with the wire's lock
held."""


@dataclass
class _Outlet:
    """A sender link. ``room`` is set whenever it may have become able to send."""

    link: Sender
    answer: PeerReply
    room: threading.Event = field(default_factory=threading.Event)


def outcome_of(transfer: Transfer) -> tuple[Outcome, str]:
    """Return the outcome of a durable send by the broker's answer, with the broker's words."""
    if engine.is_accepted(transfer):
        return Outcome.ACKED, ""
    if engine.has_outcome(transfer):
        return Outcome.FAILED, rejection(engine.as_object(transfer))
    return Outcome.IN_DOUBT, "the broker settled it without an outcome"


class Sending:
    """The senders of one connection. The reader calls the methods ``on_…``, with the wire's lock held."""

    def __init__(
        self,
        broker: str,
        wire: AmqpWire,
        session: Session,
        attachments: Attachments,
        numbers: Iterator[int],
        on_settled: OnSettled,
    ) -> None:
        self.prefixes: Mapping[str, str] = {}
        self.temporaries: Mapping[str, str] = {}  # the broker's names for the temporary queues of this connection
        self.credit_ns = 0  # when the last send that waited for credit, its link or its transaction got it
        self._broker, self._wire, self._session, self._attachments = broker, wire, session, attachments
        self._numbers, self._on_settled = numbers, on_settled
        self._outlets: dict[Destination, _Outlet] = {}
        self._attaching = threading.Lock()
        self._unsettled: dict[str, object] = {}  # delivery tag -> token of a durable send
        self._special: dict[str, OnAnswer] = {}  # the same for transfers in a transaction
        self._all_settled = threading.Event()

    def send_batch(self, messages: Sequence[Outgoing]) -> int:
        """Send messages to one destination, as many per write as the credit allows.

        Return the time (ns) before the first message.
        """
        outlet, now_ms = self._outlet(messages[0].destination), time.time_ns() // 1_000_000
        encoded = [
            write_message(message.body, message.durable, now_ms, message.headers, self._reply_to(message))
            for message in messages
        ]
        return self._pass(
            outlet, deque(partial(self._put, *arguments) for arguments in zip(messages, encoded, strict=True))
        )

    def send_in(self, transaction: bytes, messages: Sequence[Outgoing], on_answers: Sequence[OnAnswer]) -> int:
        """Send messages in a transaction. ``on_answers``: for each message, the callback for the broker's answer."""
        outlet, now_ms = self._outlet(messages[0].destination), time.time_ns() // 1_000_000
        encoded = [write_message(message.body, message.durable, now_ms, message.headers) for message in messages]
        return self._pass(
            outlet,
            deque(
                partial(self._put_in, transaction, *arguments) for arguments in zip(encoded, on_answers, strict=True)
            ),
        )

    def control(self, message: bytes, on_answer: OnAnswer) -> None:
        """Send a command to the broker's transaction coordinator. Raises `Refused` if it has none, and
        ConnectionError."""
        self._pass(self._outlet(COORDINATOR), deque([partial(self._put_control, message, on_answer)]))

    def _pass(self, outlet: _Outlet, waiting: deque[Put]) -> int:
        """Put on the link as many at a time as there is credit for; return the time (ns) before the first."""
        sent_ns, waited = 0, False
        while True:
            with self._wire.lock:
                self._attachments.require_open()
                if not sent_ns and self._has_room(outlet):
                    sent_ns = time.perf_counter_ns()
                    self.credit_ns = sent_ns if waited else self.credit_ns
                while waiting and self._has_room(outlet):
                    waiting.popleft()(outlet.link)
                all_written, credit = self._wire.flush(), outlet.link.credit
                if waiting:
                    outlet.room.clear()
                else:
                    outlet.room.set()  # another user may be about to wait for the credit that is left
            if not all_written:
                self._wire.write_out()
            if not waiting:
                return sent_ns
            waited = True
            outlet.room.wait(LOOK_AGAIN_S if credit > 0 else LOOK_FOR_CREDIT_S)

    def await_settled(self, deadline_s: float) -> None:
        """Wait for the outstanding answers."""
        with self._wire.lock:
            self._all_settled.clear()
            waiting = bool(self._unsettled or self._special) and not self._wire.reason
        if waiting:
            self._all_settled.wait(max(0.0, deadline_s - time.monotonic()))

    def on_disposition(self, transfer: Transfer) -> Call | None:
        at_ns, tag = time.perf_counter_ns(), engine.tag_of(transfer)
        if tag in self._special:
            then = self._special.pop(tag)(engine.as_object(transfer), at_ns)
            engine.settle(transfer)
            return partial(self._end_special, then)
        outcome, reason = outcome_of(transfer)
        engine.settle(transfer)
        return partial(self._report_outcome, tag, outcome, at_ns, reason)

    def on_credit(self) -> None:
        for outlet in self._outlets.values():
            outlet.room.set()

    def on_gone(self) -> None:
        self._all_settled.set()
        self.on_credit()

    def _report_outcome(self, tag: str, outcome: Outcome, at_ns: int, reason: str) -> None:
        if tag in self._unsettled:
            self._on_settled(self._unsettled.pop(tag), outcome, at_ns, reason)
        self._notify_if_settled()

    def _end_special(self, then: Call | None) -> None:
        if then is not None:
            then()
        self._notify_if_settled()

    def _notify_if_settled(self) -> None:
        if not self._unsettled and not self._special:
            self._all_settled.set()

    def _has_room(self, outlet: _Outlet) -> bool:
        return bool(outlet.link.credit > 0 and self._session.outgoing_bytes < MOST_UNWRITTEN_BYTES)

    def _put(self, message: Outgoing, encoded: bytes, link: Sender) -> None:
        tag = str(next(self._numbers))
        if message.durable:
            self._unsettled[tag] = message.token
        engine.send(link, tag, encoded, settled=not message.durable)

    def _put_in(self, transaction: bytes, encoded: bytes, on_answer: OnAnswer, link: Sender) -> None:
        tag = str(next(self._numbers))
        self._special[tag] = on_answer
        engine.send_in(transaction, link, tag, encoded)

    def _put_control(self, message: bytes, on_answer: OnAnswer, link: Sender) -> None:
        tag = str(next(self._numbers))
        self._special[tag] = on_answer
        engine.send(link, tag, message, settled=False)

    def _reply_to(self, message: Outgoing) -> str:
        """Return the broker's name for the temporary queue of the reply; empty: no reply is requested."""
        return self.temporaries[message.headers.reply_to] if message.headers.reply_to else ""

    def _outlet(self, destination: Destination) -> _Outlet:
        outlet = self._outlets.get(destination)
        return outlet if outlet is not None and outlet.answer.came.is_set() else self._attach(destination)

    def _attach(self, destination: Destination) -> _Outlet:
        """Request a link; one at a time. Raises `Refused` and ConnectionError."""
        with self._attaching:
            if destination in self._outlets:
                return self._outlets[destination]
            with self._wire.lock:
                name = f"send-{next(self._numbers)}"
                answer = self._attachments.expect(name)
                outlet = _Outlet(self._ask_for(destination, name), answer)
                self._outlets[destination] = outlet  # credit may come before the reply that grants the link
            try:
                self._attachments.wait(answer, f"to the attachment of {destination}")
                if answer.refusal:
                    raise Refused(f"broker {self._broker} accepts no messages for {destination}: {answer.refusal}")
                self.credit_ns = time.perf_counter_ns()
            except BaseException:
                with self._wire.lock:
                    del self._outlets[destination]
                raise
            return outlet

    def _ask_for(self, destination: Destination, name: str) -> Sender:
        if destination == COORDINATOR:
            return attach_coordinator(self._session, name)
        return attach_sender(self._session, name, destination, node_address(destination, self.prefixes))
