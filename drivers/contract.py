"""What does a driver promise? The whole contract between a protocol and the rest, on one page.

A driver is two things:

* a *connector* (`Connector`): opens one connection to one broker, with no retry of its own;
* the *client* above it (`drivers.client.Client`): follows the failover URI, resubscribes, resends what is in doubt.

A protocol whose own library fails over (OpenWire, Core) brings clients of its own beside its connector.

Everything here is called from gevent greenlets: a call may block its greenlet, never the process. Callbacks
(`on_settled`, `on_delivery`, `on_lost`) come from the connection's reader greenlet and must be short.

Outcomes say no more than is known:

* ``acked``        the broker confirmed the send; in a transaction, its commit;
* ``failed``       the broker refused it, its transaction was aborted, or it was never written: no connection in time;
* ``in_doubt``     the connection went before the answer; a client that stays resends with the next attempt number;
* ``unconfirmed``  sent one way, as non-durable sends are; never resent, only sent and received are claimed.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple, Protocol, runtime_checkable

from topologies.endpoints import Credentials, Endpoint


class Outcome(StrEnum):
    ACKED = "acked"
    FAILED = "failed"
    IN_DOUBT = "in_doubt"
    UNCONFIRMED = "unconfirmed"


class DriverError(Exception):
    """A connection, a send or a subscription was refused; says by whom, what, and what to do next."""


class ConnectFailed(DriverError):
    """The broker could not be reached or did not answer in time: the next URI may do better."""


class Redirected(ConnectFailed):
    """The broker lets nobody in, and names another one to go to: ``address``, its ``host:port``."""

    def __init__(self, told: str, address: str) -> None:
        super().__init__(told)
        self.address = address


class Refused(DriverError):
    """The broker answered and said no (credentials, destination, frame size): trying again will not help."""


class Untrusted(Refused):
    """The broker shows a certificate that is not to be believed."""


@dataclass(frozen=True)
class Destination:
    """``queue://orders`` or ``topic://prices``."""

    kind: str  # queue | topic
    name: str

    @classmethod
    def parse(cls, text: str) -> "Destination":
        """Read ``queue://NAME`` or ``topic://NAME``; ValueError names what is wrong."""
        kind, separator, name = text.partition("://")
        if not separator or kind not in ("queue", "topic") or not name:
            raise ValueError(f"destination {text!r}: write queue://NAME or topic://NAME")
        return cls(kind, name)

    def __str__(self) -> str:
        return f"{self.kind}://{self.name}"


class Outgoing(NamedTuple):
    """One attempt to send one message. ``token`` comes back in ``on_settled``.

    A named tuple, as `Delivery` is: one is made for every message, and this is made three times faster.
    """

    destination: Destination
    body: bytes
    durable: bool
    token: object


@dataclass(frozen=True)
class Subscription:
    """What a consumer asks for. ``durable_name`` makes a topic subscription durable under that name."""

    destination: Destination
    prefetch: int = 100  # messages the broker may send ahead of the acknowledgements
    selector: str = ""
    durable_name: str = ""


class Delivery(NamedTuple):
    """One message as it arrived. ``ack_token`` is the protocol's own; pass the delivery back to `settle`."""

    body: bytes
    received_ns: int
    redelivered: bool
    hops: int | None  # brokers crossed, where the broker stamps its path
    ack_token: object


OnSettled = Callable[[object, Outcome, int, str], None]
"""(token, ACKED or FAILED, settled_ns, reason). Never called for UNCONFIRMED or after `on_lost`."""
OnDelivery = Callable[[Delivery], None]
OnLost = Callable[[str], None]
"""(reason): called once when the connection goes without `close` having been asked for."""


@dataclass(frozen=True)
class Browsed:
    """A message found on a queue; ``age_ns`` is null where the broker does not say when it was sent."""

    body: bytes
    age_ns: int | None


class Connection(Protocol):
    """One open, authenticated connection to one broker."""

    broker: str

    def send(self, message: Outgoing) -> int:
        """Write the message; return ``sent_ns``, read just before the write. Does not wait for the answer.

        A durable message asks for the broker's confirmation and ends in ``on_settled``; any other is ``unconfirmed``.
        Raises ConnectionError when the connection is gone.
        """

    def subscribe(self, subscription: Subscription, on_delivery: OnDelivery) -> int:
        """Subscribe with individual acknowledgement; return when (ns) the broker confirmed it. Raises `Refused`."""

    def settle(self, delivery: Delivery) -> None:
        """Acknowledge one delivery. On a lost connection it does nothing: the broker will redeliver."""

    def begin(self) -> "Transaction":
        """A transaction; several at a time if several are begun.

        Raises ConnectionError, and `Refused` where the broker grants none.
        """

    def close(self) -> None:
        """Leave politely (the broker has processed everything sent before), and never call `on_lost`."""


@runtime_checkable
class SendsBatches(Protocol):
    """What a connection may offer beside `Connection`: several messages in one write, where they are at hand anyway."""

    def send_batch(self, messages: Sequence[Outgoing]) -> int:
        """As `Connection.send`, for all of them; return the time (ns) just before the write, theirs in common.

        Raises ConnectionError when the connection is gone: then any of them may have been written, or none.
        """


@runtime_checkable
class NamesOthers(Protocol):
    """What a connection may offer beside `Connection`: brokers, each as ``host:port``, that its own one named."""

    @property
    def successors(self) -> tuple[str, ...]:
        """Where to go when this broker is gone, first choice first."""

    @property
    def redirected_to(self) -> str:
        """Where the broker sent this client when it ended the connection; '' when it ended otherwise, or lives."""


class Transaction(Protocol):
    """Messages that arrive all together or not at all: never in part.

    It ends once: by `commit`, by `abort`, or with its connection, when the broker forgets it unless a commit was under
    way. Until then none of its messages is delivered, and none is settled unless the broker refuses that one. Not for
    callbacks: they would wait for themselves.
    """

    def send_batch(self, messages: Sequence[Outgoing]) -> int:
        """Write messages as a part of it; return the time (ns) just before. Durable or not, each is settled at its end.

        Raises ConnectionError when the connection is gone, and `Refused` for the destination.
        """

    def commit(self) -> None:
        """Ask for all of it, and wait: every message has ended in ``on_settled`` before this returns.

        They are ACKED where the broker confirms it, FAILED where it says no. Raises ConnectionError when the connection
        went before the answer: then nobody knows, and they are in doubt together.
        """

    def abort(self) -> None:
        """Take all of it back, and wait: every message has ended as FAILED before this returns. ConnectionError."""


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
        """Open one connection, once. Raises `ConnectFailed` or `Refused`."""

    def browse(self, endpoint: Endpoint, credentials: Credentials, queue: str, *, timeout_s: float) -> list[Browsed]:
        """Every message on a queue, without taking it away. Raises `DriverError`."""
