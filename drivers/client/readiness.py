"""Computes since when a producer could have sent a message: the rest of its delay is the load generator's own.

A message is ready once it is due and the brokers hold its producer back no more. They hold it back in four ways: there
is no connection, or no credit on it; the in-flight window is full; a commit has no answer; a write is blocked.

    due ── held back by a broker ── ready ── own lag ── sent

A producer may wake late from waiting for a due time, through its own fault. All messages that were due by then stay
late by as much, even if brokers hold the producer back then. Sent in time, they would have been released earlier.

Messages that were due while brokers held the producer back go out late, one after the other. A broker may take them
slowly, so each of their writes releases the next message. Later ones get no such excuse: a slow generator is late.

The Java loop has the same rule: drivers/java/brokerbench/Readiness.java.
"""

LONG_WRITE_NS = 100_000_000
"""A write that lasts so long waits for a broker. A shorter one may wait for a core, or for the garbage collector."""


class Readiness:
    """What one producer waited for last. Times are in ns."""

    def __init__(self) -> None:
        self._held_until_ns = self._released_ns = 0
        self._woke_ns = self._late_ns = 0

    def __repr__(self) -> str:
        return f"Readiness(released {self._released_ns}, woke {self._woke_ns}, {self._late_ns} late)"

    def woke(self, due_ns: int, now_ns: int) -> None:
        """The producer waited until this due time, and woke now."""
        self._woke_ns, self._late_ns = now_ns, max(0, now_ns - due_ns)

    def released(self, at_ns: int) -> None:
        """The brokers held the producer back until then. An earlier time than the last one changes nothing."""
        if at_ns > self._released_ns:
            self._held_until_ns = self._released_ns = at_ns

    def wrote(self, due_ns: int, began_ns: int, ended_ns: int) -> None:
        """The write of this message took so long: a broker may have blocked it."""
        if ended_ns - began_ns >= LONG_WRITE_NS:
            self.released(ended_ns)
        elif due_ns < self._held_until_ns:
            self._released_ns = max(self._released_ns, ended_ns)

    def ready_ns(self, due_ns: int) -> int:
        """Since when the message could have been sent."""
        late_ns = self._late_ns if due_ns < self._woke_ns else 0
        return max(due_ns, self._released_ns - late_ns)
