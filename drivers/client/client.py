"""Keeps one client of a load connected: follows its failover URI, and restores everything after a loss.

A client has at most one connection at a time, to a broker in its URI (`reconnector` keeps it). After a failover its
consumers are subscribed again, its in-doubt durable sends are sent again, and only then are new sends let through.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from random import Random
from typing import Protocol, Unpack
from uuid import uuid4

from drivers.client.consumer import Consumer
from drivers.client.contract import (
    NO_STATISTICS,
    ClientSettings,
    LoadStatistics,
    OnOutcome,
    OnReceipt,
    ProducerSettings,
)
from drivers.client.producer import BrokerAnswer, Producer, SendAttempt
from drivers.client.request_reply import ReplyProducer, RequestProducer, replies_of
from drivers.client.transacted_producer import TransactedProducer
from drivers.client.work import Work
from drivers.contract import (
    Connection,
    Connector,
    Destination,
    DriverError,
    OnLost,
    Outcome,
    Refused,
    Subscription,
    Untrusted,
)
from drivers.failover.client_connection import ClientConnection
from drivers.failover.reconnector import Reconnector
from drivers.failover.supported_options import SupportedOptions
from drivers.failover.updated_uris import UpdatedUris
from drivers.failover.uri import FailoverUri, ServerUri
from records.store.writer import Recorder
from records.tables.connection_events import ConnectionEvent
from records.units import MS_PER_S
from topologies.model.endpoints import Credentials, Endpoint


class ReconnectingConnector(Connector, Protocol):
    """A connector whose clients are reconnected by `Client`."""

    supported_options: SupportedOptions


class Client:
    """One client of a group, created unconnected.

    ``number`` is its number in the run (records.tables.schemas); ``brokers`` names the broker behind each
    ``host:port``. Only durable subscriptions need a ``client_id``. Without it each connection has another id, so a
    broker that has not noticed a loss yet does not reject the next connection. Raises DriverError for a URI with
    unknown brokers or with options that the protocol cannot honor.
    """

    def __init__(
        self,
        *,
        number: int,
        group: str,
        uri: FailoverUri,
        brokers: Mapping[str, str],
        connector: ReconnectingConnector,
        credentials: Credentials,
        recorder: Recorder,
        rng: Random,
        clock: Callable[[], int] = time.perf_counter_ns,
        client_id: str = "",
        tag: str = "",
        statistics: LoadStatistics = NO_STATISTICS,
        connect_timeout_s: float = 10.0,
        close_timeout_s: float = 5.0,
    ) -> None:
        connector.supported_options.refuse_unusable(uri, brokers)
        self.number = number
        self.group = group
        self.recorder = recorder
        self.clock = clock
        self._statistics = statistics
        self.name = f"{group} client {number}"
        self._uri = uri
        self._brokers = brokers
        self._connector = connector
        self._credentials = credentials
        self._client_id = client_id
        self._unique = f"{tag}{group}-{number}-{uuid4().hex[:8]}"
        self._connections = 0
        self._connect_timeout_s, self._close_timeout_s = connect_timeout_s, close_timeout_s
        self._producers: list[Producer] = []
        self._consumers: list[Consumer] = []
        self._updated_uris = UpdatedUris(self.name, uri, brokers)
        self._reconnector = Reconnector(self, self._updated_uris, rng, close_timeout_s)

    def __repr__(self) -> str:
        state = f"on {self.broker}" if self.broker else self._reconnector.over or "disconnected"
        return f"Client({self.group} {self.number}, {state})"

    @property
    def _send_timeout_s(self) -> float | None:
        """How long a send waits for a connection; None: forever."""
        timeout_ms = self._uri.options.timeout_ms
        return timeout_ms / MS_PER_S if timeout_ms > 0 else None

    @property
    def broker(self) -> str | None:
        """The name of the broker that it is connected to."""
        return self._reconnector.broker

    def open(self) -> None:
        """Connect as the URI says; blocks until connected. Raises DriverError: refused, or the schedule exhausted."""
        self._reconnector.start()
        self._reconnector.usable()

    def producer(
        self,
        destination: Destination,
        settings: ProducerSettings,
        *,
        number: int | None = None,
        run: int,
        more_destinations: Sequence[Destination] = (),
        on_settled: OnOutcome | None = None,
    ) -> Producer:
        """Return a producer of this number; give each seq once. ``run`` is the number stamped into the bodies.

        ``number``: by default the client's own number; different if several producers share the connection. Requests
        ask for replies to the temporary queue of this connection that a `consumer` receives from.
        ``more_destinations``: it sends to ``destination`` and these alternately. ``on_settled`` is called for each
        attempt; by default it updates the client's statistics.
        """
        kind = Producer
        if settings.transaction_size:
            kind = TransactedProducer
        elif settings.requests:
            kind = RequestProducer
        producer = kind(
            self,
            destination,
            settings,
            number=self.number if number is None else number,
            run=run,
            timeout_s=self._send_timeout_s,
            more_destinations=more_destinations,
            on_settled=on_settled or self._statistics.settled,
            statistics=self._statistics,
        )
        self._producers.append(producer)
        return producer

    def consumer(
        self,
        subscription: Subscription,
        *,
        number: int | None = None,
        run: int,
        work: Work | None = None,
        work_rng: Random | None = None,
        on_receipt: OnReceipt | None = None,
    ) -> Consumer:
        """Subscribe, now and after every failover; returns once the broker has confirmed. Raises DriverError.

        ``work``: the consumer's time per message, drawn with ``work_rng``. If the subscription replies, a producer with
        the consumer's number answers every request.

        ``on_receipt`` is called for each delivery; by default it updates the client's statistics.
        """
        on_receipt = on_receipt or self._statistics.received
        number = self.number if number is None else number
        if subscription.durable_name and not self._client_id:
            raise DriverError(
                f"client {number} requests the durable subscription {subscription.durable_name!r} without a "
                "client id: give Client a client_id that stays the same"
            )
        reply = self._replies(subscription, number, run).reply if subscription.replies else None
        consumer = Consumer(
            subscription,
            number=number,
            run=run,
            recorder=self.recorder,
            clock=self.clock,
            on_receipt=on_receipt,
            work=work,
            rng=work_rng,
            reply=reply,
        )
        self._consumers.append(consumer)
        while True:
            connection = self.usable()
            try:
                consumer.attach(connection)
                return consumer
            except ConnectionError as error:
                self.broken(connection, str(error))
            except Refused as error:
                self._consumers.remove(consumer)
                consumer.close()
                raise self._refusal(connection.broker, error) from error

    def _replies(self, subscription: Subscription, number: int, run: int) -> ReplyProducer:
        producer = ReplyProducer(
            self,
            replies_of(subscription.destination),
            ProducerSettings(),
            number=number,
            run=run,
            timeout_s=self._send_timeout_s,
            on_settled=self._statistics.settled,
            statistics=self._statistics,
        )
        self._producers.append(producer)
        return producer

    def close(self) -> None:
        """Close: waits a limited time for the broker to confirm it.

        Sends without an answer by then are in doubt. Idempotent.
        """
        deadline_s = time.monotonic() + self._close_timeout_s
        for consumer in self._consumers:
            consumer.finish_work(0)  # signal all of them first, so that they finish at the same time
        for consumer in self._consumers:
            consumer.finish_work(max(0.0, deadline_s - time.monotonic()))
        self._reconnector.close(self._close_users)

    # For producers (drivers.client.producer.ClientAccess).

    def usable(self, timeout_s: float | None = None) -> ClientConnection:
        """Return the connection to use now; wait until there is one. Raises DriverError: timed out, given up or
        closed."""
        return self._reconnector.usable(timeout_s)

    def broken(self, connection: ClientConnection, reason: str) -> None:
        """Handle the loss of a connection. Only the first call for a connection counts."""
        self._reconnector.broken(connection, reason)

    def blocked(self, broker: str, began_ns: int, ended_ns: int, reason: str) -> None:
        """Record two events with the same reason, which links them."""
        self.record(ConnectionEvent(broker, "blocked", began_ns, reason))
        self.record(ConnectionEvent(broker, "unblocked", ended_ns, reason))

    # For the reconnector (drivers.failover.reconnector.ReconnectedClient).

    def broker_of(self, server: ServerUri) -> str:
        return self._brokers[server.address]

    def connect(self, server: ServerUri, on_lost: OnLost) -> Connection:
        broker = self.broker_of(server)
        self._connections += 1
        try:
            connection = self._connector.connect(
                Endpoint(broker, self._connector.protocol, str(self._uri.effective(server))),
                self._credentials,
                client_id=self._client_id or f"{self._unique}-{self._connections}",
                timeout_s=self._connect_timeout_s,
                on_settled=_settle,
                on_lost=on_lost,
            )
        except Untrusted:
            raise  # the refusal is ours
        except Refused as error:
            raise self._refusal(broker, error) from error
        self._updated_uris.learn_from(connection)
        return connection

    def restore(self, connection: ClientConnection) -> None:
        for consumer in list(self._consumers):
            consumer.attach(connection)
        for producer in list(self._producers):
            producer.send_again(connection)

    def dropped(self, connection: ClientConnection) -> None:
        for producer in list(self._producers):
            producer.connection_lost(connection)

    def on_give_up(self) -> None:
        for producer in list(self._producers):
            producer.give_up()

    def record(self, event: ConnectionEvent) -> None:
        self.recorder.connection(self.number, self.group, self._connector.protocol, event)
        self._statistics.connection_changed(self.number, event.event, event.at_ns)

    def _close_users(self) -> int:
        in_doubt = sum(producer.close() for producer in list(self._producers))
        for consumer in list(self._consumers):
            consumer.close()
        return in_doubt

    def _refusal(self, broker: str, error: Refused) -> Refused:
        return Refused(f"{self.name}: broker {broker} refused user {self._credentials.username!r}: {error}")


def _settle(token: object, outcome: Outcome, settled_ns: int, reason: str) -> None:
    if isinstance(token, SendAttempt):
        token.producer.answered(token, BrokerAnswer(outcome, settled_ns, reason))


class MakesPythonClients:
    """Makes clients: part of a `drivers.client.contract.ClientConnector`."""

    def client(self: ReconnectingConnector, **settings: Unpack[ClientSettings]) -> Client:
        """See `drivers.client.contract.ClientConnector`."""
        return Client(connector=self, **settings)
