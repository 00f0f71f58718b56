"""How does a user of the network stay connected? A client follows its failover URI, and puts everything back on a loss.

A client has at most one connection at a time, to one of its URI's brokers (drivers.follower keeps it). After a failover
its consumers are subscribed again, its durable sends in doubt are sent again, and only then do new sends go through.
"""

import time
from collections.abc import Callable, Mapping
from functools import partial
from random import Random
from uuid import uuid4

from drivers.consumer import Consumer, Received
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
from drivers.failover import FailoverUri, ServerUri
from drivers.follower import MS_PER_S, Duties, Follower
from drivers.honoured import refuse_unusable
from drivers.link import Link
from drivers.producer import Producer
from drivers.referrals import Referrals
from drivers.sends import Answer, SendAttempt, Settled
from drivers.transacted import TransactedProducer
from records.writer import Recorder
from topologies.endpoints import Credentials, Endpoint


class Client:
    """One client of a group, made unconnected.

    ``number`` is its number in the run (records.schemas); ``brokers`` names the broker behind each ``host:port``. A
    ``client_id`` is needed for durable subscriptions alone; without, each connection has one of its own, so that a
    broker which has not noticed a loss yet does not refuse the next connection. Raises DriverError for a URI of unknown
    brokers or of options that the protocol cannot honour.
    """

    def __init__(
        self,
        *,
        number: int,
        group: str,
        uri: FailoverUri,
        brokers: Mapping[str, str],
        connector: Connector,
        credentials: Credentials,
        recorder: Recorder,
        rng: Random,
        clock: Callable[[], int] = time.perf_counter_ns,
        client_id: str = "",
        connect_timeout_s: float = 10.0,
        close_timeout_s: float = 5.0,
    ) -> None:
        refuse_unusable(uri, brokers, connector.protocol)
        self.number = number
        self.group = group
        self.recorder = recorder
        self.clock = clock
        self._name = f"{group} client {number}"
        self._uri = uri
        self._brokers = brokers
        self._connector = connector
        self._credentials = credentials
        self._client_id = client_id
        self._unique = f"{group}-{number}-{uuid4().hex[:8]}"
        self._connections = 0
        self._connect_timeout_s = connect_timeout_s
        self._producers: list[Producer] = []
        self._consumers: list[Consumer] = []
        self._referrals = Referrals(self._name, uri, brokers)
        duties = Duties(
            connect=self._connect,
            restore=self._restore,
            dropped=self._dropped,
            gave_up=self._gave_up,
            record=self._record,
            refresh=self._referrals.refresh,
            server_of=self._referrals.server,
        )
        self._follower = Follower(self._name, uri, self._broker_of, duties, rng, clock, close_timeout_s)

    def __repr__(self) -> str:
        return f"Client({self.group} {self.number}, {self._state()})"

    @property
    def broker(self) -> str | None:
        """The name of the broker it is connected to."""
        return self._follower.broker

    def open(self) -> None:
        """Connect as the URI says; blocks until connected. Raises DriverError: refused, or the schedule exhausted."""
        self._follower.start()
        self._follower.usable()

    def producer(
        self,
        destination: Destination,
        *,
        number: int | None = None,
        durable: bool,
        run: int,
        resend_in_doubt: bool = True,
        transaction_size: int = 0,
        on_settled: Callable[[Settled], None],
    ) -> Producer:
        """A producer of this number: give each seq once. ``run`` is the number stamped into the bodies.

        ``number``: this client's own, unless it is one of several producers that share the connection.
        ``transaction_size``: messages of a transaction; 0: each goes by itself.
        """
        timeout_ms = self._uri.options.timeout_ms
        transacted = partial(TransactedProducer, size=transaction_size)
        producer = (transacted if transaction_size else Producer)(
            self,
            destination,
            number=self.number if number is None else number,
            durable=durable,
            run=run,
            timeout_s=timeout_ms / MS_PER_S if timeout_ms > 0 else None,
            resend_in_doubt=resend_in_doubt,
            on_settled=on_settled,
        )
        self._producers.append(producer)
        return producer

    def consumer(
        self,
        subscription: Subscription,
        *,
        number: int | None = None,
        run: int,
        on_receipt: Callable[[Received], None],
    ) -> Consumer:
        """Subscribe, now and after every failover; returns once the broker has confirmed. Raises DriverError."""
        number = self.number if number is None else number
        if subscription.durable_name and not self._client_id:
            raise DriverError(
                f"client {number} asks for the durable subscription {subscription.durable_name!r} without a "
                "client id: give Client a client_id that stays the same"
            )
        consumer = Consumer(self, subscription, number=number, run=run, on_receipt=on_receipt)
        self._consumers.append(consumer)
        while True:
            link = self.usable()
            try:
                consumer.attach(link)
                return consumer
            except ConnectionError as error:
                self.broken(link, str(error))
            except Refused as error:
                self._consumers.remove(consumer)
                raise self._refusal(link.broker, error) from error

    def close(self) -> None:
        """Leave: waits a bounded time for the broker's goodbye; what is unanswered then is in doubt. Idempotent."""
        self._follower.close(self._close_users)

    # For producers and consumers (drivers.link.Access).

    def usable(self, timeout_s: float | None = None) -> Link:
        """The link to use now; waits while there is none. Raises DriverError: timed out, given up or closed."""
        return self._follower.usable(timeout_s)

    def broken(self, link: Link, reason: str) -> None:
        """The connection of ``link`` is gone. Only the first call for a link counts."""
        self._follower.broken(link, reason)

    def blocked(self, broker: str, began_ns: int, ended_ns: int, reason: str) -> None:
        """Two events, with the same reason: they belong together."""
        self._record("blocked", broker, began_ns, reason)
        self._record("unblocked", broker, ended_ns, reason)

    # For the follower (drivers.follower.Duties).

    def _connect(self, server: ServerUri, on_lost: OnLost) -> Connection:
        broker = self._broker_of(server)
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
            raise  # it is us who say no
        except Refused as error:
            raise self._refusal(broker, error) from error
        self._referrals.hear(connection)
        return connection

    def _restore(self, link: Link) -> None:
        for consumer in list(self._consumers):
            consumer.attach(link)
        for producer in list(self._producers):
            producer.send_again(link)

    def _dropped(self, link: Link) -> None:
        for producer in list(self._producers):
            producer.link_lost(link)

    def _gave_up(self) -> None:
        for producer in list(self._producers):
            producer.give_up()

    def _record(self, event: str, broker: str, at_ns: int, reason: str) -> None:
        self.recorder.connection(self.number, self.group, self._connector.protocol, broker, event, at_ns, reason)

    def _close_users(self) -> int:
        in_doubt = sum(producer.close() for producer in list(self._producers))
        for consumer in list(self._consumers):
            consumer.close()
        return in_doubt

    def _broker_of(self, server: ServerUri) -> str:
        return self._brokers[server.address]

    def _refusal(self, broker: str, error: Refused) -> Refused:
        return Refused(f"{self._name}: broker {broker} refused user {self._credentials.username!r}: {error}")

    def _state(self) -> str:
        return f"on {self.broker}" if self.broker else self._follower.over or "disconnected"


def _settle(token: object, outcome: Outcome, settled_ns: int, reason: str) -> None:
    if isinstance(token, SendAttempt):
        token.producer.answered(token, Answer(outcome, settled_ns, reason))
