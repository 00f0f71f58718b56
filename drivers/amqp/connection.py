"""One AMQP 1.0 connection: logs in, sends, subscribes, settles and closes, and reports received events.

proton's objects are used only with the wire's lock held, and none leaves these files: callbacks get numbers instead.
"""

import itertools
import ssl
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import ClassVar

from proton import Event, Session

from drivers.amqp import engine
from drivers.amqp.addresses import REDIRECT, AmqpAddress, address_of, successors
from drivers.amqp.engine import Transfer
from drivers.amqp.links import TEMPORARY_QUEUE, Attachments, PeerReply, words
from drivers.amqp.messages import Incoming
from drivers.amqp.receiving import Receiving
from drivers.amqp.sending import Sending
from drivers.amqp.transactions import AmqpTransaction, AmqpTransactions
from drivers.amqp.wire import AmqpWire, Call
from drivers.broker_errors import ended_before_answer, hops, login_rejected, unreachable_broker
from drivers.contract import (
    ConnectFailed,
    Delivery,
    Destination,
    DriverError,
    OnDelivery,
    OnLost,
    OnSettled,
    Outgoing,
    Redirected,
    Subscription,
)
from drivers.tls import handshake_error
from topologies.model.endpoints import Credentials

CLOSE_TIMEOUT_S = 5.0
NOT_WELCOME = "amqp:connection-establishment-failed"  # in an Open that a Close with the reason follows


class AmqpConnection:
    """One open connection; see `drivers.contract.Connection`. Made by `drivers.amqp.connector.AmqpConnector`."""

    def __init__(self, broker: str, address: AmqpAddress, timeout_s: float, on_settled: OnSettled, on_lost: OnLost):
        self.broker = broker
        self._address, self._timeout_s = address, timeout_s
        self._on_lost = on_lost
        self._wire = AmqpWire(address, self._on_event, self._on_gone)
        self._session: Session = self._wire.connection.session()
        numbers = itertools.count(1)
        self._attachments = Attachments(self._wire, f"broker {broker} at {address}", timeout_s)
        self._sending = Sending(broker, self._wire, self._session, self._attachments, numbers, on_settled)
        self._receiving = Receiving(broker, self._wire, self._session, self._attachments, numbers)
        self._sending.temporaries = self._receiving.temporaries
        self._transactions = AmqpTransactions(broker, self._sending, self._attachments, on_settled)
        self._welcome, self._farewell = PeerReply(), threading.Event()
        self._open = self._gone = False
        self._redirected_to = ""
        self._successors: tuple[str, ...] = ()

    def __repr__(self) -> str:
        state = "gone" if self._gone else "open" if self._open else "opening"
        return f"<AmqpConnection {self.broker} {self._address} {state}>"

    # -- opening and closing

    def open(self, credentials: Credentials, client_id: str, context: ssl.SSLContext | None) -> None:
        """Connect and log in, within the timeout. Raises `ConnectFailed` or `Refused`, and then leaves nothing open."""
        deadline_s = time.monotonic() + self._timeout_s
        try:
            self._say_hello(credentials, client_id)
            self._wire.open(self._timeout_s, context)
            self._await_welcome(credentials.username, deadline_s)
        except OSError as error:
            self._wire.finish()
            raise self._unreachable(error) from error
        except BaseException:
            self._wire.finish()
            raise

    def _say_hello(self, credentials: Credentials, client_id: str) -> None:
        transport, connection = self._wire.transport, self._wire.connection
        transport.idle_timeout = self._address.idle_timeout_ms / 1_000
        sasl = transport.sasl()
        # A password is sent only if the broker asks for it; a router does not ask.
        sasl.allowed_mechs("PLAIN ANONYMOUS" if credentials.username else "ANONYMOUS")
        sasl.allow_insecure_mechs = True  # TLS is below the engine, which does not see it
        connection.user, connection.password = credentials.username, credentials.password
        connection.hostname, connection.container = self._address.host, client_id
        connection.open()
        self._session.open()

    def _await_welcome(self, username: str, deadline_s: float) -> None:
        if not self._welcome.came.wait(max(0.0, deadline_s - time.monotonic())):
            raise self._failed(f"did not answer within {self._timeout_s:g} s")
        if self._redirected_to:
            words_of_redirect = (
                f"broker {self.broker} at {self._address} redirects its clients to {self._redirected_to}"
            )
            raise Redirected(words_of_redirect, self._redirected_to)
        if self._welcome.refusal:
            raise self._turned_away(username, self._welcome.refusal)
        with self._wire.lock:  # from here on ``on_lost`` reports a loss; an earlier loss makes opening fail
            self._open = not self._gone
        if not self._open or not self._welcome.at_ns:
            where, wire = f"{self.broker} at {self._address}", self._wire
            raise ended_before_answer(where, wire.reason, self._port_meant(), wire.hung_up)

    def _failed(self, problem: str) -> ConnectFailed:
        return unreachable_broker(f"{self.broker} at {self._address}", problem, self._port_meant())

    def _port_meant(self) -> str:
        return "AMQP port for TLS" if self._address.tls else "AMQP port"

    def _unreachable(self, error: OSError) -> DriverError:
        if isinstance(error, ssl.SSLError):
            return handshake_error(f"broker {self.broker} at {self._address}", error)
        return self._failed(f"could not be reached: {error}")

    def _turned_away(self, username: str, refusal: str) -> DriverError:
        return login_rejected(f"{self.broker} at {self._address}", username, refusal)

    def close(self) -> None:
        """Close politely, within a limited time, even on a frozen broker. A callback closes without waiting."""
        with self._wire.lock:
            was_open, self._open = self._open, False
        if was_open and not self._wire.in_reader():
            deadline_s = time.monotonic() + CLOSE_TIMEOUT_S
            self._sending.await_settled(deadline_s)  # they would be lost with the connection
            with self._wire.lock:
                self._wire.connection.close()
                self._wire.flush()
            self._farewell.wait(max(0.0, deadline_s - time.monotonic()))
        self._wire.finish()

    # -- what a client does

    def send(self, message: Outgoing) -> int:
        """See the contract; waits while the broker gives no credit. Raises `Refused` for the destination."""
        return self._sending.send_batch((message,))

    def send_batch(self, messages: Sequence[Outgoing]) -> int:
        return self._sending.send_batch(messages)

    def begin(self) -> AmqpTransaction:
        return self._transactions.begin()

    def subscribe(self, subscription: Subscription, on_delivery: OnDelivery) -> int:
        def on_message(message: Incoming, received_ns: int, number: int) -> None:
            reply_to = Destination(TEMPORARY_QUEUE, message.reply_to) if message.reply_to else None
            told = message.body, received_ns, message.redelivered, hops(message.path), number
            on_delivery(Delivery(*told, reply_to, message.correlation_id))

        return self._receiving.subscribe(subscription, on_message)

    @property
    def credit_ns(self) -> int:
        return self._sending.credit_ns

    @property
    def successors(self) -> tuple[str, ...]:
        return self._successors

    @property
    def redirected_to(self) -> str:
        return self._redirected_to

    @property
    def receiving(self) -> Receiving:
        """For browsing."""
        return self._receiving

    def settle(self, delivery: Delivery) -> None:
        number = delivery.ack_token
        assert isinstance(number, int)
        self._receiving.settle(number)

    # -- events from the broker: handled by the reader, with the wire's lock held. The returned calls are made unlocked.

    def _on_event(self, event: Event | Transfer) -> Call | None:
        if not isinstance(event, Event):
            return self._on_transfer(event)
        handle = self._HANDLERS.get(event.type)
        return handle(self, event) if handle else None

    def _on_transfer(self, transfer: Transfer) -> Call | None:
        if not engine.is_outgoing(transfer):
            return self._receiving.on_transfer(transfer)
        return self._sending.on_disposition(transfer) if engine.is_answered(transfer) else None

    def _on_flow(self, event: Event) -> Call | None:
        if not event.link.is_sender:
            return self._receiving.on_flow(event.link)
        self._sending.on_credit()
        return None

    def _on_granted(self, event: Event) -> None:
        self._attachments.on_granted(event.link)

    def _on_link_ended(self, event: Event) -> None:
        self._attachments.on_ended(event.link)

    def _on_session_ended(self, event: Event) -> None:
        self._wire.lose(f"the broker ended the session: {words(event.session.remote_condition)}")

    def _on_open(self, event: Event) -> None:
        properties = event.connection.remote_properties or {}
        prefixes = {str(name): str(value) for name, value in properties.items() if str(name).endswith("-prefix")}
        self._sending.prefixes = self._receiving.prefixes = prefixes
        self._successors = successors(properties, self._address.port)
        if NOT_WELCOME not in properties:
            self._welcome.give(time.perf_counter_ns())

    def _on_close(self, event: Event) -> None:
        condition = event.connection.remote_condition
        reason = words(condition)
        if condition is not None and condition.name == REDIRECT:
            self._redirected_to = address_of(condition.info, self._address.port)
        if not self._welcome.came.is_set():
            self._welcome.give(0, reason)
        elif self._open:
            self._wire.lose(f"the broker closed the connection: {reason}")
        event.connection.close()
        self._farewell.set()

    def _on_transport_error(self, event: Event) -> None:
        condition = event.transport.condition
        if condition is not None and condition.name == "amqp:unauthorized-access":
            self._welcome.give(0, "user name or password is invalid")
        elif condition is not None and "idle-timeout" in str(condition.description):
            self._wire.lose(f"no sign of life from the broker for {self._address.idle_timeout_ms / 1_000:g} s")
        else:
            self._wire.lose(words(condition).partition(" got: ")[0])  # not the bytes of an unknown protocol

    def _on_gone(self, reason: str) -> None:
        with self._wire.lock:
            if self._gone:
                return
            was_open, self._open, self._gone = self._open, False, True
            for part in (self._attachments, self._sending, self._receiving, self._transactions):
                part.on_gone()
        self._farewell.set()
        self._welcome.came.set()
        if was_open:
            self._on_lost(reason)

    _HANDLERS: ClassVar[Mapping[object, Callable[["AmqpConnection", Event], Call | None]]] = {
        Event.LINK_FLOW: _on_flow,
        Event.LINK_REMOTE_OPEN: _on_granted,
        Event.LINK_REMOTE_CLOSE: _on_link_ended,
        Event.LINK_REMOTE_DETACH: _on_link_ended,
        Event.SESSION_REMOTE_CLOSE: _on_session_ended,
        Event.CONNECTION_REMOTE_OPEN: _on_open,
        Event.CONNECTION_REMOTE_CLOSE: _on_close,
        Event.TRANSPORT_ERROR: _on_transport_error,
    }
