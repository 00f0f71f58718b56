"""A transaction with a broker in memory: it keeps messages aside, and the network takes all at once."""

from collections.abc import Callable, Sequence
from typing import Protocol

from drivers.contract import OnSettled, Outcome, Outgoing
from drivers.memory.network import Member, MemoryNetwork
from drivers.transactions import ABORTED, Held


class Reads(Member, Protocol):
    """A connection that calls back: `drivers.memory.connector.MemoryConnection`."""

    def soon(self, call: Callable[[], None]) -> None:
        """Make its reader call this, unless the connection is lost first."""


class MemoryTransaction:
    """See `drivers.contract.Transaction`."""

    def __init__(self, network: MemoryNetwork, member: Reads, on_settled: OnSettled) -> None:
        self.held = Held(on_settled)
        self._network, self._member = network, member
        self._messages: list[Outgoing] = []

    def send_batch(self, messages: Sequence[Outgoing]) -> int:
        self._require_open()
        sent_ns = self._network.clock()
        self._messages += messages
        for message in messages:
            self.held.add(message.token)
        return sent_ns

    def commit(self) -> None:
        self._network.commit(self._member, self._messages, self._settle_soon)
        self._await_end()

    def abort(self) -> None:
        self._require_open()
        self._settle_soon(Outcome.FAILED, ABORTED)
        self._await_end()

    def _settle_soon(self, outcome: Outcome, reason: str) -> None:
        self._member.soon(lambda: self.held.settle(outcome, self._network.clock(), reason))

    def _await_end(self) -> None:
        if not self.held.wait():
            raise ConnectionError(f"the connection to {self._member.broker} is gone")

    def _require_open(self) -> None:
        if not self._member.is_open():
            raise ConnectionError(f"the connection to {self._member.broker} is gone")
