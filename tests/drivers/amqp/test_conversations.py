"""Checks how the AMQP driver handles replies that real brokers give rarely, by a scripted broker."""

import socket
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest
from proton import Condition, Message, symbol
from proton import Delivery as Transfer

from drivers.amqp.connection import CLOSE_TIMEOUT_S, NOT_WELCOME, AmqpConnection
from drivers.amqp.connector import AmqpConnector
from drivers.contract import ConnectFailed, Delivery, Destination, DriverError, Outcome, Outgoing, Refused, Subscription
from tests.drivers.conformance.test_ports import listening, refusal
from tests.support.fake_amqp import NOBODY, FakeAmqpBroker, Script
from tests.support.waiting import until

ORDERS = Destination("queue", "orders")


class AmqpConversation:
    """A connection, and its callbacks."""

    def __init__(self, broker: FakeAmqpBroker, query: str = "", timeout_s: float = 60) -> None:
        self.settled: list[tuple[object, Outcome, str]] = []
        self.lost: list[str] = []
        self.got: list[Delivery] = []
        self.connection: AmqpConnection = AmqpConnector().connect(
            broker.endpoint(query),
            NOBODY,
            client_id="c",
            timeout_s=timeout_s,
            on_settled=lambda token, outcome, _, reason: self.settled.append((token, outcome, reason)),
            on_lost=self.lost.append,
        )

    def send(self, *bodies: bytes, durable: bool = True) -> None:
        for body in bodies:
            self.connection.send(Outgoing(ORDERS, body, durable, body))


class Accepting(Script):
    def on_message(self, event: Any) -> None:
        self.accept(event.delivery)


def answering(answer: Callable[[Script, Any], None]) -> Script:
    class AnsweringScript(Script):
        def on_message(self, event: Any) -> None:
            answer(self, event.delivery)

    return AnsweringScript()


def reject(script: Script, delivery: Any) -> None:
    delivery.local.condition = Condition("amqp:resource-limit-exceeded", "the queue is full\n\tat broker.java:1")
    script.reject(delivery)


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (reject, "amqp:resource-limit-exceeded: the queue is full"),
        (lambda script, delivery: script.release(delivery, delivered=False), "the broker answered released"),
        (lambda script, delivery: script.release(delivery, delivered=True), "the broker answered modified"),
    ],
    ids=["rejected", "released", "modified"],
)
def test_a_send_that_is_not_accepted_has_failed_with_the_brokers_words(
    answer: Callable[[Script, Any], None], expected: str
) -> None:
    with FakeAmqpBroker(answering(answer)) as broker:
        client = AmqpConversation(broker)
        client.send(b"1")
        until(lambda: bool(client.settled))
        client.connection.close()
    assert client.settled == [(b"1", Outcome.FAILED, expected)]
    assert client.lost == []


def test_a_send_that_is_only_partly_received_waits_for_its_outcome() -> None:
    def receive_then_accept(script: Script, delivery: Any) -> None:
        delivery.update(Transfer.RECEIVED)
        script.later.append(lambda: script.accept(delivery))

    with FakeAmqpBroker(answering(receive_then_accept)) as broker:
        client = AmqpConversation(broker)
        client.send(b"1")
        until(lambda: bool(client.settled))
        client.connection.close()
    assert client.settled == [(b"1", Outcome.ACKED, "")]


def test_a_send_that_the_broker_settles_without_an_outcome_is_in_doubt() -> None:
    with FakeAmqpBroker(answering(lambda script, delivery: delivery.settle())) as broker:
        client = AmqpConversation(broker)
        client.send(b"1")
        until(lambda: bool(client.settled))
        client.connection.close()
    assert client.settled == [(b"1", Outcome.IN_DOUBT, "the broker settled it without an outcome")]


def test_a_sender_waits_for_credit_and_goes_on_with_it() -> None:
    class Stingy(Accepting):
        def on_message(self, event: Any) -> None:
            super().on_message(event)
            event.container.schedule(0.05, self)
            self.link = event.link

        def on_timer_task(self, event: Any) -> None:
            super().on_timer_task(event)
            if hasattr(self, "link") and self.link.credit == 0:
                self.link.flow(1)

    with FakeAmqpBroker(Stingy(credit=1)) as broker:
        client = AmqpConversation(broker)
        client.connection.send_batch([Outgoing(ORDERS, body, True, body) for body in (b"1", b"2", b"3")])
        until(lambda: len(client.settled) == 3)
        client.connection.close()
    assert [token for token, _, _ in client.settled] == [b"1", b"2", b"3"]


def test_a_sender_that_waits_for_credit_learns_of_the_loss() -> None:
    with FakeAmqpBroker(Script(credit=0)) as broker:
        client, raised = AmqpConversation(broker, "?idle_timeout_ms=0"), list[str]()

        def send() -> None:
            try:
                client.send(b"1")
            except ConnectionError as error:
                raised.append(str(error))

        sending = threading.Thread(target=send)
        sending.start()
        time.sleep(0.2)
        assert sending.is_alive()
        client.connection._wire.lose("cut by the test")
        sending.join(60)
    assert raised == [f"broker b at 127.0.0.1:{broker.script.port}: cut by the test"]
    assert client.lost == ["cut by the test"]


class Forbidding(Script):
    def on_link_opening(self, event: Any) -> None:
        self.end(event.link, "amqp:unauthorized-access", "anna may not\n\tat broker.java:1")


def test_a_rejected_destination_is_named_and_the_connection_stays() -> None:
    """The error has the broker's words."""
    with FakeAmqpBroker(Forbidding()) as broker:
        client = AmqpConversation(broker)
        words = "queue://orders: amqp:unauthorized-access: anna may not$"
        for _ in range(2):
            with pytest.raises(Refused, match=f"broker b accepts no messages for {words}"):
                client.send(b"1")
            with pytest.raises(Refused, match=f"broker b refused to subscribe {words}"):
                client.connection.subscribe(Subscription(ORDERS), client.got.append)
        client.connection.close()
    assert client.lost == []


def test_a_link_that_the_broker_ends_later_costs_the_connection() -> None:
    class Changing(Script):
        def on_message(self, event: Any) -> None:
            event.link.condition = Condition("amqp:resource-deleted", "the queue is gone")
            event.link.close()

    with FakeAmqpBroker(Changing()) as broker:
        client = AmqpConversation(broker)
        client.send(b"1")
        until(lambda: bool(client.lost))
    assert client.lost[0].endswith("amqp:resource-deleted: the queue is gone")
    assert client.settled == []


def test_a_broker_that_closes_the_connection_is_quoted_once() -> None:
    class Stopping(Script):
        def on_message(self, event: Any) -> None:
            event.connection.condition = Condition("amqp:connection:forced", "the broker is about to stop")
            event.connection.close()

    with FakeAmqpBroker(Stopping()) as broker:
        client = AmqpConversation(broker)
        client.send(b"1")
        until(lambda: bool(client.lost))
        client.connection.close()
    assert client.lost == ["the broker closed the connection: amqp:connection:forced: the broker is about to stop"]


@pytest.mark.parametrize(
    ("reason", "kind"),
    [("client c already connected", ConnectFailed), ("no such virtual host", Refused)],
)
def test_a_broker_that_closes_at_once_refuses_for_good_or_for_now(reason: str, kind: type[DriverError]) -> None:
    class Unwelcoming(Script):
        def on_connection_opening(self, event: Any) -> None:
            event.connection.properties = {symbol(NOT_WELCOME): True}
            self.end(event.connection, "amqp:invalid-field", reason)

    with FakeAmqpBroker(Unwelcoming()) as broker, pytest.raises(kind, match=reason):
        AmqpConversation(broker)


def test_a_silent_broker_is_given_up_after_the_idle_timeout_and_closing_is_bounded() -> None:
    class Frozen(Script):
        def on_message(self, event: Any) -> None:
            time.sleep(4)

    with FakeAmqpBroker(Frozen()) as broker:
        client = AmqpConversation(broker, "?idle_timeout_ms=1500")
        client.send(b"1")
        until(lambda: bool(client.lost))
        began_s = time.monotonic()
        client.connection.close()
    assert time.monotonic() - began_s < CLOSE_TIMEOUT_S
    assert client.lost == ["no sign of life from the broker for 1.5 s"]


def test_an_attachment_that_is_never_answered_is_given_up() -> None:
    class Ignoring(Script):
        def on_link_opening(self, event: Any) -> None:
            self.end(event.connection, "amqp:internal-error", "too late")
            time.sleep(4)

    with FakeAmqpBroker(Ignoring()) as broker:
        client = AmqpConversation(broker)
        client.connection._attachments._timeout_s = 0.5  # its patience from here on
        with pytest.raises(ConnectionError, match=r"no answer to the subscription of queue://orders in 0\.5 s"):
            client.connection.subscribe(Subscription(ORDERS), client.got.append)
        until(lambda: bool(client.lost))


def test_an_answer_that_was_under_way_is_heard_before_the_goodbye() -> None:
    class SlowScript(Script):
        def on_message(self, event: Any) -> None:
            time.sleep(0.3)
            self.accept(event.delivery)

    with FakeAmqpBroker(SlowScript()) as broker:
        client = AmqpConversation(broker)
        client.send(b"1")
        client.connection.close()
    assert client.settled == [(b"1", Outcome.ACKED, "")]


def test_a_callback_may_close_the_connection() -> None:
    class Pushing(Script):
        def on_link_opening(self, event: Any) -> None:
            super().on_link_opening(event)
            event.link.send(Message(body=b"1", inferred=True))

    with FakeAmqpBroker(Pushing()) as broker:
        client = AmqpConversation(broker)

        def take(delivery: Delivery) -> None:
            client.got.append(delivery)
            client.connection.close()

        client.connection.subscribe(Subscription(ORDERS), take)
        until(lambda: bool(client.got))
        until(lambda: not client.connection._wire._reader.is_alive())
    assert [delivery.body for delivery in client.got] == [b"1"]
    assert client.lost == []


def test_a_browser_goes_on_while_the_broker_finds_more() -> None:
    class Fetching(Script):
        at_hand, late = [b"1", b"2"], [b"3"]

        def on_sendable(self, event: Any) -> None:
            link = event.link
            batch = self.late if link.drain_mode else self.at_hand
            while batch:
                link.send(Message(body=batch.pop(0), inferred=True, creation_time=time.time() - 5))
            if link.drain_mode:
                link.drained()

    with FakeAmqpBroker(Fetching()) as broker:
        messages = AmqpConnector().browse(broker.endpoint(), NOBODY, "orders", timeout_s=20)
    assert [message.body for message in messages] == [b"1", b"2", b"3"]
    assert all(message.age_ns is not None and 4e9 < message.age_ns < 30e9 for message in messages)


def test_browsing_a_broker_that_never_comes_to_an_end_says_how_far_it_came() -> None:
    class SilentScript(Script):
        def on_sendable(self, event: Any) -> None:
            """Neither sends nor drains."""

    with (
        FakeAmqpBroker(SilentScript()) as broker,
        pytest.raises(DriverError, match=r"queue orders of broker b: no end after 4 s, after 0"),
    ):
        AmqpConnector().browse(broker.endpoint(), NOBODY, "orders", timeout_s=4)


SASL_INIT = b"\x00\x53\x41"


def offering(*mechanisms: str) -> Callable[[socket.socket], None]:
    """How a broker begins that lets its clients in by any of these; it then says nothing more."""
    names = b"".join(bytes([len(name)]) + name.encode() for name in mechanisms)
    listed = bytes([0xE0, len(names) + 2, len(mechanisms), 0xA3]) + names  # an array of symbols
    performative = b"\x00\x53\x40\xc0" + bytes([len(listed) + 1, 1]) + listed  # sasl-mechanisms: a list of one
    frame = (len(performative) + 8).to_bytes(4, "big") + b"\x02\x01\x00\x00" + performative
    return lambda client: client.sendall(b"AMQP\x03\x01\x00\x00" + frame)


@pytest.mark.parametrize(
    ("offered", "chosen"),
    [(["PLAIN", "ANONYMOUS"], b"PLAIN"), (["ANONYMOUS", "PLAIN"], b"PLAIN"), (["ANONYMOUS"], b"ANONYMOUS")],
)
def test_a_password_is_given_to_whoever_asks_for_one_and_to_nobody_else(offered: list[str], chosen: bytes) -> None:
    written: list[bytes] = []

    def answer(client: socket.socket) -> None:
        offering(*offered)(client)
        while SASL_INIT not in b"".join(written) and (chunk := client.recv(1_024)):
            written.append(chunk)
        client.shutdown(socket.SHUT_RDWR)

    with listening(answer) as port:
        refusal("amqp", port, None)
    assert b"\xa3" + bytes([len(chosen)]) + chosen in b"".join(written), "its sasl-init names the mechanism"
    assert (b"s3cret" in b"".join(written)) == (chosen == b"PLAIN")
