"""Detects how brokers hold a producer back: when a message could have been sent, and when the producer was blocked.

Each message is ready once it is due and the brokers no longer hold its producer back. They hold it back in four ways:
it has no connection or credit; the in-flight window is full; a commit has no answer; a write is blocked. The load
generator causes the rest of the delay.

    due ── held back by a broker ── ready ── own lag ── sent

A producer may itself wake late when it waits for a due time. All messages that were due by then remain
late by the same amount, even if brokers hold the producer back afterwards. Sent in time, they would have been released
earlier.

Messages that were due while brokers held the producer back are sent late, one after the other. A broker may accept them
slowly, so each of these writes releases the next message. If a message that was due later is late, the generator was
too slow.

The producer *catches up* until it has sent all messages that became due while it was held back. It may take as long as
it was held back: if it is not done by then, the generator itself is too slow.

The Java loop has the same rule: drivers/java/brokerbench/Readiness.java.

A producer is *blocked* while a broker accepts nothing from it for a second or more. With STOMP and OpenWire a full
broker stops reading, or sends no answers; with AMQP it grants no credit. A producer can observe two things:

- no answer: its sends wait for an answer, and none came for a second or longer. A frozen broker looks the same;
- a long write: the write itself waited that long. A producer without answers cannot observe anything else.

Each period becomes two connection events, ``blocked`` and ``unblocked``, once it is over.
"""

from collections.abc import Callable

LONG_WRITE_NS = 100_000_000
"""A write that takes this long waits for a broker. A shorter one may wait for a core, or for the garbage collector."""


class Readiness:
    """The last wait of a producer. Times are in ns."""

    def __init__(self) -> None:
        self._held_until_ns = self._released_ns = 0
        self._woke_ns = self._late_ns = 0
        self._wrote_ns = 0  # the end of the last write
        self._last_due_ns: int | None = None  # the due time of its message
        self._catch_up_ns = 0  # until when it may catch up

    def __repr__(self) -> str:
        return f"Readiness(released {self._released_ns}, woke {self._woke_ns}, {self._late_ns} late)"

    def on_wake(self, due_ns: int, now_ns: int) -> None:
        """Record that the producer waited until this due time, and woke now."""
        self._woke_ns, self._late_ns = now_ns, max(0, now_ns - due_ns)

    def released(self, at_ns: int) -> None:
        """Record that brokers held the producer back until ``at_ns``. A time before the last one changes nothing."""
        self._held(max(self._wrote_ns, self._woke_ns), at_ns)

    def _held(self, since_ns: int, until_ns: int) -> None:
        if until_ns <= self._released_ns:
            return
        if since_ns:  # otherwise nothing was due yet
            self._catch_up_ns = max(self._catch_up_ns, until_ns + max(0, until_ns - since_ns))
        self._held_until_ns = self._released_ns = until_ns

    def on_written(self, due_ns: int, began_ns: int, ended_ns: int) -> None:
        """Record the write of this message, from ``began_ns`` to ``ended_ns``: a broker may have blocked it."""
        if ended_ns - began_ns >= LONG_WRITE_NS:
            self._held(began_ns, ended_ns)
        elif due_ns < self._held_until_ns:
            self._released_ns = max(self._released_ns, ended_ns)
        self._wrote_ns, self._last_due_ns = ended_ns, due_ns

    def is_catching_up(self, now_ns: int) -> bool:
        """Whether the producer still sends messages that became due while the brokers held it back."""
        last_due_ns = self._last_due_ns
        return last_due_ns is not None and last_due_ns < self._held_until_ns and now_ns < self._catch_up_ns

    def ready_ns(self, due_ns: int) -> int:
        """Return the earliest time when the message could have been sent."""
        late_ns = self._late_ns if due_ns < self._woke_ns else 0
        return max(due_ns, self._released_ns - late_ns)


BLOCKED_AFTER_NS = 1_000_000_000
NO_ANSWER, WRITE_WAITED = "no answer", "the write waited"

OnBlocked = Callable[[str, int, int, str], None]
"""(broker, began_ns, ended_ns, reason)"""


class BlockedDetector:
    """Detects the blocked periods of one producer. Not for several threads at once."""

    def __init__(self, on_blocked: OnBlocked) -> None:
        self._on_blocked = on_blocked
        self._broker = ""
        self._since_ns: int | None = None  # since when an answer is awaited

    def __repr__(self) -> str:
        return f"BlockedDetector({'' if self._since_ns is None else f'with {self._broker} since {self._since_ns}'})"

    def on_send(self, broker: str, at_ns: int) -> None:
        """Record the send of a message that the broker should answer."""
        if self._since_ns is None:
            self._broker, self._since_ns = broker, at_ns

    def on_answer(self, at_ns: int, *, awaits_more: bool) -> None:
        """Record an answer. ``awaits_more``: more are awaited."""
        awaited = self._since_ns is not None
        self.on_end(at_ns)
        self._since_ns = at_ns if awaits_more and awaited else None

    def on_end(self, at_ns: int) -> None:
        """Stop waiting for answers, as the connection or the producer is gone."""
        since_ns, self._since_ns = self._since_ns, None
        if since_ns is not None:
            self._report(self._broker, since_ns, at_ns, NO_ANSWER)

    def on_written(self, broker: str, began_ns: int, ended_ns: int) -> None:
        """Record the write of a message that needs no answer."""
        self._report(broker, began_ns, ended_ns, WRITE_WAITED)

    def _report(self, broker: str, began_ns: int, ended_ns: int, reason: str) -> None:
        if ended_ns - began_ns >= BLOCKED_AFTER_NS:
            self._on_blocked(broker, began_ns, ended_ns, reason)
