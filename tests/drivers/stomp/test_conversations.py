"""Checks the effects of a broker's answers and silence on a connection, with a broker played by hand."""

import contextlib
import logging
import socket
import threading
import time
from collections.abc import Callable

import pytest

from drivers.contract import ConnectFailed, Delivery, Destination, DriverError, Outcome, Outgoing, Refused, Subscription
from drivers.stomp.connection import StompConnection
from drivers.stomp.connector import StompConnector
from tests.support.fake_stomp import FakeStompBroker, FakeStompSession
from tests.support.waiting import until
from topologies.model.endpoints import Credentials, Endpoint

ORDERS = Destination.parse("queue://orders")
ALICE = Credentials("alice", "open sesame")
Script = Callable[[FakeStompSession], None]
MUCH = 32 * 1024 * 1024  # bytes: more than any socket takes whose other end reads nothing


class StompConversation:
    """A connection, and its callbacks."""

    def __init__(self, endpoint: Endpoint, timeout_s: float = 60.0):
        self.settled: list[tuple[object, Outcome, int, str]] = []
        self.lost: list[str] = []
        self.connection: StompConnection = StompConnector(heartbeat_ms=0).connect(
            endpoint,
            ALICE,
            client_id="run:1",
            timeout_s=timeout_s,
            on_settled=lambda *settlement: self.settled.append(settlement),
            on_lost=self.lost.append,
        )


def send(client: StompConversation, token: object, durable: bool = True) -> int:
    return client.connection.send(Outgoing(ORDERS, b"x" * 40, durable, token))


def test_a_receipt_settles_its_send_and_no_other() -> None:
    looked = threading.Event()

    def script(session: FakeStompSession) -> None:
        session.welcome()
        earlier, later = session.read(), session.read()
        session.receipt(later)
        looked.wait(60)
        session.receipt(earlier)
        session.until_gone()

    with FakeStompBroker(script) as broker:
        client = StompConversation(broker.endpoint())
        send(client, "first")
        sent_ns = send(client, "second")
        until(lambda: len(client.settled) == 1)
        token, outcome, settled_ns, reason = client.settled[0]
        assert (token, outcome, reason) == ("second", Outcome.ACKED, "")
        assert sent_ns < settled_ns < time.perf_counter_ns()
        looked.set()
        client.connection.close()
    assert client.lost == []


def test_a_goodbye_waits_for_the_answers_under_way_since_a_broker_may_hang_up_at_it() -> None:
    def script(session: FakeStompSession) -> None:
        session.welcome()
        sent = session.read()
        threading.Timer(0.2, session.receipt, (sent,)).start()
        session.receipt(session.read())

    with FakeStompBroker(script) as broker:
        client = StompConversation(broker.endpoint())
        send(client, 1)
        client.connection.close()
    assert [outcome for _token, outcome, _at, _reason in client.settled] == [Outcome.ACKED]
    assert client.lost == []


def test_an_invalid_selector_is_rejected_without_a_receipt_id() -> None:
    def script(session: FakeStompSession) -> None:
        session.welcome()
        session.read()
        session.write(b'ERROR\nmessage:Invalid selector "a b c"\n\na b c\0\n')

    with FakeStompBroker(script) as broker:
        client = StompConversation(broker.endpoint())
        with pytest.raises(Refused, match=r"refused to subscribe .*orders.*a b c"):
            client.connection.subscribe(Subscription(ORDERS, selector="a b c"), lambda _: None)
        client.connection.close()


def test_an_error_for_a_send_fails_it_in_the_brokers_words_and_the_connection_stays() -> None:
    def script(session: FakeStompSession) -> None:
        session.welcome()
        refused = session.read().headers["receipt"]
        session.write(f"ERROR\nreceipt-id:{refused}\nmessage:not yours\n\njava.lang.X\n\0\n".encode())
        session.until_gone()

    with FakeStompBroker(script) as broker:
        client = StompConversation(broker.endpoint())
        send(client, 1)
        send(client, 2)
        until(lambda: len(client.settled) == 2)
        assert [(token, outcome, reason) for token, outcome, _at, reason in client.settled] == [
            (1, Outcome.FAILED, "not yours"),
            (2, Outcome.ACKED, ""),
        ]
        client.connection.close()


def test_a_send_that_is_not_durable_asks_for_nothing() -> None:
    frames = []

    def script(session: FakeStompSession) -> None:
        session.welcome()
        frames.append(session.read())
        session.until_gone()

    with FakeStompBroker(script) as broker:
        client = StompConversation(broker.endpoint())
        send(client, 1, durable=False)
        client.connection.close()
    assert "receipt" not in frames[0].headers
    assert frames[0].headers["content-length"] == "40"
    assert client.settled == []


def test_an_error_about_a_missing_destination_rejects_the_subscription() -> None:
    """The error does not name a receipt."""

    def script(session: FakeStompSession) -> None:
        session.welcome()
        session.read()
        session.write(b"ERROR\nmessage:AMQ339001 Destination does not exist orders\n\n\0\n")

    with FakeStompBroker(script) as broker:
        client = StompConversation(broker.endpoint())
        with pytest.raises(Refused, match="refused to subscribe /queue/orders: AMQ339001 Destination does not exist"):
            client.connection.subscribe(Subscription(ORDERS), print)
        client.connection.close()


def test_the_brokers_last_error_is_the_reason_when_it_hangs_up() -> None:
    def script(session: FakeStompSession) -> None:
        session.welcome()
        session.read()
        session.write(b"ERROR\nmessage:frame too large\n\n\0\n")

    with FakeStompBroker(script) as broker:
        client = StompConversation(broker.endpoint())
        send(client, 1)
        until(lambda: bool(client.lost))
        assert client.lost == ["the broker closed the connection (its last error: frame too large)"]
        with pytest.raises(ConnectionError, match="closed the connection"):
            send(client, 2)
        client.connection.close()
    assert client.lost == ["the broker closed the connection (its last error: frame too large)"]
    assert client.settled == []


def test_a_message_behind_two_heartbeats_is_not_lost() -> None:
    body = b"a\0b"

    def script(session: FakeStompSession) -> None:
        session.welcome()
        number = session.read()
        session.receipt(number)
        header = f"subscription:{number.headers['id']}\nack:1\ncontent-length:3\nredelivered:true\n"
        session.write(b"\n\nMESSAGE\n" + header.encode() + b"\n" + body + b"\0\n")
        session.until_gone()

    with FakeStompBroker(script) as broker:
        client = StompConversation(broker.endpoint())
        got: list[Delivery] = []
        client.connection.subscribe(Subscription(ORDERS), got.append)
        until(lambda: bool(got))
        assert (got[0].body, got[0].redelivered, got[0].hops) == (body, True, None)
        client.connection.close()


def test_deliveries_and_receipts_continue_while_a_send_waits() -> None:
    subscribed, read_on, frames = threading.Event(), threading.Event(), list[tuple[str, str]]()

    def message(number: str, ack: int) -> bytes:
        return f"MESSAGE\nsubscription:{number}\nack:{ack}\n\nbody\0\n".encode()

    def script(session: FakeStompSession) -> None:
        session.welcome()
        subscribe = session.read()
        subscribed.set()
        durable = session.read()
        session.receipt(subscribe)
        for ack in (1, 2, 3):  # each in a read of its own
            session.write(message(subscribe.headers["id"], ack))
            time.sleep(0.1)
        session.receipt(durable)
        read_on.wait(60)
        for _ in range(4):
            frame = session.read()
            frames.append((frame.command, frame.headers.get("id", "")))
        session.until_gone()

    with FakeStompBroker(script) as broker:
        client, got = StompConversation(broker.endpoint(), timeout_s=10), list[Delivery]()
        sending = threading.Thread(target=lambda: client.connection.send(Outgoing(ORDERS, b"x" * MUCH, False, 2)))

        def take(delivery: Delivery) -> None:
            if not got:
                sending.start()
                until(client.connection._wire._writing.locked)
            got.append(delivery)
            client.connection.settle(delivery)

        asking = threading.Thread(target=lambda: client.connection.subscribe(Subscription(ORDERS), take))
        asking.start()
        assert subscribed.wait(60)
        send(client, "first")
        until(lambda: len(got) == 3 and len(client.settled) == 1)
        assert sending.is_alive()
        read_on.set()
        for thread in (sending, asking):
            thread.join(60)
        until(lambda: len(frames) == 4)
        client.connection.close()
    assert frames == [("SEND", ""), ("ACK", "1"), ("ACK", "2"), ("ACK", "3")]
    assert client.lost == []


def test_a_blocked_broker_is_still_read_and_gets_acknowledgements_later() -> None:
    read_on, frames = threading.Event(), list[tuple[str, str]]()

    def script(session: FakeStompSession) -> None:
        session.welcome()
        subscribe = session.read()
        session.receipt(subscribe)
        for ack in range(1, 101):
            session.write(f"MESSAGE\nsubscription:{subscribe.headers['id']}\nack:{ack}\n\nbody\0\n".encode())
        read_on.wait(60)
        for _ in range(100):
            frame = session.read()
            frames.append((frame.command, frame.headers["id"]))
        session.until_gone()

    def fill(sock: socket.socket) -> None:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 65_536)  # or it may hold megabytes
        sock.setblocking(False)
        with contextlib.suppress(BlockingIOError):
            while True:
                sock.send(b"\n" * 65_536)  # heart-beats
        sock.setblocking(True)

    with FakeStompBroker(script) as broker:
        client, got = StompConversation(broker.endpoint()), list[Delivery]()

        def take(delivery: Delivery) -> None:
            if not got:
                fill(client.connection._wire.socket)
            got.append(delivery)
            client.connection.settle(delivery)

        client.connection.subscribe(Subscription(ORDERS), take)
        until(lambda: len(got) == 100)
        assert frames == []
        read_on.set()
        until(lambda: len(frames) == 100)
        client.connection.close()
    assert frames == [("ACK", str(ack)) for ack in range(1, 101)]
    assert client.lost == []


def test_piled_up_acknowledgements_are_sent_in_small_groups() -> None:
    # Long ids: Linux drops some of many small segments for a small buffer, and then waits ever longer to repeat them.
    ids, acknowledged = [f"{ack:01000}" for ack in range(6_000)], list[str]()
    many, further = ids[:4_000], ids[4_000:]

    def script(session: FakeStompSession) -> None:
        session.welcome()
        subscribe = session.read()
        session.receipt(subscribe)
        number = subscribe.headers["id"]
        session.write(b"".join(message(number, ack, b"body") for ack in many))
        acknowledged.extend(session.read().headers["id"] for _ in range(100))  # there is room again, for a few
        session.write(b"".join(message(number, ack, bytes(4_000)) for ack in further))
        acknowledged.extend(session.read().headers["id"] for _ in range(len(ids) - 100))
        session.until_gone()

    with FakeStompBroker(script, receive_bytes=262_144) as broker:
        client, got = StompConversation(broker.endpoint()), list[Delivery]()

        def take(delivery: Delivery) -> None:
            if not got:
                client.connection._wire.socket.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 65_536)
            got.append(delivery)
            client.connection.settle(delivery)

        client.connection.subscribe(Subscription(ORDERS), take)
        until(lambda: len(acknowledged) == len(ids))
        client.connection.close()
    assert acknowledged == ids
    assert client.lost == []


def message(subscription: str, ack: str, body: bytes) -> bytes:
    head = f"MESSAGE\nsubscription:{subscription}\nack:{ack}\ncontent-length:{len(body)}\n\n"
    return head.encode() + body + b"\0\n"


@pytest.mark.parametrize(
    ("script", "error", "says"),
    [
        (lambda session: session.read() and None, ConnectFailed, "went away before it answered"),
        (lambda session: session.welcome(b"ERROR\nmessage:bad password.\n\n\0"), Refused, "'alice': bad password."),
        (lambda session: session.welcome(b"ERROR\nmessage:already connected\n\n\0"), ConnectFailed, "for now: already"),
        (lambda session: session.until_gone(), ConnectFailed, r"did not answer within 3 s"),
    ],
    ids=["hangs up", "refuses", "is not ready", "is silent"],
)
def test_a_broker_that_does_not_let_us_in_is_told_apart(
    script: Script, error: type[DriverError], says: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    with FakeStompBroker(script) as broker, pytest.raises(error, match=says) as caught:
        StompConversation(broker.endpoint(), timeout_s=3)
    assert "broker fake at 127.0.0.1:" in str(caught.value)
    assert ALICE.password not in caplog.text + str(caught.value)


def test_a_failing_callback_ends_the_connection_and_says_so() -> None:
    def script(session: FakeStompSession) -> None:
        session.welcome()
        session.read()
        session.write(b"MESSAGE\nsubscription:nobody's\n\n\0")
        session.until_gone()

    with FakeStompBroker(script) as broker:
        client = StompConversation(broker.endpoint())
        send(client, 1, durable=False)
        until(lambda: bool(client.lost))
        client.connection.close()
    assert "handling a MESSAGE frame failed" in client.lost[0]


def test_an_unanswered_subscription_gives_the_broker_up() -> None:
    def script(session: FakeStompSession) -> None:
        session.welcome()
        session.read()
        session.read()

    with FakeStompBroker(script) as broker:
        client = StompConversation(broker.endpoint())
        client.connection._timeout_s = 0.3  # its patience from here on
        with pytest.raises(ConnectionError, match=r"no answer to the subscription of /queue/orders in 0\.3 s"):
            client.connection.subscribe(Subscription(ORDERS), lambda delivery: None)
        until(lambda: len(client.lost) == 1)
        client.connection.close()


def test_silence_trips_the_heartbeat_even_while_a_send_is_blocked() -> None:
    silent = threading.Event()

    def script(session: FakeStompSession) -> None:
        session.welcome(b"CONNECTED\nversion:1.2\nheart-beat:200,200\n\n\0\n")
        silent.wait(60)

    with FakeStompBroker(script) as broker:
        client = StompConversation(broker.endpoint("?heartbeat_ms=200"))
        big = Outgoing(ORDERS, b"x" * 1_000_000, False, None)

        def send_until_blocked() -> None:
            for _ in range(100):
                client.connection.send(big)

        with pytest.raises(ConnectionError):
            send_until_blocked()
        until(lambda: len(client.lost) == 1)
        assert "no heart-beat from the broker for " in client.lost[0]
        client.connection.close()
        silent.set()


def test_nothing_follows_a_write_that_was_broken_off(monkeypatch: pytest.MonkeyPatch) -> None:
    """As when Locust kills a user's greenlet in the middle of a send."""

    def script(session: FakeStompSession) -> None:
        session.welcome()
        session.until_gone()

    with FakeStompBroker(script) as broker:
        client = StompConversation(broker.endpoint())
        with monkeypatch.context() as patch:
            patch.setattr(client.connection._wire, "socket", _BreaksOff(client.connection._wire.socket))
            with pytest.raises(KeyboardInterrupt):
                send(client, 1)
        until(lambda: client.lost == ["a write was interrupted"])
        with pytest.raises(ConnectionError, match="a write was interrupted"):
            send(client, 2)
        client.connection.close()


class _BreaksOff:
    """A socket that is interrupted when half of the data has gone."""

    def __init__(self, sock: socket.socket):
        self._sock = sock

    def send(self, data: bytes) -> int:
        self._sock.sendall(data[: len(data) // 2])
        raise KeyboardInterrupt

    def shutdown(self, how: int) -> None:
        self._sock.shutdown(how)


def test_close_from_a_callback_does_not_wait_for_itself() -> None:
    def script(session: FakeStompSession) -> None:
        session.welcome()
        session.receipt(session.read())
        session.until_gone()

    with FakeStompBroker(script) as broker:
        closed = threading.Event()

        def close(*_what: object) -> None:
            connection.close()
            closed.set()

        connection = StompConnector().connect(
            broker.endpoint(), ALICE, client_id="", timeout_s=2, on_settled=close, on_lost=lambda reason: None
        )
        connection.send(Outgoing(ORDERS, b"x" * 40, True, 1))
        assert closed.wait(60)
        until(lambda: "gone" in repr(connection))


def test_a_name_that_stomp_cannot_carry_is_refused_before_anything_is_written() -> None:
    odd = Destination("queue", "a\0b")

    def script(session: FakeStompSession) -> None:
        session.welcome()
        session.until_gone()

    with FakeStompBroker(script) as broker:
        client = StompConversation(broker.endpoint())
        with pytest.raises(Refused, match=r"broker fake: STOMP SEND header destination: .* NUL"):
            client.connection.send(Outgoing(odd, b"x" * 40, True, 1))
        with pytest.raises(Refused, match=r"broker fake: STOMP SUBSCRIBE header destination: .* NUL"):
            client.connection.subscribe(Subscription(odd), lambda delivery: None)
        client.connection.close()
    assert client.lost == []


def test_a_batch_is_whole_frames_and_each_receipt_settles_its_own_send() -> None:
    frames = []

    def script(session: FakeStompSession) -> None:
        session.welcome()
        frames.extend(session.read() for _ in range(3))
        session.receipt(frames[2])
        session.receipt(frames[0])
        session.until_gone()

    with FakeStompBroker(script) as broker:
        client = StompConversation(broker.endpoint())
        bodies = [b"first", b"\0second\n\n\0", b""]
        messages = [Outgoing(ORDERS, body, durable=body != bodies[1], token=body) for body in bodies]
        sent_ns = client.connection.send_batch(messages)
        until(lambda: len(client.settled) == 2)
        client.connection.close()
    assert [frame.body for frame in frames] == bodies
    assert ["receipt" in frame.headers for frame in frames] == [True, False, True]
    assert [(token, outcome) for token, outcome, _, _ in client.settled] == [
        (b"", Outcome.ACKED),
        (b"first", Outcome.ACKED),
    ]
    assert all(at_ns > sent_ns for _, _, at_ns, _ in client.settled)


def test_a_batch_on_a_connection_that_is_gone_leaves_nothing_to_be_settled() -> None:
    def script(session: FakeStompSession) -> None:
        session.welcome()
        session.read()

    with FakeStompBroker(script) as broker:
        client = StompConversation(broker.endpoint())
        send(client, 0, durable=False)
        until(lambda: bool(client.lost))
        with pytest.raises(ConnectionError):
            client.connection.send_batch([Outgoing(ORDERS, b"x", True, 1), Outgoing(ORDERS, b"y", True, 2)])
        assert client.connection._unsettled == {}
        client.connection.close()


def test_deliveries_are_acknowledged_by_token_before_disconnecting() -> None:
    tokens = [f"ID\\c{number}\\\\" for number in range(100)]
    frames = []

    def script(session: FakeStompSession) -> None:
        session.welcome()
        number = session.read()
        session.receipt(number)
        head = f"MESSAGE\nsubscription:{number.headers['id']}\ncontent-length:1\nack:"
        session.write("".join(f"{head}{token}\n\nx\0\n" for token in tokens).encode())
        while (frame := session.read()).command != "DISCONNECT":
            frames.append(frame)
        session.receipt(frame)
        session.until_gone()

    with FakeStompBroker(script) as broker:
        client = StompConversation(broker.endpoint())
        taken: list[Delivery] = []

        def take(delivery: Delivery) -> None:
            client.connection.settle(delivery)
            taken.append(delivery)

        client.connection.subscribe(Subscription(ORDERS), take)
        until(lambda: len(taken) == len(tokens))
        client.connection.close()
    assert [(frame.command, frame.headers["id"]) for frame in frames] == [("ACK", token) for token in tokens]


def test_a_delivery_may_be_acknowledged_later_and_by_another_thread() -> None:
    frames = []

    def script(session: FakeStompSession) -> None:
        session.welcome()
        number = session.read()
        session.receipt(number)
        session.write(f"MESSAGE\nsubscription:{number.headers['id']}\nack:7\n\nx\0".encode())
        frames.append(session.read())
        session.until_gone()

    with FakeStompBroker(script) as broker:
        client = StompConversation(broker.endpoint())
        taken: list[Delivery] = []
        client.connection.subscribe(Subscription(ORDERS), taken.append)
        until(lambda: bool(taken))
        client.connection.settle(taken[0])
        until(lambda: bool(frames))
        client.connection.close()
    assert (frames[0].command, frames[0].headers["id"]) == ("ACK", "7")


def test_what_is_no_stomp_ends_the_connection_and_says_so() -> None:
    def script(session: FakeStompSession) -> None:
        session.welcome()
        session.read()
        session.write(b"MESSAGE\ncontent-length:much\n\n\0")
        session.until_gone()

    with FakeStompBroker(script) as broker:
        client = StompConversation(broker.endpoint())
        send(client, 0, durable=False)
        until(lambda: bool(client.lost))
        client.connection.close()
    assert client.lost == ["the received data is not STOMP: content-length b'much' is not a number"]
