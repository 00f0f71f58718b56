"""Opens STOMP connections that record every callback."""

import random
from collections.abc import Callable
from functools import partial

from drivers.broker_errors import retry_login
from drivers.contract import Delivery, Destination, Outcome, Outgoing, Subscription
from drivers.stomp.connection import StompConnection
from drivers.stomp.connector import StompConnector
from records.loads.identity import BodyIdentity, Identity, read, stamp
from tests.support.waiting import until
from topologies.model.endpoints import Credentials, Endpoint

RUN = 77


def queue(prefix: str) -> Destination:
    """A queue that no other test uses."""
    return Destination("queue", f"{prefix}.{random.getrandbits(48):x}")


def body(seq: int, body_bytes: int = 64, attempt: int = 0) -> bytes:
    return stamp(Identity(RUN, 1, seq, attempt), body_bytes)


class StompClient:
    """An open connection, and its callbacks."""

    def __init__(self, endpoint: Endpoint, credentials: Credentials, client_id: str = "", heartbeat_ms: int = 10_000):
        self.settled: list[tuple[object, Outcome, int, str]] = []
        self.lost: list[str] = []
        self.got: list[Delivery] = []
        log_in = partial(
            StompConnector(heartbeat_ms).connect,
            endpoint,
            credentials,
            client_id=client_id,
            on_settled=lambda *settlement: self.settled.append(settlement),
            on_lost=self.lost.append,
        )
        self.connection: StompConnection = retry_login(log_in, 60)

    def send(self, to: Destination, *bodies: bytes, durable: bool = True) -> None:
        """Send the bodies, each with its index as its token."""
        for number, message in enumerate(bodies):
            self.connection.send(Outgoing(to, message, durable, number))

    def outcomes(self, count: int) -> list[Outcome]:
        """Wait for the outcomes of the first ``count`` sends, and return them."""
        until(lambda: len(self.settled) >= count)
        return [outcome for _token, outcome, _at, _reason in self.settled]

    def listen(self, to: Destination, *, settle: bool = True, prefetch: int = 100) -> int:
        def on_delivery(delivery: Delivery) -> None:
            self.got.append(delivery)
            if settle:
                self.connection.settle(delivery)

        return self.connection.subscribe(Subscription(to, prefetch), on_delivery)

    def received(self, count: int) -> list[BodyIdentity]:
        """Wait for ``count`` deliveries, and return their content."""
        until(lambda: len(self.got) >= count)
        return [read(delivery.body, RUN) for delivery in self.got]

    def close(self) -> None:
        self.connection.close()


Connect = Callable[..., StompClient]
