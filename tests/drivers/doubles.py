"""Test doubles for the tests of clients: a recorder that keeps rows, a scripted broker."""

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any, NamedTuple, Self, cast

from drivers.client.client import Client, MakesPythonClients
from drivers.contract import (
    Browsed,
    Connection,
    Delivery,
    OnDelivery,
    OnLost,
    OnSettled,
    Outcome,
    Outgoing,
    Subscription,
)
from drivers.failover.client_connection import ClientConnection
from drivers.failover.uri import FailoverUri, ServerUri
from drivers.jvm.hub import OnEvent
from drivers.stomp.connector import STOMP_OPTIONS
from records.store.writer import Recorder
from records.tables.connection_events import ConnectionEvent
from records.tables.schemas import ReceiptRow, SendRow
from topologies.model.endpoints import Credentials, Endpoint

RUN = 7
BENCH = Credentials("bench", "secret")
NO_OTHERS: Mapping[str, str] = {}


class Settled(NamedTuple):
    """The arguments of ``on_settled``."""

    row: SendRow
    reason: str
    final: bool


class ConnectionRow(NamedTuple):
    client: int
    group: str
    protocol: str
    broker: str | None
    event: str
    at_ns: int
    reason: str
    from_broker: str | None = None
    cause: str | None = None
    ended_ns: int | None = None


class MemberRow(NamedTuple):
    user: int
    connection: int | None
    group: str
    role: str
    user_class: str
    from_ns: int


class KeepingRecorder:
    """A recorder that keeps rows as values."""

    def __init__(self) -> None:
        self.sends: list[SendRow] = []
        self.receipts: list[ReceiptRow] = []
        self.connections: list[ConnectionRow] = []
        self.subscriptions: list[tuple[Any, ...]] = []
        self.members: list[MemberRow] = []

    def send(self, row: SendRow) -> None:
        self.sends.append(row)

    def receipt(self, row: ReceiptRow) -> None:
        self.receipts.append(row)

    def connection(self, client: int, group: str, protocol: str, change: ConnectionEvent) -> None:
        self.connections.append(ConnectionRow(client, group, protocol, *change))

    def subscription(self, *row: Any) -> None:
        self.subscriptions.append(row)

    def member(self, *row: Any) -> None:
        self.members.append(MemberRow(*row))

    def events(self) -> list[tuple[str, str | None]]:
        """Without waits of a second: a suspended machine causes some."""
        return [(row.event, row.broker) for row in self.connections if "blocked" not in row.event]

    def attempts(self, seq: int) -> list[tuple[int, str]]:
        return [(row.attempt, row.outcome) for row in self.sends if row.seq == seq]


@dataclass
class ScriptedConnection:
    """A connection whose every answer is the test's to give."""

    broker: str
    client_id: str
    on_settled: OnSettled
    on_lost: OnLost
    sent: list[Outgoing] = field(default_factory=list)
    sent_ns: list[int] = field(default_factory=list)
    subscriptions: list[tuple[Subscription, OnDelivery]] = field(default_factory=list)
    settled: list[Delivery] = field(default_factory=list)
    closed: bool = False
    on_send: Callable[[Outgoing], None] = lambda _: None
    on_subscribe: Callable[[], None] = lambda: None
    on_close: Callable[[], None] = lambda: None

    def send(self, message: Outgoing) -> int:
        self.sent_ns.append(time.perf_counter_ns())
        self.sent.append(message)
        self.on_send(message)
        return self.sent_ns[-1]

    def subscribe(self, subscription: Subscription, on_delivery: OnDelivery) -> int:
        self.on_subscribe()
        self.subscriptions.append((subscription, on_delivery))
        return time.perf_counter_ns()

    def settle(self, delivery: Delivery) -> None:
        self.settled.append(delivery)

    def close(self) -> None:
        self.on_close()
        self.closed = True

    def ack(self, nth: int = -1, outcome: Outcome = Outcome.ACKED) -> None:
        self.on_settled(self.sent[nth].token, outcome, time.perf_counter_ns(), "")


class BatchingConnection(ScriptedConnection):
    """A connector that accepts several messages at once."""

    batches: list[int]

    def send_batch(self, messages: Sequence[Outgoing]) -> int:
        self.batches = [*getattr(self, "batches", []), len(messages)]
        sent_ns = [self.send(message) for message in messages]
        return sent_ns[0]


class ScriptedConnector(MakesPythonClients):
    """Each connect takes the next step of the script: an exception is raised, anything else prepares the connection."""

    protocol = "stomp"
    supported_options = STOMP_OPTIONS

    def __init__(self, *script: Exception | Callable[[ScriptedConnection], None] | None) -> None:
        self.script = list(script)
        self.kind: type[ScriptedConnection] = ScriptedConnection
        self.connections: list[ScriptedConnection] = []
        self.endpoints: list[Endpoint] = []
        self.connected = threading.Semaphore(0)

    def connect(
        self,
        endpoint: Endpoint,
        credentials: Credentials,
        *,
        client_id: str,
        timeout_s: float,
        on_settled: OnSettled,
        on_lost: OnLost,
    ) -> ScriptedConnection:
        self.endpoints.append(endpoint)
        step = self.script.pop(0) if self.script else None
        if isinstance(step, Exception):
            raise step
        connection = self.kind(endpoint.broker, client_id, on_settled, on_lost)
        if step is not None:
            step(connection)
        self.connections.append(connection)
        self.connected.release()
        return connection

    def browse(self, endpoint: Endpoint, credentials: Credentials, queue: str, *, timeout_s: float) -> list[Browsed]:
        raise NotImplementedError


def client_of(
    connector: Any,
    recorder: KeepingRecorder,
    uri: str,
    *,
    number: int = 1,
    group: str = "producers",
    brokers: Mapping[str, str] = NO_OTHERS,
    **settings: Any,
) -> Client:
    """A client to brokers a, b, c: ports 1, 2, 3 of localhost, or names in memory; and to ``brokers``, by address."""
    hosts = {f"localhost:{port}": name for port, name in enumerate("abc", start=1)}
    return Client(
        number=number,
        group=group,
        uri=FailoverUri.parse(uri),
        brokers={**hosts, **{name: name for name in "abc"}, **brokers},
        connector=connector,
        credentials=BENCH,
        recorder=cast(Recorder, recorder),
        rng=Random(1),
        **settings,
    )


def stomp_uri(brokers: str = "ab", options: str = "randomize=false&initialReconnectDelay=1") -> str:
    ports = {"a": 1, "b": 2, "c": 3}
    return f"failover:({','.join(f'stomp://localhost:{ports[broker]}' for broker in brokers)})?{options}"


def memory_uri(brokers: str = "ab", options: str = "randomize=false&initialReconnectDelay=1") -> str:
    return f"failover:({','.join(f'memory://{broker}' for broker in brokers)})?{options}"


def eventually(condition: Callable[[], object], timeout_s: float = 60.0) -> None:
    """Wait until the condition holds; fail otherwise."""
    ends = time.monotonic() + timeout_s
    while not condition():
        assert time.monotonic() < ends, "it never came true"
        time.sleep(0.001)


class UnconnectedClient:
    """Replaces a reconnector's client, and keeps its rows. Brokers have their URIs as names."""

    name = "client 1"

    def __init__(self, clock: Callable[[], int]) -> None:
        self.clock = clock
        self.rows: list[ConnectionEvent] = []

    def broker_of(self, server: ServerUri) -> str:
        return str(server)

    def connect(self, server: ServerUri, on_lost: OnLost) -> Connection:
        raise NotImplementedError

    def record(self, event: ConnectionEvent) -> None:
        self.rows.append(event)

    def restore(self, connection: ClientConnection) -> None: ...
    def dropped(self, connection: ClientConnection) -> None: ...
    def on_give_up(self) -> None: ...


class HubDouble:
    """Replaces the hub and the objects that the JVM makes: events passed to ``tell`` reach its listener."""

    java = None

    def __init__(self) -> None:
        self.tell: OnEvent

    def listen(self, on_event: OnEvent) -> int:
        self.tell = on_event
        return 1

    def make(self, _name: str, *_what: object) -> Self:
        return self

    def forget(self, number: int) -> None: ...


class Control:
    """Continue until stopped."""

    def __init__(self) -> None:
        self.producing = True
        self._stopped = threading.Event()

    def stop(self) -> None:
        self.producing = False
        self._stopped.set()

    def wait_unless_stopped(self, timeout_s: float) -> bool:
        return self._stopped.wait(timeout_s)
