"""Receives for a client: records every delivery, then acknowledges it, and subscribes again after each failover.

A consumer that takes time, or replies, has a separate thread. It takes one delivery at a time: it records it, works,
and then acknowledges it. Deliveries that the broker sent ahead wait, and count as received when their turn comes.
"""

import threading
import time
from collections.abc import Callable
from functools import partial
from queue import SimpleQueue
from random import Random

from drivers.client.contract import OnReceipt
from drivers.client.work import Work
from drivers.contract import Delivery, Subscription
from drivers.failover.client_connection import ClientConnection
from records.loads.identity import read
from records.store.writer import Recorder
from records.tables.schemas import ReceiptRow

NO_WORK = Work(0, 0)


def kind_of(subscription: Subscription) -> str:
    """Return ``queue``, ``topic`` or ``durable_topic``."""
    if subscription.destination.kind == "queue":
        return "queue"
    return "durable_topic" if subscription.durable_name else "topic"


def name_of(subscription: Subscription, consumer: int) -> str:
    """Return the subscription's name. A queue's consumers share the queue as subscription; on a topic each
    has a separate one."""
    name = subscription.destination.name
    if subscription.destination.kind == "queue":
        return name
    return subscription.durable_name or f"{name}#{consumer}"


class Consumer:
    """Receives for one client from one destination. Created by `drivers.client.client.Client.consumer`."""

    def __init__(
        self,
        subscription: Subscription,
        *,
        number: int,
        run: int,
        recorder: Recorder,
        clock: Callable[[], int],
        on_receipt: OnReceipt,
        work: Work | None = None,
        rng: Random | None = None,
        reply: Callable[[Delivery], None] | None = None,
    ) -> None:
        """``work``: the processing time per message, drawn with ``rng``; None: no time.

        ``reply`` answers each message before it is acknowledged. It may wait, so it needs the consumer's own thread.
        """
        self.subscription = subscription
        self.number = number
        self.name = name_of(subscription, number)
        self.received = 0
        self._recorder, self._clock = recorder, clock
        self._destination = str(subscription.destination)
        self._run = run
        self._on_receipt = on_receipt
        self._reply = reply
        self._attaching = threading.Lock()
        self._connection: ClientConnection | None = None
        self._known = False
        self._closed = False
        self._waiting: SimpleQueue[tuple[ClientConnection, Delivery] | None] | None = None
        self._worker: threading.Thread | None = None
        if work is not None or reply is not None:
            self._waiting = SimpleQueue()
            arguments = (self._waiting, work or NO_WORK, rng or Random())
            name = f"consumer-{number}"
            self._worker = threading.Thread(target=self._work_off, args=arguments, name=name, daemon=True)
            self._worker.start()

    def close(self) -> None:
        """Take no further delivery: later messages are neither recorded nor acknowledged, so the broker keeps them."""
        self._closed = True
        if self._waiting is not None:
            self._waiting.put(None)

    def finish_work(self, timeout_s: float) -> None:
        """Take no further delivery, but acknowledge the current one while there is a connection.

        Returns at once for a consumer that takes no time. ``timeout_s``: 0 does not wait.
        """
        if self._worker is not None:
            self.close()
            self._worker.join(timeout_s)

    def attach(self, connection: ClientConnection) -> None:
        """Subscribe on the connection, once. Raises ConnectionError if it is lost, `Refused` by the broker."""
        with self._attaching:
            if self._closed or self._connection is connection:
                return
            if not connection.alive:
                raise ConnectionError(f"the connection to {connection.broker} was lost: {connection.reason}")
            began_ns = connection.protocol_connection.subscribe(self.subscription, partial(self._take, connection))
            self._connection = connection
            if not self._known:
                self._known = True
                self._recorder.subscription(
                    self.number,
                    self.name,
                    self._destination,
                    kind_of(self.subscription),
                    connection.broker,
                    began_ns,
                    self.subscription.selector,
                )

    def _take(self, connection: ClientConnection, delivery: Delivery) -> None:
        if self._waiting is not None:
            self._waiting.put((connection, delivery))
        elif not self._closed:
            row = self._record(connection, delivery, delivery.received_ns)
            self._acknowledge(connection, delivery, row)

    def _work_off(
        self, waiting: SimpleQueue[tuple[ClientConnection, Delivery] | None], work: Work, rng: Random
    ) -> None:
        """Skip deliveries from a connection that has been lost if the broker will deliver them again."""
        free_ns, comes_again = 0, kind_of(self.subscription) != "topic"
        while (turn := waiting.get()) is not None and not self._closed:
            connection, delivery = turn
            if comes_again and not connection.alive:
                continue
            row = self._record(connection, delivery, max(delivery.received_ns, free_ns))
            if work is not NO_WORK:
                time.sleep(work.draw_s(rng))
            if self._reply is not None:
                self._reply(delivery)
            self._acknowledge(connection, delivery, row)
            free_ns = self._clock()

    def _record(self, connection: ClientConnection, delivery: Delivery, received_ns: int) -> ReceiptRow:
        """Record before acknowledging: a receipt that is not recorded must be delivered again."""
        integrity, producer, seq, attempt = read(delivery.body, self._run)
        row = ReceiptRow(
            self.number,
            self.name,
            producer,
            seq,
            attempt,
            self._destination,
            connection.broker,
            received_ns,
            delivery.redelivered,
            integrity,
            delivery.hops,
        )
        self._recorder.receipt(row)
        return row

    def _acknowledge(self, connection: ClientConnection, delivery: Delivery, row: ReceiptRow) -> None:
        connection.protocol_connection.settle(delivery)
        self.received += 1
        self._on_receipt(row, delivery.body)
