"""The values of a load's events: a message that is due, the outcome of an attempt to send it, a message that arrived.

`Settled` and `Received` begin with the fields of their event table (records.schemas), in its order. So one value is
recorded and handed on: ``settled[:-2]`` is the row of ``sends``, ``received[:-1]`` that of ``receipts``.
"""

from typing import NamedTuple

from drivers.contract import Outcome


class ScheduledSend(NamedTuple):
    """A message that is due. ``blocked``: the cap on what may be in flight made it wait.

    ``begun_ns``: when the sender began with the message, if it first had to connect. Connecting is a part of the
    sending. 0: the time of the write counts. ``ready_ns``: since when it could have begun; comes with
    ``begun_ns``.
    """

    seq: int
    due_ns: int
    blocked: bool = False
    begun_ns: int = 0
    ready_ns: int = 0


class Settled(NamedTuple):
    """The outcome of one attempt. ``settled_ns`` is None unless the broker answered; ``final``: no attempt follows."""

    producer: int
    seq: int
    attempt: int
    destination: str
    broker: str
    due_ns: int
    ready_ns: int
    sent_ns: int
    settled_ns: int | None
    outcome: Outcome
    body_bytes: int
    blocked: bool
    reason: str
    final: bool


class Received(NamedTuple):
    """One delivery, and its size."""

    consumer: int
    subscription: str
    producer: int
    seq: int
    attempt: int
    destination: str
    broker: str
    received_ns: int
    redelivered: bool
    integrity: str
    hops: int | None
    body_bytes: int
