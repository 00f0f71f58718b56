"""Frames in, values out: the meaning of each header and each byte."""

import itertools
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st
from stomp.utils import parse_frame

from drivers.broker_errors import hops, may_try_again
from drivers.contract import Destination, MessageHeaders, Outgoing, Subscription
from drivers.stomp.frames import (
    BROKER_PATH_PROPERTY,
    Beats,
    StompAddress,
    agree_beats,
    encode,
    error_words,
    login,
    read_address,
    send_head,
    subscribe_headers,
    transacted_head,
)
from topologies.classic.render import broker_xml as classic
from topologies.model.endpoints import Credentials

ORDERS = Destination.parse("queue://orders")


def test_the_path_header_is_the_one_that_the_renderer_asks_for() -> None:
    assert BROKER_PATH_PROPERTY == classic.BROKER_PATH_PROPERTY


@pytest.mark.parametrize(
    ("path", "crossed"),
    [(None, None), ("", None), ("a", 0), ("a,b", 1), ("a,b,c", 2), ("a,a", 0), ("a,b,b", 1), ("a,b,a", 2)],
)
def test_hops_count_the_changes_of_broker_and_not_the_redeliveries(path: str | None, crossed: int | None) -> None:
    assert hops(path and path.encode()) == crossed


def test_an_address_takes_its_heartbeat_from_the_uri_or_else_the_default() -> None:
    assert read_address("stomp://127.0.0.1:61613", 10_000) == StompAddress("127.0.0.1", 61613, 10_000)
    assert read_address("stomp://[::1]:61613?heartbeat_ms=0", 10_000) == StompAddress("::1", 61613, 0)


@pytest.mark.parametrize(
    ("uri", "says"),
    [
        ("stomp+ssl://b", "write stomp://HOST:PORT, or stomp\\+ssl://HOST:PORT for TLS"),
        ("tcp://b:1", "write stomp://HOST:PORT"),
        ("stomp://b", "write stomp://HOST:PORT"),
        ("stomp://b:70000", "ort out of range"),
        ("stomp://b:1?trackMessages=true", "no option trackMessages; it supports heartbeat_ms"),
        ("stomp://b:1?heartbeat_ms=-5", "heartbeat_ms=-5: write a whole number"),
    ],
)
def test_a_uri_that_does_not_fit_is_refused_by_name(uri: str, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        read_address(uri, 0)


@given(st.dictionaries(st.text("abc-", min_size=1), st.text(st.characters(exclude_characters="\0", codec="utf-8"))))
def test_no_header_value_can_smuggle_in_another_header(headers: dict[str, str]) -> None:
    assert parse_frame(encode("SEND", headers)[:-1]).headers == headers


@pytest.mark.parametrize(("command", "value"), [("SEND", "a\0b"), ("STOMP", "a\nb"), ("STOMP", "a\rb")])
def test_what_no_escape_can_carry_is_refused(command: str, value: str) -> None:
    with pytest.raises(ValueError, match=f"STOMP {command} header login"):
        encode(command, {"login": value})


def test_a_durable_send_asks_for_a_receipt_and_any_other_does_not() -> None:
    durable = parse_frame(send_head(Outgoing(ORDERS, b"abc", True, None)) + b"r\n\nabc")
    assert durable.headers == {
        "destination": "/queue/orders",
        "content-length": "3",
        "persistent": "true",
        "receipt": "r",
    }
    one_way = parse_frame(send_head(Outgoing(ORDERS, b"abc", False, None)) + b"abc")
    assert (one_way.headers.keys(), one_way.body) == ({"destination", "content-length"}, b"abc")


def test_artemis_is_told_the_type_of_a_destination() -> None:
    """Without a prefix in its acceptor it would take ``/queue/orders`` for a topic."""
    queue = {"destination": "orders", "destination-type": "ANYCAST"}
    outgoing = Outgoing(ORDERS, b"abc", False, None)
    for head in (send_head(outgoing, by_type=True), transacted_head(outgoing, by_type=True) + b"\n"):
        assert parse_frame(head + b"abc").headers == queue | {"content-length": "3"}
    subscribed = subscribe_headers(Subscription(Destination.parse("topic://prices")), "1", by_type=True)
    assert (subscribed["destination"], subscribed["subscription-type"]) == ("prices", "MULTICAST")
    reply = Outgoing(Destination("temp-queue", "7"), b"", False, None)
    assert parse_frame(send_head(reply, by_type=True)).headers["destination"] == "/temp-queue/7"


def test_properties_priority_and_the_time_of_expiry_are_headers_of_a_send() -> None:
    message_headers = MessageHeaders({"color": "red: dark"}, time_to_live_ms=5_000, priority=9)
    before_ms = time.time_ns() // 1_000_000
    for head in (
        send_head(Outgoing(ORDERS, b"abc", False, None, message_headers)),
        transacted_head(Outgoing(ORDERS, b"abc", False, None, message_headers)) + b"\n",
    ):
        headers = parse_frame(head + b"abc").headers
        assert (headers["color"], headers["priority"], headers["destination"]) == ("red: dark", "9", "/queue/orders")
        assert 0 <= int(headers["expires"]) - before_ms - 5_000 < 10_000


def test_a_property_that_is_no_text_is_refused_with_what_to_write() -> None:
    with pytest.raises(ValueError, match="property weight = 3: STOMP carries only text; write '3'"):
        send_head(Outgoing(ORDERS, b"abc", True, None, MessageHeaders({"weight": 3})))


@pytest.mark.parametrize("client_id", ["", "shop-1"])
def test_a_login_has_host_heartbeats_and_an_optional_client(client_id: str) -> None:
    frame = parse_frame(login(StompAddress("localhost", 61613, 5_000), Credentials("bench", "a:b"), client_id))
    assert frame.cmd == "STOMP"
    assert frame.headers == {
        "accept-version": "1.2",
        "host": "localhost",
        "login": "bench",
        "passcode": "a:b",
        "heart-beat": "5000,5000",
    } | ({"client-id": client_id} if client_id else {})


def test_a_subscription_says_only_what_was_asked_for() -> None:
    plain = subscribe_headers(Subscription(ORDERS, prefetch=7), "1")
    assert plain == {
        "destination": "/queue/orders",
        "id": "1",
        "ack": "client-individual",
        "activemq.prefetchSize": "7",
        "consumer-window-size": "14336",
    }
    prices = Subscription(Destination.parse("topic://prices"), selector="x > 1", durable_name="all")
    full = subscribe_headers(prices, "2")
    assert (full["destination"], full["selector"], full["activemq.subscriptionName"]) == (
        "/topic/prices",
        "x > 1",
        "all",
    )


def test_an_error_is_told_on_one_line_without_the_stack_trace() -> None:
    assert error_words({"message": "no\n way"}, b"java.lang.X: no\n\tat y") == "no way"
    assert error_words({}, b"java.lang.X: no\n\tat y") == "java.lang.X: no"
    assert error_words({}, b"") == "no reason given"


def test_a_client_id_still_held_may_be_tried_again_and_a_wrong_password_not() -> None:
    assert may_try_again("Broker: a - Client: one:1 already connected from tcp://127.0.0.1:32970")
    assert not may_try_again("User name [u] or password is invalid.")


@pytest.mark.parametrize(
    ("ours_ms", "theirs", "agreed"),
    [
        (1_000, "0,0", Beats(0, 0)),
        (0, "1000,1000", Beats(0, 0)),
        (1_000, "", Beats(0, 0)),
        (1_000, "1000,2000", Beats(2, 2.5)),
        (2_000, "1000,0", Beats(0, 5)),
    ],
)
def test_heartbeats_are_the_slower_of_what_one_offers_and_the_other_wants(
    ours_ms: int, theirs: str, agreed: Beats
) -> None:
    assert agree_beats(ours_ms, theirs) == agreed


@given(st.floats(0.001, 100), st.floats(0.0, 1.0))
def test_looking_every_tick_a_beat_is_never_late(send_every_s: float, phase: float) -> None:
    beats = Beats(send_every_s, 0)
    quiet_at_ticks = ((n + phase) * beats.tick_s for n in itertools.count())
    assert next(quiet_s for quiet_s in quiet_at_ticks if beats.needs_heartbeat(quiet_s)) < send_every_s


def test_two_intervals_of_silence_are_still_no_loss() -> None:
    beats = agree_beats(1_000, "1000,1000")
    assert not beats.silent(2.1)
    assert beats.silent(2.6)
    assert not Beats(1, 0).silent(1e9)
