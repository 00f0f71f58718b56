"""Writes STOMP 1.2 frames, and interprets them. Values in, values out; no socket here.

Source: the STOMP 1.2 specification, and the observed behavior of ActiveMQ 5.18.3.
"""

import time
from dataclasses import dataclass
from functools import lru_cache
from urllib.parse import parse_qsl, urlsplit

from drivers.contract import DEFAULT_PRIORITY, Destination, MessageHeaders, Outgoing, Subscription
from drivers.stomp.stream import END
from topologies.model.endpoints import Credentials

TLS_SCHEME = "stomp+ssl"
# Artemis counts prefetched messages in bytes, and reads a prefetch as bytes too unless this header is sent. Classic
# ignores it. The size of a message of 1 KiB with its headers, and some room.
WINDOW_BYTES_A_MESSAGE = 2048
ROUTING_TYPES = {"queue": "ANYCAST", "topic": "MULTICAST"}
"""Artemis's names for the kinds of destinations."""
BROKER_PATH_PROPERTY = "bbBrokerPath"  # the renderers' name; a test keeps the two equal
_ESCAPES = str.maketrans({"\\": "\\\\", "\n": "\\n", "\r": "\\r", ":": "\\c"})
_PASSED_OVER_BEATS = 2.5  # ActiveMQ lets nearly two intervals pass when a frame went out in between


@dataclass(frozen=True)
class StompAddress:
    """Where to connect, and the interval (ms) of heart-beats in each direction; 0 is never."""

    host: str
    port: int
    heartbeat_ms: int
    tls: bool = False

    def __str__(self) -> str:
        return f"{self.host}:{self.port}"


def read_address(uri: str, heartbeat_ms: int) -> StompAddress:
    """Parse ``stomp://host:port[?heartbeat_ms=N]``, or stomp+ssl; ValueError says what is wrong and what to write."""
    parts = urlsplit(uri)
    if parts.scheme not in ("stomp", TLS_SCHEME) or not parts.hostname or parts.port is None:
        raise ValueError(f"{uri}: write stomp://HOST:PORT, or {TLS_SCHEME}://HOST:PORT for TLS")
    options = dict(parse_qsl(parts.query, keep_blank_values=True))
    every = options.pop("heartbeat_ms", str(heartbeat_ms))
    if options:
        raise ValueError(f"{uri}: STOMP has no option {', '.join(sorted(options))}; it supports heartbeat_ms")
    if not (every.isascii() and every.isdigit()):
        raise ValueError(f"{uri}: heartbeat_ms={every}: write a whole number of milliseconds, 0 for none")
    return StompAddress(parts.hostname, parts.port, int(every), parts.scheme == TLS_SCHEME)


@dataclass(frozen=True)
class Beats:
    """The agreed heart-beats: write at least every ``send_every_s``, give up after ``silent_after_s``; 0 is never."""

    send_every_s: float
    silent_after_s: float

    @property
    def tick_s(self) -> float:
        """The interval of checks: short enough that a beat is never late; 0 if there is nothing to check."""
        return min(
            (period_s for period_s in (self.send_every_s / 4, self.silent_after_s / 10) if period_s), default=0.0
        )

    def needs_heartbeat(self, quiet_s: float) -> bool:
        """Whether to write now, after ``quiet_s`` without a write: early, as the broker grants no grace period."""
        return 0 < self.send_every_s <= 2 * quiet_s

    def silent(self, unheard_s: float) -> bool:
        return 0 < self.silent_after_s < unheard_s


def agree_beats(ours_ms: int, theirs: str) -> Beats:
    """Return the heart-beats that follow from a CONNECTED frame's ``heart-beat:theirs`` and our own (equal both
    ways)."""
    can_send_ms, wants_ms = (int(number) for number in (theirs or "0,0").split(","))
    send_ms = max(ours_ms, wants_ms) if ours_ms and wants_ms else 0
    hear_ms = max(ours_ms, can_send_ms) if ours_ms and can_send_ms else 0
    return Beats(send_ms / 1e3, hear_ms * _PASSED_OVER_BEATS / 1e3)


def encode(command: str, headers: dict[str, str], body: bytes = b"") -> bytes:
    """Encode one frame; values are escaped, so no value can inject a header.

    ValueError for a NUL, because a header cannot contain it.
    """
    escape = command != "STOMP"  # the specification forbids it in this one frame
    lines = [command]
    for name, value in headers.items():
        if "\0" in value or (not escape and ("\n" in value or "\r" in value)):
            raise ValueError(f"STOMP {command} header {name}: a line break or NUL cannot be sent in it")
        lines.append(f"{name}:{value.translate(_ESCAPES) if escape else value}")
    return "\n".join(lines).encode() + b"\n\n" + body + END


def destination_header(destination: Destination) -> str:
    """Return ``/queue/NAME``. Classic reads a list, whose parts may have their own kinds, only if each part has this
    form."""
    kind_and_name = (part.partition("://") for part in destination.name.split(","))
    parts = [(kind, name) if separator else (destination.kind, kind) for kind, separator, name in kind_and_name]
    return ",".join(f"/{kind}/{name}" for kind, name in parts)


def _named(destination: Destination, type_header: str, *, by_type: bool) -> dict[str, str]:
    """Return the headers that name a destination. ``by_type``: in the form that every Artemis understands.

    Artemis takes ``/queue/NAME`` for a topic of that name unless its acceptor has an anycastPrefix, which the acceptor
    of ``artemis create`` lacks.
    """
    if by_type and destination.kind in ROUTING_TYPES:
        return {"destination": destination.name, type_header: ROUTING_TYPES[destination.kind]}
    return {"destination": destination_header(destination)}


def send_head(message: Outgoing, *, by_type: bool = False) -> bytes:
    """Return a SEND frame up to the parts that differ between messages: its receipt, if it is durable, and its body.

    ``content-length`` makes it a BytesMessage and lets a body contain any byte. ``by_type``: for Artemis. ValueError as
    in `encode`.
    """
    parts = (message.destination, len(message.body), message.durable, message.headers, by_type)
    return _expiring(message, _send_head(*parts))


def transacted_head(message: Outgoing, *, by_type: bool = False) -> bytes:
    """Return the same in a transaction. Its name and receipt are the lines that follow: it has a receipt, durable or
    not."""
    parts = (message.destination, len(message.body), message.durable, message.headers, by_type)
    return _expiring(message, _transacted_head(*parts))


def _expiring(message: Outgoing, head: bytes) -> bytes:
    """Add the time at which the message expires: by the sender's clock, as JMS clients write it."""
    time_to_live_ms = message.headers.time_to_live_ms
    if not time_to_live_ms:
        return head
    return b"SEND\nexpires:%d\n" % (time.time_ns() // 1_000_000 + time_to_live_ms) + head.removeprefix(b"SEND\n")


@lru_cache(maxsize=4_096)
def _send_head(
    destination: Destination, body_bytes: int, durable: bool, message_headers: MessageHeaders, by_type: bool
) -> bytes:
    headers = _message_headers(destination, body_bytes, message_headers, by_type=by_type)
    if durable:
        return encode("SEND", headers | {"persistent": "true", "receipt": ""}).removesuffix(b"\n\n" + END)
    return encode("SEND", headers).removesuffix(END)


@lru_cache(maxsize=4_096)
def _transacted_head(
    destination: Destination, body_bytes: int, durable: bool, message_headers: MessageHeaders, by_type: bool
) -> bytes:
    headers = _message_headers(destination, body_bytes, message_headers, by_type=by_type)
    return encode("SEND", headers | ({"persistent": "true"} if durable else {})).removesuffix(b"\n" + END)


def _message_headers(
    destination: Destination, body_bytes: int, message_headers: MessageHeaders, *, by_type: bool
) -> dict[str, str]:
    """Return a message's headers; properties are headers like any other. ValueError if one is not text, STOMP's only
    type."""
    for name, value in message_headers.properties.items():
        if not isinstance(value, str):
            raise ValueError(f"property {name} = {value!r}: STOMP carries only text; write {str(value)!r}")
    headers = {**_named(destination, "destination-type", by_type=by_type), "content-length": str(body_bytes)}
    if message_headers.priority != DEFAULT_PRIORITY:
        headers["priority"] = str(message_headers.priority)
    if message_headers.reply_to:
        headers["reply-to"] = f"/temp-queue/{message_headers.reply_to}"
    if message_headers.correlation_id:
        headers["correlation-id"] = message_headers.correlation_id
    return headers | {name: str(value) for name, value in message_headers.properties.items()}


def login(address: StompAddress, credentials: Credentials, client_id: str) -> bytes:
    """Return the first frame of a connection: its identity, and the requested heart-beats."""
    headers = {
        "accept-version": "1.2",
        "host": address.host,
        "login": credentials.username,
        "passcode": credentials.password,
        "heart-beat": f"{address.heartbeat_ms},{address.heartbeat_ms}",
    }
    return encode("STOMP", headers | {"client-id": client_id} if client_id else headers)


def subscribe_headers(subscription: Subscription, number: str, *, by_type: bool = False) -> dict[str, str]:
    """Return the headers of a SUBSCRIBE frame. ``by_type``: for Artemis."""
    to = subscription.destination
    to = Destination("temp-queue", to.name) if subscription.temporary else to
    headers = {
        **_named(to, "subscription-type", by_type=by_type),
        "id": number,
        "ack": "client-individual",
        "activemq.prefetchSize": str(subscription.prefetch),
        "consumer-window-size": str(subscription.prefetch * WINDOW_BYTES_A_MESSAGE),
    }
    if subscription.selector:
        headers["selector"] = subscription.selector
    if subscription.durable_name:
        headers["activemq.subscriptionName"] = subscription.durable_name
    return headers


def error_words(headers: dict[str, str], body: bytes) -> str:
    """Return the message of an ERROR frame on one line, without the broker's stack trace."""
    first_line = body.decode(errors="replace").strip().partition("\n")[0]
    return " ".join((headers.get("message") or first_line or "no reason given").split())
