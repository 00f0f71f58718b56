"""Connects to the brokers of a `MemoryNetwork`, ``memory://NAME``: the whole pipeline runs without a real broker.

It is the reference implementation of the driver contract. Each connection has a reader thread (a greenlet under gevent)
that makes callbacks, like a socket's reader.
"""

import queue
import threading
from collections.abc import Callable, Sequence
from dataclasses import replace
from urllib.parse import urlsplit

from drivers.client.client import MakesPythonClients
from drivers.contract import (
    Browsed,
    ConnectFailed,
    Delivery,
    Destination,
    OnDelivery,
    OnLost,
    OnSettled,
    Outcome,
    Outgoing,
    Subscription,
)
from drivers.failover.supported_options import SupportedOptions
from drivers.memory.network import MemoryNetwork
from drivers.memory.queues import MemorySubscription, Waiting
from drivers.transactions import ABORTED, Held
from topologies.model.endpoints import Credentials, Endpoint

MEMORY_OPTIONS = SupportedOptions("memory")


class MemoryConnection:
    """One connection to one broker in memory."""

    def __init__(
        self, network: MemoryNetwork, broker: str, client_id: str, on_settled: OnSettled, on_lost: OnLost
    ) -> None:
        self.broker = broker
        self.client_id = client_id
        self.takers: list[MemorySubscription] = []
        self._network = network
        self._clock = network.clock
        self._on_settled = on_settled
        self._on_lost = on_lost
        self._lost = ""  # the reason
        self._leaving = False
        self._left = False
        self._transactions: list[MemoryTransaction] = []
        self._inbox: queue.SimpleQueue[Callable[[], None] | None] = queue.SimpleQueue()
        self._reader = threading.Thread(target=self._read, name=f"memory-{broker}-{client_id}", daemon=True)

    def start(self) -> None:
        """Begin to make callbacks."""
        self._reader.start()

    # The driver's contract.

    def send(self, message: Outgoing) -> int:
        """Write; return when (ns). ConnectionError if the connection is gone."""
        if message.headers.reply_to:
            to = self._temporary(message.headers.reply_to)
            message = message._replace(headers=replace(message.headers, reply_to=to))
        return self._network.take(self, message)

    def _temporary(self, name: str) -> str:
        """Return the queue of this connection that represents a temporary queue."""
        return f"{name}.{self.client_id}"

    def begin(self) -> "MemoryTransaction":
        """Begin a transaction. Raises ConnectionError if the connection is gone."""
        if not self.is_open():
            raise ConnectionError(f"the connection to {self.broker} is gone")
        transaction = MemoryTransaction(self._network, self, self._on_settled)
        still_open = [earlier for earlier in self._transactions if not earlier.held.ended]
        self._transactions = [*still_open, transaction]
        return transaction

    def subscribe(self, subscription: Subscription, on_delivery: OnDelivery) -> int:
        """Subscribe; return when (ns) that took effect. Raises `Refused` or ConnectionError."""

        def take(taker: MemorySubscription, number: int, waiting: Waiting) -> None:
            stored, redelivered = waiting.stored, waiting.redelivered
            hops = 0 if stored.entered_at == self.broker else 1
            headers = stored.headers
            reply = (Destination("queue", headers.reply_to), headers.correlation_id) if headers.reply_to else ()
            self._inbox.put(
                lambda: on_delivery(Delivery(stored.body, self._clock(), redelivered, hops, (taker, number), *reply))
            )

        if subscription.temporary:
            own = Destination("queue", self._temporary(subscription.destination.name))
            subscription = replace(subscription, destination=own)
        return self._network.subscribe(self, subscription, take)

    def settle(self, delivery: Delivery) -> None:
        """Acknowledge; does nothing if the connection has been lost."""
        match delivery.ack_token:
            case (MemorySubscription() as taker, int(number)):
                self._network.acknowledge(self, taker, number)

    def close(self) -> None:
        """Close once all writes are read, and the callbacks for all pending answers and deliveries are made."""
        if self._lost or self._leaving:
            return
        self._leaving = True
        self._network.stop_delivering(self)
        self._inbox.put(None)
        if self._reader is not threading.current_thread():
            self._reader.join()
        self._left = True
        self._lose_transactions()  # again: a transaction that was begun while we closed
        self._network.log_out(self)

    # The network's calls (drivers.memory.network.Member).

    def is_open(self) -> bool:
        return not self._lost and not self._left

    def answer(self, token: object, outcome: Outcome, reason: str) -> None:
        self.call_in_reader(lambda: self._on_settled(token, outcome, self._clock(), reason))

    def call_in_reader(self, call: Callable[[], None]) -> None:
        """Make the reader call this, unless the connection is lost first."""
        self._inbox.put(call)

    def drop(self, reason: str) -> None:
        """Lose the connection: waiting callbacks are dropped."""
        self._lost = reason
        self._inbox.put(None)

    def _read(self) -> None:
        while (call := self._inbox.get()) is not None:
            if not self._lost:
                call()
        self._lose_transactions()
        if self._lost and not self._leaving:
            self._on_lost(self._lost)

    def _lose_transactions(self) -> None:
        for transaction in self._transactions:
            transaction.held.lose()


class MemoryTransaction:
    """See `drivers.contract.Transaction`. It collects messages, and the network accepts all of them at once."""

    def __init__(self, network: MemoryNetwork, member: MemoryConnection, on_settled: OnSettled) -> None:
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
        self._member.call_in_reader(lambda: self.held.settle(outcome, self._network.clock(), reason))

    def _await_end(self) -> None:
        if not self.held.wait():
            raise ConnectionError(f"the connection to {self._member.broker} is gone")

    def _require_open(self) -> None:
        if not self._member.is_open():
            raise ConnectionError(f"the connection to {self._member.broker} is gone")


class MemoryConnector(MakesPythonClients):
    """Connects to the brokers of one network."""

    protocol = "memory"
    supported_options = MEMORY_OPTIONS

    def __init__(self, network: MemoryNetwork) -> None:
        self._network = network

    def connect(
        self,
        endpoint: Endpoint,
        credentials: Credentials,
        *,
        client_id: str,
        timeout_s: float,
        on_settled: OnSettled,
        on_lost: OnLost,
    ) -> MemoryConnection:
        """Open one connection, with one attempt. Raises `ConnectFailed` or `Refused`."""
        parts = urlsplit(endpoint.uri)
        if parts.scheme != "memory" or not parts.netloc:
            raise ConnectFailed(f"{endpoint.uri!r} is not a broker in memory: write memory://NAME")
        connection = MemoryConnection(self._network, parts.netloc, client_id, on_settled, on_lost)
        self._network.log_in(connection, credentials, timeout_s)
        connection.start()
        return connection

    def browse(self, endpoint: Endpoint, credentials: Credentials, queue: str, *, timeout_s: float) -> list[Browsed]:
        """Return every message on a queue, without removing it. Raises `DriverError`."""
        connection = self.connect(
            endpoint, credentials, client_id="browser", timeout_s=timeout_s, on_settled=_ignore, on_lost=_ignore
        )
        messages, now_ns = self._network.browse(queue), self._network.clock()
        connection.close()
        return [Browsed(stored.body, now_ns - stored.entered_ns, stored.expired) for stored in messages]


def _ignore(*_: object) -> None:
    """Ignore callbacks of this connection."""
