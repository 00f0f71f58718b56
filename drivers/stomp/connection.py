"""One STOMP 1.2 connection: sends, subscribes, settles and closes, and reports to its owner what it receives.

Durable sends request a receipt, which settles them; every delivery is acknowledged individually. Names and numbers of
every message stay bytes in both directions: nothing is decoded only to be encoded again.
"""

import contextlib
import itertools
import ssl
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import cast

from stomp.utils import Frame

from drivers.broker_errors import (
    ended_before_answer,
    hops,
    is_invalid_selector,
    is_unknown_destination,
    login_rejected,
    unreachable_broker,
)
from drivers.contract import (
    ConnectFailed,
    Delivery,
    Destination,
    DriverError,
    OnDelivery,
    OnLost,
    OnSettled,
    Outcome,
    Outgoing,
    Refused,
    Subscription,
)
from drivers.stomp.frames import (
    BROKER_PATH_PROPERTY,
    StompAddress,
    agree_beats,
    encode,
    error_words,
    login,
    send_head,
    subscribe_headers,
)
from drivers.stomp.stream import END, RawFrame
from drivers.stomp.transactions import PREFIX, StompTransaction, StompTransactions
from drivers.stomp.wire import StompWire
from drivers.tls import handshake_error
from topologies.model.endpoints import Credentials
from topologies.model.trust import Trust

CLOSE_TIMEOUT_S = 5.0
ARTEMIS = "ActiveMQ-Artemis"  # the beginning of its header ``server``

SUBSCRIPTION, RECEIPT_ID, ACK, REDELIVERED = b"\nsubscription:", b"\nreceipt-id:", b"\nack:", b"\nredelivered:"
BROKER_PATH = f"\n{BROKER_PATH_PROPERTY}:".encode()

OnMessage = Callable[[RawFrame, int], None]


@dataclass
class PendingReply:
    """The reply to a frame: a time (ns), or the broker's words, or neither if the connection is gone."""

    came: threading.Event = field(default_factory=threading.Event)
    at_ns: int = 0
    refusal: str = ""
    frame: Frame | None = None

    def give(self, at_ns: int, refusal: str = "", frame: Frame | None = None) -> None:
        self.at_ns, self.refusal, self.frame = at_ns, refusal, frame
        self.came.set()


class StompConnection:
    """One open connection; see `drivers.contract.Connection`. Made by `StompConnector.connect`."""

    def __init__(
        self,
        broker: str,
        address: StompAddress,
        timeout_s: float,
        on_settled: OnSettled,
        on_lost: OnLost,
        trust: Trust,
    ):
        self.broker = broker
        self.is_artemis = False  # until the broker identifies itself
        self._address, self._timeout_s = address, timeout_s
        self._on_settled, self._on_lost = on_settled, on_lost
        self._wire = StompWire(address, self._on_traffic, self._on_frame, self._on_gone, trust)
        self._transactions = StompTransactions(f"broker {broker} at {address}", self._wire, on_settled)
        self._numbers: Iterator[int] = itertools.count(1)
        self._unsettled: dict[bytes, object] = {}  # receipt id -> token of a durable send
        self._all_settled = threading.Event()  # once the connection is being closed
        self._asked: dict[str, PendingReply] = {}  # receipt id -> its waiter
        self._consumers: dict[bytes, OnMessage] = {}  # subscription id -> callback
        self._changing = threading.Lock()
        self._open = self._gone = False
        self._last_error = ""

    def __repr__(self) -> str:
        state = "gone" if self._gone else "open" if self._open else "opening"
        return f"<StompConnection {self.broker} {self._address} {state}>"

    # -- opening and closing

    def open(self, credentials: Credentials, client_id: str) -> None:
        """Connect and log in, within the timeout. Raises `ConnectFailed` or `Refused`, and then leaves nothing open."""
        try:
            self._log_in(credentials, client_id, time.monotonic() + self._timeout_s)
        except BaseException:
            self._wire.finish()
            raise

    def _log_in(self, credentials: Credentials, client_id: str, deadline_s: float) -> None:
        hello = login(self._address, credentials, client_id)
        connected = self._asked["STOMP"] = PendingReply()
        try:
            self._wire.open(self._timeout_s)
            self._wire.write(hello)
        except ssl.SSLError as error:
            raise handshake_error(f"broker {self.broker} at {self._address}", error) from error
        except OSError as error:
            raise self._unreachable(f"could not be reached: {error}") from error
        if not connected.came.wait(max(0.0, deadline_s - time.monotonic())):
            raise self._unreachable(f"did not answer within {self._timeout_s:g} s")
        if connected.refusal:
            raise self._turned_away(credentials.username, connected.refusal)
        if connected.frame is None or not self._now_open():
            raise self._gone_away()
        self.is_artemis = connected.frame.headers.get("server", "").startswith(ARTEMIS)
        self._transactions.by_type = self.is_artemis
        self._wire.watch(agree_beats(self._address.heartbeat_ms, connected.frame.headers.get("heart-beat", "")))

    def _now_open(self) -> bool:
        """Mark as open. From here on ``on_lost`` reports a loss; an earlier loss makes opening fail."""
        with self._changing:
            self._open = not self._gone
            return self._open

    def _unreachable(self, problem: str) -> ConnectFailed:
        return unreachable_broker(f"{self.broker} at {self._address}", problem, self._port_meant())

    def _gone_away(self) -> ConnectFailed:
        wire = self._wire
        return ended_before_answer(f"{self.broker} at {self._address}", wire.reason, self._port_meant(), wire.hung_up)

    def _port_meant(self) -> str:
        return "STOMP port for TLS" if self._address.tls else "STOMP port"

    def _turned_away(self, username: str, words: str) -> DriverError:
        return login_rejected(f"{self.broker} at {self._address}", username, words)

    def close(self) -> None:
        """Close politely, within a limited time, even on a frozen broker. A callback closes without waiting."""
        with self._changing:
            was_open, self._open = self._open, False
        if was_open and not self._wire.in_reader():
            deadline_s = time.monotonic() + CLOSE_TIMEOUT_S
            if (
                self._awaits_answers()
            ):  # otherwise Artemis answers the goodbye, and hangs up, before it has answered them
                self._all_settled.wait(CLOSE_TIMEOUT_S)
            with contextlib.suppress(ConnectionError):
                receipt, answer = self._expect()
                frame = encode("DISCONNECT", {"receipt": receipt})
                if self._wire.write_soon(frame, max(0.0, deadline_s - time.monotonic())):
                    answer.came.wait(max(0.0, deadline_s - time.monotonic()))
        self._wire.finish()

    def _awaits_answers(self) -> bool:
        return bool(self._unsettled) or self._transactions.ending

    # -- what a client does

    def send(self, message: Outgoing) -> int:
        return self.send_batch((message,))

    def send_batch(self, messages: Sequence[Outgoing]) -> int:
        pieces: list[bytes] = []
        receipts: list[bytes] = []
        for message, head in [(message, self._head(message)) for message in messages]:
            if message.durable:
                receipt = b"%d" % next(self._numbers)
                receipts.append(receipt)
                self._unsettled[receipt] = message.token
                pieces += (head, receipt, b"\n\n", message.body, END)
            else:
                pieces += (head, message.body, END)
        try:
            return self._wire.write(b"".join(pieces))
        except ConnectionError:
            for receipt in receipts:
                self._unsettled.pop(receipt, None)
            raise

    def begin(self) -> StompTransaction:
        return self._transactions.begin()

    def _head(self, message: Outgoing) -> bytes:
        try:
            return send_head(message, by_type=self.is_artemis)
        except ValueError as error:
            raise Refused(f"broker {self.broker}: {error}") from error

    def subscribe(self, subscription: Subscription, on_delivery: OnDelivery) -> int:
        number = str(next(self._numbers))

        def on_message(frame: RawFrame, received_ns: int) -> None:
            on_delivery(_delivery(frame, received_ns))

        def on_request(frame: RawFrame, received_ns: int) -> None:
            on_delivery(_request(frame, received_ns))

        take = on_request if subscription.replies else on_message
        return self.consume(subscribe_headers(subscription, number, by_type=self.is_artemis), take)

    def consume(self, headers: dict[str, str], on_message: OnMessage) -> int:
        """Subscribe with these headers; return when (ns) the broker confirmed it.

        Raises `Refused` in the broker's words, and ConnectionError if it is gone or, after the timeout, silent: a
        broker that does not answer is given up, and ``on_lost`` reports it.
        """
        receipt, answer = self._expect()
        number = headers["id"].encode()
        try:
            frame = encode("SUBSCRIBE", headers | {"receipt": receipt})
        except ValueError as error:
            raise Refused(f"broker {self.broker}: {error}") from error
        self._consumers[number] = on_message  # messages may come before the receipt
        self._wire.write(frame)
        if not answer.came.wait(self._timeout_s):
            self._wire.lose(f"no answer to the subscription of {headers['destination']} in {self._timeout_s:g} s")
        if answer.refusal:
            del self._consumers[number]
            raise Refused(f"broker {self.broker} refused to subscribe {headers['destination']}: {answer.refusal}")
        if not answer.at_ns:
            raise ConnectionError(f"broker {self.broker} at {self._address}: {self._wire.reason}")
        return answer.at_ns

    def settle(self, delivery: Delivery) -> None:
        with contextlib.suppress(ConnectionError):
            self._wire.reply(b"".join((b"ACK\nid:", cast(bytes, delivery.ack_token), b"\n\n\0")))

    def _expect(self) -> tuple[str, PendingReply]:
        receipt, answer = f"ask-{next(self._numbers)}", PendingReply()
        self._asked[receipt] = answer
        if self._gone:  # checked after the insertion: the code that ends the connection answers those that it finds
            raise ConnectionError(f"broker {self.broker} at {self._address}: {self._wire.reason}")
        return receipt, answer

    # -- events from the broker, all called by the reader

    def _on_traffic(self, frame: RawFrame, at_ns: int) -> None:
        if frame.head.startswith(b"MESSAGE"):
            self._consumers[frame.raw(SUBSCRIPTION) or b""](frame, at_ns)
            return
        receipt = frame.raw(RECEIPT_ID) or b""
        if receipt in self._unsettled:
            self._settle_send(receipt, Outcome.ACKED, at_ns, "")
        elif receipt.startswith(PREFIX):
            self._transactions.on_receipt(receipt, at_ns)
            self._notify_if_settled()
        elif pending := self._asked.pop(receipt.decode(), None):
            pending.give(at_ns)

    def _settle_send(self, receipt: bytes, outcome: Outcome, at_ns: int, why: str) -> None:
        self._on_settled(self._unsettled.pop(receipt), outcome, at_ns, why)
        self._notify_if_settled()

    def _notify_if_settled(self) -> None:
        if not self._open and not self._awaits_answers():
            self._all_settled.set()

    def _on_frame(self, frame: Frame, at_ns: int) -> None:
        if frame.cmd == "ERROR":
            self._on_error(frame, at_ns)
        elif frame.cmd == "CONNECTED":
            self._asked.pop("STOMP").give(at_ns, frame=frame)

    def _on_error(self, frame: Frame, at_ns: int) -> None:
        words = error_words(frame.headers, frame.body)
        receipt = frame.headers.get("receipt-id", "STOMP")
        if receipt.encode() in self._unsettled:
            self._settle_send(receipt.encode(), Outcome.FAILED, at_ns, words)
        elif receipt in self._asked:
            self._asked.pop(receipt).give(at_ns, refusal=words)
        elif receipt.encode().startswith(PREFIX):
            self._transactions.on_error(receipt.encode(), at_ns, words)
            self._notify_if_settled()
        elif (
            len(self._asked) == 1
            and not self._unsettled
            and (is_unknown_destination(words) or is_invalid_selector(words))
        ):
            self._asked.popitem()[1].give(at_ns, refusal=words)  # Artemis does not say which frame it answers
        else:
            self._last_error = words  # why the broker hangs up, if it does

    def _on_gone(self, reason: str) -> None:
        with self._changing:
            if self._gone:
                return
            was_open, self._open, self._gone = self._open, False, True
        self._all_settled.set()
        for receipt in list(self._asked):
            self._asked.pop(receipt).give(0)
        self._transactions.on_gone()
        if was_open:
            self._on_lost(f"{reason} (its last error: {self._last_error})" if self._last_error else reason)


def _delivery(frame: RawFrame, received_ns: int) -> Delivery:
    """Return a delivery. The acknowledgment repeats the token as it came: it is already escaped."""
    return Delivery(
        body=frame.body,
        received_ns=received_ns,
        redelivered=frame.raw(REDELIVERED) == b"true",
        hops=hops(frame.raw(BROKER_PATH)),
        ack_token=frame.raw(ACK),
    )


def _request(frame: RawFrame, received_ns: int) -> Delivery:
    """Return a delivery with the destination of its reply: Classic writes ``/remote-temp-queue/NAME`` for another
    client's."""
    _, _, reply_to = (frame.header("reply-to") or "").partition("/")
    kind, _, name = reply_to.partition("/")
    return _delivery(frame, received_ns)._replace(
        reply_to=Destination(kind, name) if name else None, correlation_id=frame.header("correlation-id") or ""
    )
