"""Writes and reads AMQP 1.0 messages. Values in, values out; no socket and no library here.

Messages are sequences of sections, each ``00`` (described), ``53 CODE`` (which section) and one value. The codec of
proton is not used, because it takes as long per message as all other work of sending it, and a measured message has few
sections. Source: OASIS AMQP 1.0, parts 1.6 (encodings) and 3.2 (sections); tests check both directions against proton's
codec.
"""

import itertools
import struct
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import NamedTuple

from drivers.contract import DEFAULT_PRIORITY, EXPIRED_CAUSE, PLAIN, Destination, MessageHeaders
from records.loads.message_properties import Value

BROKER_PATH_PROPERTY = "bbBrokerPath"  # the renderers' name; a test keeps the two equal

_HEADER, _PROPERTIES, _APPLICATION_PROPERTIES, _DATA, _VALUE = 0x70, 0x73, 0x74, 0x75, 0x77
_HEADER_SECTION, _PROPERTIES_SECTION = bytes.fromhex("005370"), bytes.fromhex("005374")
_NULL, _TRUE, _FALSE = b"\x40", b"\x41", b"\x42"
_CREATED = bytes.fromhex("005373 c0 13 0a" + "40" * 9 + "83")  # properties: nine nulls, then creation-time
_REPLYING, _REPLY_TO, _CORRELATION_ID = bytes.fromhex("005373 d0"), 4, 5  # the same for a request and a reply
_SMALL, _LARGE = bytes.fromhex("005375 a0"), bytes.fromhex("005375 b0")  # data: binary with a length of 1 or 4 bytes
_PATH_KEY = b"\xa1" + bytes([len(BROKER_PATH_PROPERTY)]) + BROKER_PATH_PROPERTY.encode()
_EXPIRED = EXPIRED_CAUSE.encode()
_FIXED = {0x4: 0, 0x5: 1, 0x6: 2, 0x7: 4, 0x8: 8, 0x9: 16}  # by the first half of a constructor: bytes of the value
_CONTAINERS = (0x45, 0xC0, 0xD0, 0xC1, 0xD1)  # the lists and maps


class Incoming(NamedTuple):
    """The parts of a message that we read.

    ``path``: the brokers crossed, as they stamped it; ``created_ms``: since 1970; ``expired``: whether it is a dead
    letter because it expired. ``reply_to``, ``correlation_id``: only read by `read_request`.
    """

    body: bytes
    redelivered: bool
    path: bytes
    created_ms: int | None
    expired: bool = False
    reply_to: str = ""
    correlation_id: str = ""


def node_address(destination: Destination, prefixes: Mapping[str, str]) -> str:
    """Return the broker's name for a destination. Classic announces a ``queue-prefix`` and a ``topic-prefix``,
    Artemis none."""
    return prefixes.get(f"{destination.kind}-prefix", "") + destination.name


def write_message(
    body: bytes, durable: bool, created_ms: int, headers: MessageHeaders = PLAIN, reply_to: str = ""
) -> bytes:
    """Return header, creation time, properties and body. The body is one data section, so every broker keeps it binary.

    ``reply_to``: the broker's name for the temporary queue that ``headers`` name; empty: no reply is requested.
    """
    size = len(body)
    data = _SMALL + bytes((size,)) if size < 256 else _LARGE + struct.pack(">I", size)
    header, properties = _around(durable, headers)
    created = _replying(reply_to, headers.correlation_id) if headers.correlation_id else _CREATED
    return header + created + struct.pack(">q", created_ms) + properties + data + body


def _replying(reply_to: str, correlation_id: str) -> bytes:
    """Return the properties section of a request or a reply, up to the creation time's value."""
    addresses = (_encoded(reply_to) if reply_to else _NULL) + _encoded(correlation_id)
    fields = _NULL * _REPLY_TO + addresses + _NULL * (9 - _CORRELATION_ID - 1) + b"\x83"
    return _REPLYING + struct.pack(">II", len(fields) + 12, 10) + fields


@lru_cache(maxsize=4_096)
def _around(durable: bool, headers: MessageHeaders) -> tuple[bytes, bytes]:
    """Return the sections before and after the creation time: header and application properties; empty without
    content."""
    fields = [_TRUE if durable else _FALSE]
    if headers.time_to_live_ms:
        fields += [_ubyte(headers.priority), b"\x70" + struct.pack(">I", headers.time_to_live_ms)]
    elif headers.priority != DEFAULT_PRIORITY:
        fields.append(_ubyte(headers.priority))
    wanted = durable or len(fields) > 1
    header = b"".join(fields)
    section = _HEADER_SECTION + b"\xc0" + bytes((len(header) + 1, len(fields))) + header
    return section if wanted else b"", _application_properties(headers.properties)


def _ubyte(value: int) -> bytes:
    return bytes((0x50, value))


def _application_properties(properties: Mapping[str, Value]) -> bytes:
    if not properties:
        return b""
    items = b"".join(_encoded(text) for item in properties.items() for text in item)
    return _PROPERTIES_SECTION + b"\xd1" + struct.pack(">II", len(items) + 4, 2 * len(properties)) + items


def _encoded(value: Value) -> bytes:
    """Encode a text, bool, long or double."""
    if isinstance(value, bool):
        return _TRUE if value else _FALSE
    if isinstance(value, int):
        return b"\x81" + struct.pack(">q", value)
    if isinstance(value, float):
        return b"\x82" + struct.pack(">d", value)
    text = value.encode()
    return (b"\xa1" + bytes((len(text),)) if len(text) < 256 else b"\xb1" + struct.pack(">I", len(text))) + text


def read_message(raw: bytes) -> Incoming:
    """Read the measured parts. Raises ValueError for bytes that are not an AMQP message."""
    body, redelivered, path, created_ms, expired = b"", False, b"", None, False
    try:
        for code, at, end in _sections(raw):
            if code == _HEADER:
                redelivered = _delivery_count(raw, at) > 0
            elif code == _PROPERTIES:
                created_ms = _created_ms(raw, at)
            elif code == _APPLICATION_PROPERTIES:
                path, expired = _path(raw, at, end), raw.find(_EXPIRED, at, end) >= 0
            elif code in (_DATA, _VALUE):
                body += _bytes(raw, at)
    except (IndexError, KeyError, struct.error) as error:
        raise ValueError(f"{len(raw)} bytes are not an AMQP message: {raw[:16].hex()}…") from error
    return Incoming(body, redelivered, path, created_ms, expired)


def read_request(raw: bytes) -> Incoming:
    """Read also the address for its reply, and its correlation id; each empty if missing."""
    message, reply_to, correlation_id = read_message(raw), b"", b""
    for at in (at for code, at, _ in _sections(raw) if code == _PROPERTIES):
        reply_to, correlation_id = (_text(raw, _field(raw, at, index)) for index in (_REPLY_TO, _CORRELATION_ID))
    return message._replace(reply_to=reply_to.decode(), correlation_id=correlation_id.decode())


def _text(raw: bytes, at: int | None) -> bytes:
    return b"" if at is None else _bytes(raw, at)


def _sections(raw: bytes) -> Iterator[tuple[int, int, int]]:
    """Yield each section's code, and the begin and end of the value."""
    at = 0
    while at < len(raw):
        if raw[at] or raw[at + 1] not in (0x53, 0x80):
            raise ValueError(f"an AMQP section begins with {raw[at : at + 2].hex()}, not with a descriptor")
        short = raw[at + 1] == 0x53
        code, at = (raw[at + 2], at + 3) if short else (raw[at + 9], at + 10)
        end = _end(raw, at)
        if end > len(raw):
            raise IndexError("cut short")
        yield code, at, end
        at = end


def _end(raw: bytes, at: int) -> int:
    """Return the end of the value that begins at ``at``."""
    kind = raw[at] >> 4
    if kind in _FIXED:
        return at + 1 + _FIXED[kind]
    if kind in (0xA, 0xC, 0xE):
        return at + 2 + raw[at + 1]
    if kind in (0xB, 0xD, 0xF):
        return at + 5 + int(struct.unpack_from(">I", raw, at + 1)[0])
    return _end(raw, _end(raw, at + 1))  # described: the descriptor, then its value


def _fields(raw: bytes, at: int) -> Iterator[int]:
    """Yield the begin of each value of the list or map at ``at``."""
    if raw[at] not in _CONTAINERS:
        raise KeyError(f"{raw[at]:#x} is neither list nor map")
    if raw[at] == 0x45:
        return
    small = raw[at] < 0xD0
    count = raw[at + 2] if small else struct.unpack_from(">I", raw, at + 5)[0]
    at += 3 if small else 9
    for _ in range(count):
        yield at
        at = _end(raw, at)


def _field(raw: bytes, at: int, index: int) -> int | None:
    return next(itertools.islice(_fields(raw, at), index, None), None)


def _delivery_count(raw: bytes, at: int) -> int:
    """Return the fifth field of a header: deliveries that failed before this one."""
    start = _field(raw, at, 4)
    if start is None or raw[start] in (0x40, 0x43):
        return 0
    return raw[start + 1] if raw[start] == 0x52 else int(struct.unpack_from(">I", raw, start + 1)[0])


def _created_ms(raw: bytes, at: int) -> int | None:
    """Return the tenth of the properties."""
    start = _field(raw, at, 9)
    return int(struct.unpack_from(">q", raw, start + 1)[0]) if start is not None and raw[start] == 0x83 else None


def _path(raw: bytes, at: int, end: int) -> bytes:
    start = raw.find(_PATH_KEY, at, end)
    return _bytes(raw, start + len(_PATH_KEY)) if start >= 0 else b""


def _bytes(raw: bytes, at: int) -> bytes:
    """Return a binary, text or symbol value; b'' for any other type. Our messages have no other type."""
    if raw[at] >> 4 == 0xA:
        return raw[at + 2 : at + 2 + raw[at + 1]]
    return raw[at + 5 : _end(raw, at)] if raw[at] >> 4 == 0xB else b""
