"""The state of a transaction for every driver: its messages, and how it ended.

It is the same for each protocol. `drivers.contract.Transaction` has the contract.
"""

import threading

from drivers.contract import OnSettled, Outcome

ABORTED = "the transaction was aborted"


class Held:
    """The messages of one transaction, by their tokens in order, until they are settled together."""

    def __init__(self, on_settled: OnSettled) -> None:
        self._on_settled = on_settled
        self._tokens: dict[int, object] = {}
        self._numbers = 0
        self._ended = threading.Event()
        self._answered = False

    def add(self, token: object) -> int:
        """Return the number of that message in this transaction: 0, 1, 2 …"""
        number, self._numbers = self._numbers, self._numbers + 1
        self._tokens[number] = token
        return number

    # The broker's answers; for the connection's reader.

    def refuse(self, number: int, at_ns: int, reason: str) -> None:
        """Settle one message that the broker rejects. The transaction continues without it."""
        if number in self._tokens:
            self._on_settled(self._tokens.pop(number), Outcome.FAILED, at_ns, reason)

    def settle(self, outcome: Outcome, at_ns: int, reason: str = "") -> None:
        """End the transaction: settle each message, then release waiting callers."""
        while self._tokens:
            self._on_settled(self._tokens.pop(next(iter(self._tokens))), outcome, at_ns, reason)
        self._answered = True
        self._ended.set()

    def lose(self) -> None:
        """End the transaction because the connection is gone: no answer will come."""
        self._tokens.clear()
        self._ended.set()

    # For the caller that ends it.

    @property
    def ended(self) -> bool:
        return self._ended.is_set()

    def wait(self) -> bool:
        """Wait until it has ended, or is lost; return whether the broker answered."""
        self._ended.wait()
        return self._answered
