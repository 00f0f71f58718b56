"""Describes which fault applies to which message, as plain values, and chooses the fault of each message.

A fault selects messages by the identity in the first 32 bytes of the body (producer, seq, attempt), by their count on
this proxy, or by any predicate. All given conditions must hold. Each affected message is one row of `Done`.
"""

import struct
from collections.abc import Callable, Collection
from dataclasses import dataclass, field, replace

IDENTITY = struct.Struct(">2sBBIIIQII")  # magic, version, spare, run, producer, attempt, seq, body and header checksum
MAGIC = b"bb"
PRODUCER_AT = 8

TO_BROKER, TO_CLIENT = "broker", "client"
KINDS = (
    "drop",  # dropped but acknowledged: the proxy itself sends the RECEIPT or the ACK
    "duplicate",  # forwarded twice; only one of the receiver's replies gets through
    "reorder",  # forwarded after the next message of the same producer, or after `delay_s` if there is none
    "corrupt_body",  # one byte after the identity is flipped
    "corrupt_header",  # one byte of the identity is flipped
    "delay",  # the message, and all behind it on its connection, wait `delay_s`
    "cut_before",  # not forwarded; the connection is cut
    "cut_after",  # forwarded and accepted, but the sender gets no reply: the connection is cut
    "swallow_receipt",  # forwarded and accepted, but its RECEIPT never arrives; the connection stays
)


@dataclass(frozen=True)
class StompFrame:
    """One frame as it passes; header values are left escaped as they came."""

    command: str
    headers: dict[str, str]
    body: bytes

    @classmethod
    def parse(cls, piece: bytes) -> "StompFrame":
        head, _, body = piece.removesuffix(b"\0").partition(b"\n\n")
        command, *lines = head.decode().split("\n")
        headers: dict[str, str] = {}
        for name, _, value in (line.partition(":") for line in lines):
            headers.setdefault(name, value)  # the first of a name counts
        return cls(command, headers, body)

    def encoded(self) -> bytes:
        lines = [self.command, *(f"{name}:{value}" for name, value in self.headers.items())]
        return "\n".join(lines).encode() + b"\n\n" + self.body + b"\0"

    def with_header(self, name: str, value: str) -> "StompFrame":
        return replace(self, headers=self.headers | {name: value})

    def without_header(self, name: str) -> "StompFrame":
        return replace(self, headers={key: value for key, value in self.headers.items() if key != name})

    def flipped(self, at: int) -> "StompFrame":
        """Return the frame with all bits of one body byte inverted."""
        return replace(self, body=self.body[:at] + bytes([self.body[at] ^ 0xFF]) + self.body[at + 1 :])


@dataclass(frozen=True)
class Passing:
    """A SEND on its way to a broker, or a MESSAGE on its way to a client. ``count`` begins at 1, a direction."""

    broker: str
    towards: str
    count: int
    producer: int | None
    seq: int | None
    attempt: int | None
    frame: StompFrame

    @classmethod
    def of(cls, broker: str, towards: str, count: int, frame: StompFrame) -> "Passing":
        if len(frame.body) < IDENTITY.size or not frame.body.startswith(MAGIC):
            return cls(broker, towards, count, None, None, None, frame)
        _magic, _version, _spare, _run, producer, attempt, seq, _body, _header = IDENTITY.unpack_from(frame.body)
        return cls(broker, towards, count, producer, seq, attempt, frame)


@dataclass(frozen=True)
class StompFault:
    """``kind`` is one of KINDS; ``towards`` is TO_BROKER (SENDs) or TO_CLIENT (MESSAGEs)."""

    kind: str
    towards: str
    nth: Collection[int] = ()
    seqs: Collection[int] = ()
    producer: int | None = None
    attempt: int | None = None
    when: Callable[[Passing], bool] | None = None
    delay_s: float = 1.0
    at_most: int | None = None

    def __post_init__(self) -> None:
        if self.kind not in KINDS or self.towards not in (TO_BROKER, TO_CLIENT):
            raise ValueError(
                f"fault {self.kind} towards {self.towards}: use {', '.join(KINDS)} towards broker or client"
            )
        if self.kind == "swallow_receipt" and self.towards == TO_CLIENT:
            raise ValueError("swallow_receipt: only a SEND, towards the broker, has a receipt")

    def meets(self, passing: Passing) -> bool:
        return (
            passing.towards == self.towards
            and (self.kind != "corrupt_body" or len(passing.frame.body) > IDENTITY.size)
            and (self.kind != "corrupt_header" or passing.producer is not None)
            and (not self.nth or passing.count in self.nth)
            and (not self.seqs or passing.seq in self.seqs)
            and self.producer in (None, passing.producer)
            and self.attempt in (None, passing.attempt)
            and (self.when is None or self.when(passing))
        )


@dataclass(frozen=True)
class Done:
    """A fault that was applied, and its message."""

    kind: str
    towards: str
    broker: str
    count: int
    producer: int | None
    seq: int | None
    attempt: int | None


@dataclass
class Ledger:
    """Counts what passes and chooses its fault, for all connections together. The caller holds the lock."""

    faults: tuple[StompFault, ...]
    counts: dict[str, int] = field(default_factory=lambda: {TO_BROKER: 0, TO_CLIENT: 0})
    rows: list[Done] = field(default_factory=list)
    _applied: dict[int, int] = field(default_factory=dict)

    def choose(self, broker: str, towards: str, frame: StompFrame) -> tuple[Passing, StompFault | None]:
        """The first fault that the message meets, if any has not been used up."""
        self.counts[towards] += 1
        passing = Passing.of(broker, towards, self.counts[towards], frame)
        for number, fault in enumerate(self.faults):
            applied = self._applied.get(number, 0)
            if fault.meets(passing) and (fault.at_most is None or applied < fault.at_most):
                self._applied[number] = applied + 1
                return passing, fault
        return passing, None

    def note(self, kind: str, passing: Passing) -> None:
        self.rows.append(
            Done(kind, passing.towards, passing.broker, passing.count, passing.producer, passing.seq, passing.attempt)
        )
