"""What is known of a send? When it was due, each attempt at it, the broker's answer, and what its sender is told."""

from dataclasses import dataclass
from typing import NamedTuple, Protocol

from drivers.contract import Outcome
from drivers.link import Link


class Settled(NamedTuple):
    """The outcome of one attempt. ``settled_ns`` is None unless the broker answered; ``final``: no attempt follows."""

    producer: int
    seq: int
    attempt: int
    outcome: Outcome
    broker: str
    due_ns: int
    sent_ns: int
    settled_ns: int | None
    body_bytes: int
    reason: str
    final: bool


class Slot(NamedTuple):
    """A message that is due. ``blocked``: the cap on what may be in flight made it wait.

    ``begun_ns``: when its sender set about it, where that is long before the write: a connection had to be made for it,
    which is part of the sending. 0: it is the write that counts.
    """

    seq: int
    due_ns: int
    blocked: bool = False
    begun_ns: int = 0


class Answer(NamedTuple):
    outcome: Outcome
    settled_ns: int | None
    reason: str


UNCONFIRMED = Answer(Outcome.UNCONFIRMED, None, "")


class TakesAnswers(Protocol):
    """`drivers.producer.Producer`, as who hears of an answer sees it."""

    def answered(self, attempt: "SendAttempt", answer: Answer) -> None: ...


@dataclass(eq=False, slots=True)
class SendAttempt:
    """One attempt to send one message. ``link`` is None while it waits to be sent again."""

    producer: TakesAnswers
    seq: int
    number: int
    due_ns: int
    body_bytes: int
    blocked: bool
    begun_ns: int = 0
    link: Link | None = None
    sent_ns: int = 0
    written: bool = False
    answer: Answer | None = None  # came before the write returned
