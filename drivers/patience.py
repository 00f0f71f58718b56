"""For how long has a broker taken nothing from a producer? It was *blocked* when that lasted a second or more.

A broker that is full holds producers back, each protocol in its own way: STOMP and OpenWire brokers stop reading, or
keep their answers to themselves; AMQP brokers grant no credit. A producer knows two things:

* no answer: sends await it, and for a second or longer none came. A broker that stands still looks the same;
* the write itself waited that long, which is all that one learns who expects no answer.

Each period becomes two connection events, ``blocked`` and ``unblocked``, once it is over.
"""

from collections.abc import Callable

BLOCKED_AFTER_NS = 1_000_000_000
NO_ANSWER, WRITE_WAITED = "no answer", "the write waited"

OnBlocked = Callable[[str, int, int, str], None]
"""(broker, began_ns, ended_ns, reason)"""


class Patience:
    """How long one producer waits. Not for several threads at once."""

    def __init__(self, on_blocked: OnBlocked) -> None:
        self._on_blocked = on_blocked
        self._broker = ""
        self._since_ns: int | None = None  # from when on an answer is awaited

    def __repr__(self) -> str:
        return f"Patience({'' if self._since_ns is None else f'with {self._broker} since {self._since_ns}'})"

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
        """Something was written that nobody answers."""
        self._tell(broker, began_ns, ended_ns, WRITE_WAITED)

    def _tell(self, broker: str, began_ns: int, ended_ns: int, reason: str) -> None:
        if ended_ns - began_ns >= BLOCKED_AFTER_NS:
            self._on_blocked(broker, began_ns, ended_ns, reason)
