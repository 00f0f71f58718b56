"""Plays an AMQP broker with a coordinator of transactions."""

from typing import Any

from proton import Condition, Described, Terminus, ulong

from drivers.amqp.engine import DECLARED, TRANSACTIONAL
from tests.support.fake_amqp import Script

ACCEPTED = Described(ulong(0x24), [])


class Coordinator(Script):
    """Declares requested transactions, keeps their messages, and discharges them. Override what shall differ."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: list[Any] = []
        self.number = 0

    def on_message(self, event: Any) -> None:
        if event.link.target.type == Terminus.COORDINATOR:
            self.on_control(event.delivery, event.message.body.descriptor, event.message.body.value)
        else:
            (transaction,), body = event.delivery.remote.data, bytes(event.message.body)
            self.seen.append((event.delivery.remote_state, bytes(transaction), body))
            self.on_part(event.delivery, body)

    def on_control(self, delivery: Any, descriptor: str, values: Any) -> None:
        self.seen.append((descriptor, *(bytes(value) if isinstance(value, memoryview) else value for value in values)))
        if descriptor == "amqp:declare:list":
            self.number += 1
            self.answer(delivery, DECLARED, [b"tx-%d" % self.number])
        else:
            self.accept(delivery)

    def on_part(self, delivery: Any, body: bytes) -> None:
        self.answer(delivery, TRANSACTIONAL, [b"tx-1", ACCEPTED])

    def answer(self, delivery: Any, state: int, data: list[Any]) -> None:
        delivery.local.data = data
        delivery.update(state)
        delivery.settle()

    def refuse(self, delivery: Any, words: str) -> None:
        delivery.local.condition = Condition("amqp:transaction:rollback", words)
        self.reject(delivery)


class AnsweringCoordinator(Coordinator):
    """Rejects each message with the body ``refused``, and does ``at_commit``: confirm, refuse or leave. See `words`."""

    words = "no room here"

    def __init__(self, refused: bytes, at_commit: str) -> None:
        super().__init__()
        self._refused, self._at_commit = refused, at_commit

    def on_part(self, delivery: Any, body: bytes) -> None:
        if body == self._refused:
            self.refuse(delivery, f"{self.words}\n\tat broker.java:1")
        else:
            super().on_part(delivery, body)

    def on_control(self, delivery: Any, descriptor: str, values: Any) -> None:
        if descriptor == "amqp:discharge:list" and self._at_commit == "refuse":
            self.refuse(delivery, self.words)
        elif descriptor == "amqp:discharge:list" and self._at_commit == "leave":
            self.end(delivery.connection, "amqp:connection:forced", self.words)
        else:
            super().on_control(delivery, descriptor, values)
