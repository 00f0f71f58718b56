"""What arrived? A consumer records every delivery, then acknowledges it, and subscribes again after each failover."""

import threading
from collections.abc import Callable
from functools import partial
from typing import NamedTuple

from drivers.contract import Delivery, Subscription
from drivers.link import Access, Link
from records.identity import read


class Received(NamedTuple):
    """One delivery as recorded."""

    consumer: int
    subscription: str
    producer: int
    seq: int
    attempt: int
    integrity: str
    broker: str
    received_ns: int
    redelivered: bool
    hops: int | None
    body_bytes: int


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
    """Receives for one client from one destination. Made by `drivers.client.Client.consumer`."""

    def __init__(
        self,
        access: Access,
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
        self._link: Link | None = None
        self._known = False
        self._closed = False

    def close(self) -> None:
        """Take no further delivery: what still comes is neither recorded nor acknowledged, so the broker keeps it."""
        self._closed = True

    def attach(self, link: Link) -> None:
        """Subscribe on ``link``, once. Raises ConnectionError when it is lost, `Refused` when the broker says no."""
        with self._attaching:
            if self._closed or self._link is link:
                return
            if not link.alive:
                raise ConnectionError(f"the connection to {link.broker} was lost: {link.reason}")
            began_ns = link.connection.subscribe(self.subscription, partial(self._take, link))
            self._link = link
            if not self._known:
                self._known = True
                self._access.recorder.subscription(
                    self.number, self.name, self._destination, kind_of(self.subscription), link.broker, began_ns
                )

    def _take(self, link: Link, delivery: Delivery) -> None:
        """Record first, acknowledge after: a receipt that is not recorded must come again."""
        if self._closed:
            return
        number, body = self.number, delivery.body
        integrity, producer, seq, attempt = read(body, self._run)
        received_ns, again, hops = delivery.received_ns, delivery.redelivered, delivery.hops
        self._access.recorder.receipt(
            number,
            self.name,
            producer,
            seq,
            attempt,
            self._destination,
            link.broker,
            received_ns,
            again,
            integrity,
            hops,
        )
        link.connection.settle(delivery)
        self.received += 1
        self._on_receipt(
            Received(
                number, self.name, producer, seq, attempt, integrity, link.broker, received_ns, again, hops, len(body)
            )
        )
