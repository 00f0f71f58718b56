"""The contract of a driver: the whole interface between a protocol and the rest, on one page.

A driver has two parts:

- a *connector* (`Connector`): opens one connection to one broker, without retries;
- the *client* above it (`drivers.client`): follows the failover URI, resubscribes, resends messages in doubt.

The libraries of OpenWire and Core have their own failover. Their connectors open no connections, but make their own
clients. The contract of both kinds of client is `drivers.client.contract`.

Everything here is called from gevent greenlets: a call may block its greenlet, never the process or another connection.
Callbacks (`on_settled`, `on_delivery`, `on_lost`) come from the connection's reader greenlet, one at a time. They must
be short: a callback that waits holds up the reader of that connection.

Due times are not the driver's task. `drivers.client.producer` keeps each message's due time next to the ``sent_ns``
from the driver, so a late send is measured as late. The first 32 bytes of a body identify the message.

Outcomes state only known facts:

- ``acked``: the broker confirmed the send; in a transaction, its commit;
- ``failed``: the broker refused it, its transaction was aborted, or it was never written: no connection in time;
- ``in_doubt``: the connection broke before the answer; a client that stays resends with the next attempt number;
- ``unconfirmed``: a non-durable send: it has no answer and is never resent. Only sent and received are claimed.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import NamedTuple, Protocol, runtime_checkable

from records.loads.message_properties import Value
from topologies.model.endpoints import Credentials, Endpoint


class Outcome(StrEnum):
    ACKED = "acked"
    FAILED = "failed"
    IN_DOUBT = "in_doubt"
    UNCONFIRMED = "unconfirmed"


class DriverError(Exception):
    """A connection, a send or a subscription failed. The message names the broker, the cause and the next step."""


class ConnectFailed(DriverError):
    """The broker could not be reached or did not answer in time: the next URI may do better."""


class TurnedAway(ConnectFailed):
    """The broker refused for now: it is full, about to stop, or the client id is still in use."""


class Redirected(ConnectFailed):
    """The broker redirects its clients to another broker. ``address``: that broker's ``host:port``."""

    def __init__(self, message: str, address: str) -> None:
        super().__init__(message)
        self.address = address


class Refused(DriverError):
    """The broker refused for good (credentials, destination, frame size): trying again will not help."""


class Untrusted(Refused):
    """The broker presents a certificate that is not trusted."""


@dataclass(frozen=True)
class Destination:
    """``queue://orders`` or ``topic://prices``; in `Delivery.reply_to` the kind is the protocol's own."""

    kind: str  # queue | topic
    name: str

    @classmethod
    def parse(cls, text: str) -> "Destination":
        """Parse ``queue://NAME`` or ``topic://NAME``; ValueError names the problem."""
        kind, separator, name = text.partition("://")
        if not separator or kind not in ("queue", "topic") or not name:
            raise ValueError(f"destination {text!r}: write queue://NAME or topic://NAME")
        if any(letter < " " or letter == "\x7f" or "\ud800" <= letter <= "\udfff" for letter in name):
            raise ValueError(
                f"destination {text!r}: no broker accepts control characters and lone surrogates in a name"
            )
        return cls(kind, name)

    def __str__(self) -> str:
        return f"{self.kind}://{self.name}"


DEFAULT_PRIORITY = 4  # of JMS


@dataclass(frozen=True, eq=False)
class MessageHeaders:
    """The content of a message other than its body. Many messages share one instance, so it is compared by identity.

    ``time_to_live_ms``: counted from the send by the sender's clock; 0: it never expires. ``priority``: 0 to 9.
    ``reply_to``: the name of a temporary queue of the same connection; empty: no reply is requested.
    """

    properties: Mapping[str, Value] = field(default_factory=dict)
    time_to_live_ms: int = 0
    priority: int = DEFAULT_PRIORITY
    reply_to: str = ""
    correlation_id: str = ""


PLAIN = MessageHeaders()


class Outgoing(NamedTuple):
    """One attempt to send one message. ``token`` is passed back to ``on_settled``.

    A named tuple, like `Delivery`: every message creates one, and a named tuple is three times faster to create.
    """

    destination: Destination
    body: bytes
    durable: bool
    token: object
    headers: MessageHeaders = PLAIN


@dataclass(frozen=True)
class Subscription:
    """The parameters of a subscription.

    Subscribers share a queue. Each subscriber of a topic gets all its messages. ``durable_name`` makes a topic
    subscription durable under that name; it needs a client id that stays the same. ``temporary``: the queue is a
    temporary queue of this connection, for replies. ``replies``: deliveries say where their replies go.
    """

    destination: Destination
    prefetch: int = 100  # messages the broker may send ahead of the acknowledgments
    selector: str = ""
    durable_name: str = ""
    temporary: bool = False
    replies: bool = False


class Delivery(NamedTuple):
    """One message as it arrived. ``ack_token`` is the protocol's own; pass the delivery back to `settle`.

    ``body``: the bytes as they were sent, by any protocol. ``received_ns`` is read before the message is parsed; a Java
    library has parsed it by then. ``redelivered``: the broker's flag. ``reply_to``, ``correlation_id``: only for a
    subscription that replies.
    """

    body: bytes
    received_ns: int
    redelivered: bool
    hops: int | None  # brokers crossed, where the broker stamps its path
    ack_token: object
    reply_to: Destination | None = None
    correlation_id: str = ""


OnSettled = Callable[[object, Outcome, int, str], None]
"""(token, ACKED or FAILED, settled_ns, reason). Never called for UNCONFIRMED or after `on_lost`."""
OnDelivery = Callable[[Delivery], None]
OnLost = Callable[[str], None]
"""(reason): called once if the connection is lost without a call of `close`."""


@dataclass(frozen=True)
class Browsed:
    """A message found on a queue; ``age_ns`` is None if the broker does not report when it was sent.

    ``expired``: the broker reports that it is there because its time to live was over.
    """

    body: bytes
    age_ns: int | None
    expired: bool = False


EXPIRED_CAUSE = "Message Expired"
"""Text in the property ``dlqDeliveryFailureCause`` of Classic's dead letters. Artemis has a queue for expired
messages."""


class Connection(Protocol):
    """One open, authenticated connection to one broker."""

    broker: str

    def send(self, message: Outgoing) -> int:
        """Write the message; return ``sent_ns``, read just before the write. Does not wait for the answer.

        It does wait while the broker accepts no more data. A durable message asks for the broker's confirmation and
        ends in ``on_settled``; any other is ``unconfirmed``. Raises ConnectionError if the connection is gone, and
        `Refused` for the destination.
        """

    def subscribe(self, subscription: Subscription, on_delivery: OnDelivery) -> int:
        """Subscribe with individual acknowledgment; return when (ns) the broker confirmed it. Raises `Refused`."""

    def settle(self, delivery: Delivery) -> None:
        """Acknowledge one delivery. On a lost connection it does nothing: the broker will redeliver."""

    def close(self) -> None:
        """Close politely (the broker has processed everything sent before), and never call `on_lost`. Idempotent.

        Waits for outstanding answers to sends, commits and aborts, then for the broker's goodbye: at most 5 s for both,
        even if the broker is frozen.
        """


@runtime_checkable
class SendsBatches(Protocol):
    """An optional part of a connection: it writes several messages at once, if they are ready together."""

    def send_batch(self, messages: Sequence[Outgoing]) -> int:
        """Send all messages, each like `Connection.send`.

        Return the time (ns) just before the write; it applies to all of them.

        Raises ConnectionError if the connection is gone: then none, some or all of them were written.
        """


@runtime_checkable
class GivesCredit(Protocol):
    """An optional part of a connection: the broker grants credit, and a send may have to wait for it."""

    @property
    def credit_ns(self) -> int:
        """When the last send that waited for credit got it; 0 if none did.

        The ``sent_ns`` of that send is not earlier.
        """


@runtime_checkable
class Transacts(Protocol):
    """An optional part of a connection: transactions. The clients of a Java library have their own."""

    def begin(self) -> "Transaction":
        """Begin a transaction. Several may be open at a time.

        Raises ConnectionError, and `Refused` if the broker grants no transaction.
        """


@runtime_checkable
class RedirectSupport(Protocol):
    """An optional part of a connection: other brokers that its broker named, each as ``host:port``."""

    @property
    def successors(self) -> tuple[str, ...]:
        """The brokers to try when this broker is gone, first choice first."""

    @property
    def redirected_to(self) -> str:
        """The broker to which this one redirected the client when it ended the connection; otherwise empty."""


class Transaction(Protocol):
    """Messages that arrive all together or not at all.

    It ends once: by `commit`, by `abort`, or with its connection, when the broker forgets it unless a commit was in
    progress. Until then none of its messages is delivered, and none is settled unless the broker rejects it. Not for
    use in callbacks: they would wait for themselves.
    """

    def send_batch(self, messages: Sequence[Outgoing]) -> int:
        """Write messages as part of the transaction; return the time (ns) just before. Durable or not, each is settled
        at its end.

        Raises ConnectionError if the connection is gone, and `Refused` for the destination.
        """

    def commit(self) -> None:
        """Commit, and wait: every message has ended in ``on_settled`` before this returns.

        They are ACKED if the broker confirms the commit, FAILED if it rejects it. Raises ConnectionError if the
        connection was lost before the answer: then the result is not known, and they are in doubt together.
        """

    def abort(self) -> None:
        """Abort, and wait: every message has ended as FAILED before this returns. Raises ConnectionError."""


class Connector(Protocol):
    """Opens connections of one protocol."""

    protocol: str

    def connect(
        self,
        endpoint: Endpoint,
        credentials: Credentials,
        *,
        client_id: str,
        timeout_s: float,
        on_settled: OnSettled,
        on_lost: OnLost,
    ) -> Connection:
        """Open one connection, with one attempt, within the timeout.

        Raises `ConnectFailed` if the broker was not reached, stayed silent or refused the client for now, and `Refused`
        if it refuses for good. Both name the broker, its address and the next step, and never the password. After an
        error nothing stays open.
        """

    def browse(self, endpoint: Endpoint, credentials: Credentials, queue: str, *, timeout_s: float) -> list[Browsed]:
        """Return every message on a queue, whole and in order, without removing it. Raises `DriverError`."""
