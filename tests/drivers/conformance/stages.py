"""On what does the suite try a driver? One broker, real or in memory, behind what the tests may do to it."""

import random
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Protocol

from drivers.contract import Connection, Connector, Delivery, Destination, Outcome, Outgoing, Subscription
from drivers.memory import MemoryConnector, MemoryNetwork
from records.identity import Identity, Reading, read, stamp
from tests.support.relay import Relay
from tests.support.waiting import until
from topologies.endpoints import Credentials, Endpoint

RUN = 91
BROKER = "broker-1"


def queue(prefix: str) -> Destination:
    """A queue that no other test uses."""
    return Destination("queue", f"{prefix}.{random.getrandbits(48):x}")


def topic(prefix: str) -> Destination:
    return Destination("topic", queue(prefix).name)


def body(seq: int, body_bytes: int = 64) -> bytes:
    return stamp(Identity(RUN, 1, seq, 0), body_bytes)


class Stage(Protocol):
    """``endpoint`` leads to the broker by a way that `cut` can cut.

    ``hops_at_home``: of a message that crossed no link; None where brokers do not stamp their path. ``tells_returns``:
    whether a message is called redelivered once a consumer that did not acknowledge it has left politely (Artemis takes
    the delivery back from its count when a Core consumer closes, as the message may never have been seen).
    """

    connector: Connector
    credentials: Credentials
    endpoint: Endpoint
    selects: bool  # whether the broker knows selectors
    hops_at_home: int | None
    tells_returns: bool

    def cut(self) -> None:
        """Every connection of this stage is gone, without a goodbye."""


@dataclass
class RealStage:
    """A real broker, by one protocol, through a relay."""

    connector: Connector
    credentials: Credentials
    endpoint: Endpoint
    relay: Relay
    hops_at_home: int | None = 0
    tells_returns: bool = True
    selects: bool = True

    def cut(self) -> None:
        self.relay.cut()


class MemoryStage:
    """A broker in memory: killed, which keeps its messages, and brought back."""

    selects = False
    hops_at_home: int | None = 0
    tells_returns = True

    def __init__(self) -> None:
        self.credentials = Credentials("anna", "s3cret")
        self.network = MemoryNetwork([BROKER], credentials=self.credentials)
        self.connector: Connector = MemoryConnector(self.network)
        self.endpoint = self.network.endpoint(BROKER)

    def cut(self) -> None:
        self.network.kill(BROKER)
        self.network.restore(BROKER)


@dataclass
class Peer:
    """An open connection, and what its owner was told."""

    stage: Stage
    client_id: str = ""
    credentials: Credentials | None = None
    settled: list[tuple[object, Outcome, int, str]] = field(default_factory=list)
    lost: list[str] = field(default_factory=list)
    got: list[Delivery] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.connection: Connection = self.stage.connector.connect(
            self.stage.endpoint,
            self.credentials or self.stage.credentials,
            client_id=self.client_id or f"peer-{random.getrandbits(48):x}",
            timeout_s=60,
            on_settled=lambda *what: self.settled.append(what),
            on_lost=self.lost.append,
        )

    def send(self, to: Destination, *bodies: bytes, durable: bool = True) -> list[int]:
        """Each with its number in this call as its token; returns when each was written."""
        return self.send_all(to, bodies, durable=durable)

    def send_all(self, to: Destination, bodies: Iterable[bytes], *, durable: bool = True) -> list[int]:
        return [self.connection.send(Outgoing(to, each, durable, number)) for number, each in enumerate(bodies)]

    def outcomes(self, count: int) -> list[Outcome]:
        """Those of the first so many sends, once they are known."""
        until(lambda: len(self.settled) >= count)
        return [outcome for _token, outcome, _at, _reason in self.settled]

    def listen(self, to: Destination, *, settle: bool = True, **options: object) -> int:
        def on_delivery(delivery: Delivery) -> None:
            self.got.append(delivery)
            if settle:
                self.connection.settle(delivery)

        return self.connection.subscribe(Subscription(to, **options), on_delivery)  # type: ignore[arg-type]

    def received(self, count: int) -> list[Reading]:
        """What so many deliveries held, once they have come."""
        until(lambda: len(self.got) >= count)
        return [read(delivery.body, RUN) for delivery in self.got]

    def seqs(self, count: int) -> list[int | None]:
        return [reading.seq for reading in self.received(count)]

    def close(self) -> None:
        self.connection.close()


Connect = Callable[..., Peer]
