"""How do messages go by a Java client so that all arrive or none? Each transaction in a JMS session of its own.

Each message has an answer of its own, which only tells a refusal; what was not refused by the end of the commit has
arrived. The sessions are in the JVM: drivers/java/brokerbench/Transactions.java.
"""

import time
from collections.abc import Sequence
from typing import Any, Protocol

from drivers.contract import OnSettled, Outcome, Outgoing
from drivers.jvm.hub import Answer
from drivers.transactions import ABORTED, Held


class Asks(Protocol):
    """`drivers.jvm.connection.JavaConnection`, as its transactions see it."""

    def ask(self) -> tuple[int, Answer]: ...
    def gone(self, words: str) -> ConnectionError: ...


class JavaTransaction:
    """See `drivers.contract.Transaction`. ``java``: the link's transactions, where this one has that number."""

    def __init__(self, link: Asks, number: int, java: Any, on_settled: OnSettled) -> None:
        self.held = Held(on_settled)
        self._link, self._number, self._java = link, number, java
        self._reason = ""
        self._confirmed, self._why = Outcome.ACKED, ""  # what it means that it has ended as it was asked to

    def send_batch(self, messages: Sequence[Outgoing]) -> int:
        sent_ns = time.perf_counter_ns()
        for message in messages:
            self._put(message)
        return sent_ns

    def commit(self) -> None:
        self._end(commit=True)

    def abort(self) -> None:
        self._confirmed, self._why = Outcome.FAILED, ABORTED
        self._end(commit=False)

    # What the broker says; for the hub.

    def refused(self, message: int, at_ns: int, words: str) -> None:
        """One message, by the number of the request to send it."""
        self.held.refuse(message, at_ns, words)

    def ended(self, at_ns: int, refusal: str) -> None:
        outcome, why = (Outcome.FAILED, refusal) if refusal else (self._confirmed, self._why)
        self.held.settle(outcome, at_ns, why)

    def lost(self, reason: str) -> None:
        """No answer will come."""
        self._reason = reason
        self.held.lose()

    def _put(self, message: Outgoing) -> None:
        request, answer = self._link.ask()
        held, to = self.held.add(message.token), message.destination
        self._java.put(request, self._number, held, to.kind == "topic", to.name, message.body, message.durable)
        answer.wait(None)
        if answer.what == "written":
            return
        _, words, refused = answer.values
        if not refused:
            raise self._link.gone(str(words))
        self.held.refuse(held, time.perf_counter_ns(), str(words))

    def _end(self, *, commit: bool) -> None:
        self._java.end(self._number, commit)
        if not self.held.wait():
            raise self._link.gone(self._reason)
