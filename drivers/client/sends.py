"""One attempt to send a message: when it was due, where it was written, and the broker's answer."""

from dataclasses import dataclass
from typing import NamedTuple, Protocol

from drivers.contract import Outcome
from drivers.failover.client_connection import ClientConnection


class BrokerAnswer(NamedTuple):
    """What became of an attempt. ``settled_ns`` is None unless the broker answered."""

    outcome: Outcome
    settled_ns: int | None
    reason: str


UNCONFIRMED = BrokerAnswer(Outcome.UNCONFIRMED, None, "")


class TakesAnswers(Protocol):
    """The methods of `drivers.client.producer.Producer` for a caller that receives an answer."""

    def answered(self, attempt: "SendAttempt", answer: BrokerAnswer) -> None: ...


@dataclass(eq=False, slots=True)
class SendAttempt:
    """One attempt to send one message. ``connection`` is None while it waits to be sent again."""

    producer: TakesAnswers
    seq: int
    number: int
    due_ns: int
    body_bytes: int
    blocked: bool
    begun_ns: int = 0
    ready_ns: int = 0
    connection: ClientConnection | None = None
    sent_ns: int = 0
    written: bool = False
    answer: BrokerAnswer | None = None  # came before the write returned
