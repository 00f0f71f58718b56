"""Checks the hand-written AMQP 1.0 messages against proton's own codec, for writing and for reading."""

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st
from proton import Message, symbol

from drivers.amqp.addresses import AmqpAddress, read_address
from drivers.amqp.messages import BROKER_PATH_PROPERTY, node_address, read_message, read_request, write_message
from drivers.contract import Destination, MessageHeaders
from drivers.stomp.frames import BROKER_PATH_PROPERTY as STOMP_HAS
from topologies.classic.render.broker_xml import BROKER_PATH_PROPERTY as RENDERED

bodies = st.binary(max_size=300) | st.integers(0, 70_000).map(bytes)
texts = st.text(max_size=300)
values = st.none() | st.booleans() | st.integers(-(2**31), 2**31 - 1) | st.floats(allow_nan=False) | texts | bodies


@given(bodies, st.booleans(), st.integers(0, 2**45))
def test_what_is_written_reads_as_it_was_meant(body: bytes, durable: bool, created_ms: int) -> None:
    message = Message()
    message.decode(write_message(body, durable, created_ms))
    assert bytes(message.body) == body
    assert message.inferred  # a data section: binary, whatever the broker makes of it
    assert (message.durable, message.creation_time) == (durable, created_ms / 1_000)


settable = st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.floats(allow_nan=False) | texts


@given(
    st.booleans(),
    st.dictionaries(st.text("xyz", min_size=1, max_size=9), settable, max_size=4),
    st.integers(0, 2**32 - 1),
    st.integers(0, 9),
)
def test_properties_time_to_live_and_priority_read_as_they_were_meant(
    durable: bool, properties: dict[str, str | int | float | bool], time_to_live_ms: int, priority: int
) -> None:
    message = Message()
    message.decode(write_message(b"body", durable, 1, MessageHeaders(properties, time_to_live_ms, priority)))
    assert (bytes(message.body), message.durable, message.priority) == (b"body", durable, priority)
    assert message.ttl == time_to_live_ms / 1_000
    assert message.properties == (properties or None) or message.properties == properties


addresses = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=300)  # proton ends them at a NUL


@given(bodies, addresses, addresses.filter(bool), st.integers(0, 2**45))
def test_a_request_and_a_reply_read_as_they_were_meant(
    body: bytes, reply_to: str, correlation_id: str, created_ms: int
) -> None:
    message, headers = (
        Message(),
        MessageHeaders(reply_to="orders.replies" if reply_to else "", correlation_id=correlation_id),
    )
    written = write_message(body, True, created_ms, headers, reply_to)
    message.decode(written)
    assert (bytes(message.body), message.durable, message.creation_time) == (body, True, created_ms / 1_000)
    assert (message.reply_to or "", message.correlation_id) == (reply_to, correlation_id)
    read = read_request(written)
    assert (read.body, read.created_ms) == (body, created_ms)
    assert (read.reply_to, read.correlation_id) == (reply_to, correlation_id)


@given(bodies, addresses, addresses)
def test_a_request_of_others_tells_where_its_reply_goes(body: bytes, reply_to: str, correlation_id: str) -> None:
    message = Message(body=body, inferred=True, reply_to=reply_to or None, correlation_id=correlation_id or None)
    read = read_request(bytes(message.encode()))
    assert (read.body, read.reply_to, read.correlation_id) == (body, reply_to, correlation_id)


@given(
    bodies,
    st.integers(0, 2**32 - 1),
    st.none() | st.text("abc-123,", min_size=1, max_size=300),
    st.integers(1, 2**40),
    st.dictionaries(st.text("xyz", min_size=1, max_size=9), values, max_size=4),
    st.booleans(),
)
def test_what_others_write_is_read_whatever_surrounds_it(
    body: bytes, failed: int, path: str | None, created_ms: int, other_sections: dict[str, object], as_data: bool
) -> None:
    properties = other_sections | ({BROKER_PATH_PROPERTY: path} if path else {})
    message = Message(body=body, inferred=as_data, properties=properties, delivery_count=failed)
    message.id, message.user_id, message.content_type = 2**40, b"anna", symbol("application/octet-stream")
    message.address, message.reply_to, message.ttl, message.priority = "queue://x", "y" * 300, 7.0, 9
    message.annotations = {symbol("x-opt-jms-msg-type"): 3, symbol("x-opt-list"): [1, "two", None]}
    message.creation_time = created_ms / 1_000
    read = read_message(bytes(message.encode()))
    assert (read.body, read.redelivered, read.path) == (body, failed > 0, (path or "").encode())
    assert read.created_ms is not None
    assert abs(read.created_ms - created_ms) <= 1  # proton keeps seconds as a float


def test_a_text_body_is_read_as_its_bytes() -> None:
    assert read_message(bytes(Message(body="zwölf").encode())).body == "zwölf".encode()


def test_a_body_in_several_data_sections_is_one() -> None:
    whole = write_message(b"ab", False, 1) + bytes.fromhex("005375a0026364")
    assert read_message(whole).body == b"abcd"


@given(st.binary(max_size=60))
def test_bytes_that_are_no_message_are_a_value_error_and_nothing_else(raw: bytes) -> None:
    with contextlib.suppress(ValueError):
        read_message(raw)


def test_a_message_that_is_cut_short_is_refused() -> None:
    whole = write_message(b"x" * 400, True, 1)
    for end in range(1, len(whole)):
        with contextlib.suppress(ValueError):
            assert read_message(whole[:end]).body == b""
    with pytest.raises(ValueError, match="bytes are not an AMQP message"):
        read_message(whole[:-1])


def test_the_property_with_the_path_is_named_once() -> None:
    assert BROKER_PATH_PROPERTY == RENDERED == STOMP_HAS


@pytest.mark.parametrize(
    ("uri", "expected"),
    [
        ("amqp://127.0.0.1:5672", AmqpAddress("127.0.0.1", 5672, False, 20_000)),
        ("amqps://b.example:5671?idle_timeout_ms=0", AmqpAddress("b.example", 5671, True, 0)),
        ("amqp+ssl://b:1?idle_timeout_ms=400", AmqpAddress("b", 1, True, 400)),
    ],
)
def test_an_address_is_read(uri: str, expected: AmqpAddress) -> None:
    assert read_address(uri, 20_000) == expected


@pytest.mark.parametrize(
    ("uri", "words"),
    [
        ("tcp://b:1", "write amqp://HOST:PORT, or amqps://HOST:PORT for TLS"),
        ("amqp://b", "write amqp://HOST:PORT"),
        ("amqp://b:1?heartbeat_ms=1", "AMQP has no option heartbeat_ms; it supports idle_timeout_ms"),
        ("amqp://b:1?idle_timeout_ms=7", "idle_timeout_ms=7: write a whole number of milliseconds, 100 at least, or 0"),
        ("amqp://b:1?idle_timeout_ms=soon", "idle_timeout_ms=soon: write a whole number"),
    ],
)
def test_an_address_that_cannot_be_says_what_to_write(uri: str, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        read_address(uri, 20_000)


def test_a_destination_gets_the_prefix_that_the_broker_told() -> None:
    prefixes = {"queue-prefix": "queue://", "topic-prefix": "topic://"}
    assert node_address(Destination("topic", "prices"), prefixes) == "topic://prices"
    assert node_address(Destination("queue", "orders"), {}) == "orders"
