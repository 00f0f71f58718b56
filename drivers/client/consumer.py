"""Receives for a client: records every delivery, then acknowledges it, and subscribes again after each failover."""

import threading
from collections.abc import Callable
from functools import partial

from drivers.client.access import ClientAccess
from drivers.client.events import Received
from drivers.contract import Delivery, Subscription
from drivers.failover.client_connection import ClientConnection
from records.identity import read


def kind_of(subscription: Subscription) -> str:
    """``queue``, ``topic`` or ``durable_topic``."""
    if subscription.destination.kind == "queue":
        return "queue"
    return "durable_topic" if subscription.durable_name else "topic"


def name_of(subscription: Subscription, consumer: int) -> str:
    """A queue's consumers share the queue as their subscription; on a topic each has one of its own."""
    name = subscription.destination.name
    if subscription.destination.kind == "queue":
        return name
    return subscription.durable_name or f"{name}#{consumer}"


class Consumer:
    """Receives for one client from one destination. Made by `drivers.client.client.Client.consumer`."""

    def __init__(
        self,
        access: ClientAccess,
        subscription: Subscription,
        *,
        number: int,
        run: int,
        on_receipt: Callable[[Received], None],
    ) -> None:
        self.subscription = subscription
        self.number = number
        self.name = name_of(subscription, number)
        self.received = 0
        self._access = access
        self._destination = str(subscription.destination)
        self._run = run
        self._on_receipt = on_receipt
        self._attaching = threading.Lock()
        self._connection: ClientConnection | None = None
        self._known = False
        self._closed = False

    def close(self) -> None:
        """Take no further delivery: later messages are neither recorded nor acknowledged, so the broker keeps them."""
        self._closed = True

    def attach(self, connection: ClientConnection) -> None:
        """Subscribe on it, once. Raises ConnectionError when it is lost, `Refused` when the broker says no."""
        with self._attaching:
            if self._closed or self._connection is connection:
                return
            if not connection.alive:
                raise ConnectionError(f"the connection to {connection.broker} was lost: {connection.reason}")
            began_ns = connection.protocol_connection.subscribe(self.subscription, partial(self._take, connection))
            self._connection = connection
            if not self._known:
                self._known = True
                self._access.recorder.subscription(
                    self.number,
                    self.name,
                    self._destination,
                    kind_of(self.subscription),
                    connection.broker,
                    began_ns,
                    self.subscription.selector,
                )

    def _take(self, connection: ClientConnection, delivery: Delivery) -> None:
        """Record first, acknowledge after: a receipt that is not recorded must come again."""
        if self._closed:
            return
        body = delivery.body
        integrity, producer, seq, attempt = read(body, self._run)
        received = Received(
            self.number,
            self.name,
            producer,
            seq,
            attempt,
            self._destination,
            connection.broker,
            delivery.received_ns,
            delivery.redelivered,
            integrity,
            delivery.hops,
            len(body),
        )
        self._access.recorder.receipt(*received[:-1])
        connection.protocol_connection.settle(delivery)
        self.received += 1
        self._on_receipt(received)
