"""Detects that a broker took nothing from a producer for a second or more: the producer was *blocked*.

A full broker holds producers back. With STOMP and OpenWire it stops reading, or sends no answers; with AMQP it grants
no credit. A producer knows two things:

* no answer: sends wait for it, and none came for a second or longer. A frozen broker looks the same;
* a long write: the write itself waited that long. A producer without answers can learn no more than this.

Each period becomes two connection events, ``blocked`` and ``unblocked``, once it is over.
"""

from collections.abc import Callable

BLOCKED_AFTER_NS = 1_000_000_000
NO_ANSWER, WRITE_WAITED = "no answer", "the write waited"

OnBlocked = Callable[[str, int, int, str], None]
"""(broker, began_ns, ended_ns, reason)"""


class BlockedDetector:
    """Detects the blocked periods of one producer. Not for several threads at once."""

    def __init__(self, on_blocked: OnBlocked) -> None:
        self._on_blocked = on_blocked
        self._broker = ""
        self._since_ns: int | None = None  # from when on an answer is awaited

    def __repr__(self) -> str:
        return f"BlockedDetector({'' if self._since_ns is None else f'with {self._broker} since {self._since_ns}'})"

    def awaits(self, broker: str, at_ns: int) -> None:
        """Something is sent that the broker is to answer."""
        if self._since_ns is None:
            self._broker, self._since_ns = broker, at_ns

    def heard(self, at_ns: int, *, more: bool) -> None:
        """An answer came; ``more``: others are awaited."""
        awaited = self._since_ns is not None
        self.ends(at_ns)
        self._since_ns = at_ns if more and awaited else None

    def ends(self, at_ns: int) -> None:
        """No answer will come any more: the connection is gone, or the producer."""
        since_ns, self._since_ns = self._since_ns, None
        if since_ns is not None:
            self._tell(self._broker, since_ns, at_ns, NO_ANSWER)

    def wrote(self, broker: str, began_ns: int, ended_ns: int) -> None:
        """A message was written that expects no answer."""
        self._tell(broker, began_ns, ended_ns, WRITE_WAITED)

    def _tell(self, broker: str, began_ns: int, ended_ns: int, reason: str) -> None:
        if ended_ns - began_ns >= BLOCKED_AFTER_NS:
            self._on_blocked(broker, began_ns, ended_ns, reason)
