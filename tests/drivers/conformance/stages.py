"""Provides the broker on which the suite tests a driver, real or in memory, and the means to disturb it."""

import random
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Protocol

from drivers.broker_errors import retry_login
from drivers.contract import (
    PLAIN,
    Browsed,
    Connection,
    Connector,
    Delivery,
    Destination,
    MessageHeaders,
    Outcome,
    Outgoing,
    Subscription,
)
from drivers.memory.connector import MemoryConnector
from drivers.memory.network import MemoryNetwork
from records.loads.identity import BodyIdentity, Identity, read, stamp
from tests.support.relay import Relay
from tests.support.waiting import until
from topologies.model.endpoints import Credentials, Endpoint
from topologies.runtimes.contract import Runtime

RUN = 91
BROKER = "broker-1"
IDLE_OPTION = {"stomp": "heartbeat_ms", "amqp": "idle_timeout_ms"}


def queue(prefix: str) -> Destination:
    """A queue that no other test uses."""
    return Destination("queue", f"{prefix}.{random.getrandbits(48):x}")


def topic(prefix: str) -> Destination:
    return Destination("topic", queue(prefix).name)


def body(seq: int, body_bytes: int = 64) -> bytes:
    return stamp(Identity(RUN, 1, seq, 0), body_bytes)


class Stage(Protocol):
    """``endpoint`` leads to the broker by a way that `cut` can cut.

    The differences between brokers are in the fields after `endpoint`; docs/drivers.md explains each to users.
    """

    connector: Connector
    credentials: Credentials
    endpoint: Endpoint
    durable_selector: str  # what selects the durable messages; '' where selectors may not ask that
    dead_letters: str  # the queue of messages whose time to live is over
    hops_at_home: int | None  # of a message that crossed no link; None where brokers do not stamp their path
    tells_returns: bool | None  # whether what a consumer held that left politely is called redelivered; None: some is
    tells_losses: bool  # whether everything that a lost connection held is called redelivered, not just some of it
    prefetched_bytes: int  # how large a body has to be for a prefetch to count messages
    survives_refusals: bool  # whether the connection lives on after a subscription that was refused
    shares_ids: bool  # whether two connections may have one client id
    keeps_priorities: bool  # whether waiting messages of a higher priority come first; Classic: prioritizedMessages

    @property
    def browses(self) -> bool:
        """Whether queues can be looked into by this protocol."""

    def cut(self) -> None:
        """Every connection of this stage is gone, without a goodbye."""

    def lying(self, place: Destination) -> list[Browsed]:
        """Browse a queue, by another protocol if this one cannot browse."""


@dataclass
class RealStage:
    """A real broker, by one protocol, through a relay."""

    connector: Connector
    credentials: Credentials
    endpoint: Endpoint
    relay: Relay
    runtime: Runtime
    durable_selector: str = "JMSDeliveryMode = 'PERSISTENT'"
    dead_letters: str = "ActiveMQ.DLQ"
    hops_at_home: int | None = None
    tells_returns: bool | None = True
    tells_losses: bool = True
    prefetched_bytes: int = 64
    survives_refusals: bool = True
    shares_ids: bool = False
    keeps_priorities: bool = False
    looks_by: tuple[Connector, Endpoint] | None = None

    @property
    def browses(self) -> bool:
        return self.looks_by is None

    @property
    def upstream(self) -> tuple[str, int]:
        """The host and port of the broker behind the relay."""
        host, _, port = self.runtime.endpoint(BROKER, self.endpoint.protocol).uri.partition("?")[0].rpartition(":")
        return host.partition("://")[2], int(port)

    def silent_for(self, idle_ms: int) -> "RealStage":
        """The same with connections that give up the broker after this period of silence; 0: never."""
        return replace(
            self,
            endpoint=replace(self.endpoint, uri=f"{self.endpoint.uri}?{IDLE_OPTION[self.endpoint.protocol]}={idle_ms}"),
        )

    def cut(self) -> None:
        self.relay.cut()

    def lying(self, place: Destination) -> list[Browsed]:
        connector, endpoint = self.looks_by or (self.connector, self.endpoint)
        return connector.browse(endpoint, self.credentials, place.name, timeout_s=60)


class MemoryStage:
    """A broker in memory: killed, which keeps its messages, and brought back."""

    durable_selector, dead_letters = "", "ExpiryQueue"
    hops_at_home: int | None = 0
    tells_returns: bool | None = True
    prefetched_bytes = 64
    browses = survives_refusals = tells_losses = shares_ids = True
    keeps_priorities = False

    def __init__(self) -> None:
        self.credentials = Credentials("anna", "s3cret")
        self.network = MemoryNetwork([BROKER], credentials=self.credentials)
        self.connector: Connector = MemoryConnector(self.network)
        self.endpoint = self.network.endpoint(BROKER)

    def cut(self) -> None:
        self.network.kill(BROKER)
        self.network.restore(BROKER)

    def lying(self, place: Destination) -> list[Browsed]:
        return self.connector.browse(self.endpoint, self.credentials, place.name, timeout_s=60)


@dataclass
class Peer:
    """An open connection, and its callbacks."""

    stage: Stage
    client_id: str = ""
    credentials: Credentials | None = None
    settled: list[tuple[object, Outcome, int, str]] = field(default_factory=list)
    lost: list[str] = field(default_factory=list)
    got: list[Delivery] = field(default_factory=list)

    def __post_init__(self) -> None:
        log_in = partial(
            self.stage.connector.connect,
            self.stage.endpoint,
            self.credentials or self.stage.credentials,
            client_id=self.client_id or f"peer-{random.getrandbits(48):x}",
            on_settled=lambda *settlement: self.settled.append(settlement),
            on_lost=self.lost.append,
        )
        self.connection: Connection = retry_login(log_in, 60)

    def send(self, to: Destination, *bodies: bytes, durable: bool = True, headers: MessageHeaders = PLAIN) -> list[int]:
        """Each with its number in this call as its token; returns when each was written."""
        return self.send_all(to, bodies, durable=durable, headers=headers)

    def send_all(
        self, to: Destination, bodies: Iterable[bytes], *, durable: bool = True, headers: MessageHeaders = PLAIN
    ) -> list[int]:
        written = (Outgoing(to, content, durable, number, headers) for number, content in enumerate(bodies))
        return [self.connection.send(message) for message in written]

    def outcomes(self, count: int) -> list[Outcome]:
        """Wait for the outcomes of the first ``count`` sends, and return them."""
        until(lambda: len(self.settled) >= count)
        return [outcome for _token, outcome, _at, _reason in self.settled]

    def listen(self, to: Destination, *, settle: bool = True, **options: object) -> int:
        def on_delivery(delivery: Delivery) -> None:
            self.got.append(delivery)
            if settle:
                self.connection.settle(delivery)

        return self.connection.subscribe(Subscription(to, **options), on_delivery)  # type: ignore[arg-type]

    def received(self, count: int) -> list[BodyIdentity]:
        """Wait for ``count`` deliveries, and return their content."""
        until(lambda: len(self.got) >= count)
        return [read(delivery.body, RUN) for delivery in self.got]

    def seqs(self, count: int) -> list[int | None]:
        return [reading.seq for reading in self.received(count)]

    def close(self) -> None:
        self.connection.close()


Connect = Callable[..., Peer]
