"""Checks how the AMQP driver handles replies that real brokers give rarely, by a scripted broker."""

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
from tests.support.fake_amqp import NOBODY, FakeBroker, Script
from tests.support.waiting import until

ORDERS = Destination("queue", "orders")


class Told:
    """A connection, and what its owner heard."""

    def __init__(self, broker: FakeBroker, query: str = "", timeout_s: float = 60) -> None:
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
    class Answering(Script):
        def on_message(self, event: Any) -> None:
            answer(self, event.delivery)

    return Answering()


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
    with FakeBroker(answering(answer)) as broker:
        told = Told(broker)
        told.send(b"1")
        until(lambda: bool(told.settled))
        told.connection.close()
    assert told.settled == [(b"1", Outcome.FAILED, expected)]
    assert told.lost == []


def test_a_send_of_which_the_broker_says_only_how_much_it_has_received_waits_for_its_outcome() -> None:
    def receive_then_accept(script: Script, delivery: Any) -> None:
        delivery.update(Transfer.RECEIVED)
        script.later.append(lambda: script.accept(delivery))

    with FakeBroker(answering(receive_then_accept)) as broker:
        told = Told(broker)
        told.send(b"1")
        until(lambda: bool(told.settled))
        told.connection.close()
    assert told.settled == [(b"1", Outcome.ACKED, "")]


def test_a_send_that_the_broker_settles_without_an_outcome_is_in_doubt() -> None:
    with FakeBroker(answering(lambda script, delivery: delivery.settle())) as broker:
        told = Told(broker)
        told.send(b"1")
        until(lambda: bool(told.settled))
        told.connection.close()
    assert told.settled == [(b"1", Outcome.IN_DOUBT, "the broker settled it without an outcome")]


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

    with FakeBroker(Stingy(credit=1)) as broker:
        told = Told(broker)
        told.connection.send_batch([Outgoing(ORDERS, body, True, body) for body in (b"1", b"2", b"3")])
        until(lambda: len(told.settled) == 3)
        told.connection.close()
    assert [token for token, _, _ in told.settled] == [b"1", b"2", b"3"]


def test_a_sender_that_waits_for_credit_learns_of_the_loss() -> None:
    with FakeBroker(Script(credit=0)) as broker:
        told, raised = Told(broker, "?idle_timeout_ms=0"), list[str]()

        def send() -> None:
            try:
                told.send(b"1")
            except ConnectionError as error:
                raised.append(str(error))

        sending = threading.Thread(target=send)
        sending.start()
        time.sleep(0.2)
        assert sending.is_alive()
        told.connection._wire.lose("cut by the test")
        sending.join(60)
    assert raised == [f"broker b at 127.0.0.1:{broker.script.port}: cut by the test"]
    assert told.lost == ["cut by the test"]


class Forbidding(Script):
    def on_link_opening(self, event: Any) -> None:
        self.end(event.link, "amqp:unauthorized-access", "anna may not\n\tat broker.java:1")


def test_a_destination_that_is_refused_is_named_with_the_brokers_words_and_the_connection_stays() -> None:
    with FakeBroker(Forbidding()) as broker:
        told = Told(broker)
        words = "queue://orders: amqp:unauthorized-access: anna may not$"
        for _ in range(2):
            with pytest.raises(Refused, match=f"broker b takes no messages for {words}"):
                told.send(b"1")
            with pytest.raises(Refused, match=f"broker b refused to subscribe {words}"):
                told.connection.subscribe(Subscription(ORDERS), told.got.append)
        told.connection.close()
    assert told.lost == []


def test_a_link_that_the_broker_ends_later_costs_the_connection() -> None:
    class Changing(Script):
        def on_message(self, event: Any) -> None:
            event.link.condition = Condition("amqp:resource-deleted", "the queue is gone")
            event.link.close()

    with FakeBroker(Changing()) as broker:
        told = Told(broker)
        told.send(b"1")
        until(lambda: bool(told.lost))
    assert told.lost[0].endswith("amqp:resource-deleted: the queue is gone")
    assert told.settled == []


def test_a_broker_that_closes_the_connection_is_quoted_once() -> None:
    class Stopping(Script):
        def on_message(self, event: Any) -> None:
            event.connection.condition = Condition("amqp:connection:forced", "the broker is about to stop")
            event.connection.close()

    with FakeBroker(Stopping()) as broker:
        told = Told(broker)
        told.send(b"1")
        until(lambda: bool(told.lost))
        told.connection.close()
    assert told.lost == ["the broker closed the connection: amqp:connection:forced: the broker is about to stop"]


@pytest.mark.parametrize(
    ("said", "kind"),
    [("client c already connected", ConnectFailed), ("no such virtual host", Refused)],
)
def test_a_broker_that_closes_at_once_refuses_for_good_or_for_now(said: str, kind: type[DriverError]) -> None:
    class Unwelcoming(Script):
        def on_connection_opening(self, event: Any) -> None:
            event.connection.properties = {symbol(NOT_WELCOME): True}
            self.end(event.connection, "amqp:invalid-field", said)

    with FakeBroker(Unwelcoming()) as broker, pytest.raises(kind, match=said):
        Told(broker)


def test_a_silent_broker_is_given_up_after_the_idle_timeout_and_closing_is_bounded() -> None:
    class Frozen(Script):
        def on_message(self, event: Any) -> None:
            time.sleep(4)

    with FakeBroker(Frozen()) as broker:
        told = Told(broker, "?idle_timeout_ms=1500")
        told.send(b"1")
        until(lambda: bool(told.lost))
        began_s = time.monotonic()
        told.connection.close()
    assert time.monotonic() - began_s < CLOSE_TIMEOUT_S
    assert told.lost == ["no sign of life from the broker for 1.5 s"]


def test_an_attachment_that_is_never_answered_is_given_up() -> None:
    class Ignoring(Script):
        def on_link_opening(self, event: Any) -> None:
            self.end(event.connection, "amqp:internal-error", "too late")
            time.sleep(4)

    with FakeBroker(Ignoring()) as broker:
        told = Told(broker)
        told.connection._attachments._timeout_s = 0.5  # its patience from here on
        with pytest.raises(ConnectionError, match=r"no answer to the subscription of queue://orders in 0\.5 s"):
            told.connection.subscribe(Subscription(ORDERS), told.got.append)
        until(lambda: bool(told.lost))


def test_an_answer_that_was_under_way_is_heard_before_the_goodbye() -> None:
    class Slow(Script):
        def on_message(self, event: Any) -> None:
            time.sleep(0.3)
            self.accept(event.delivery)

    with FakeBroker(Slow()) as broker:
        told = Told(broker)
        told.send(b"1")
        told.connection.close()
    assert told.settled == [(b"1", Outcome.ACKED, "")]


def test_a_callback_may_close_the_connection() -> None:
    class Pushing(Script):
        def on_link_opening(self, event: Any) -> None:
            super().on_link_opening(event)
            event.link.send(Message(body=b"1", inferred=True))

    with FakeBroker(Pushing()) as broker:
        told = Told(broker)

        def take(delivery: Delivery) -> None:
            told.got.append(delivery)
            told.connection.close()

        told.connection.subscribe(Subscription(ORDERS), take)
        until(lambda: bool(told.got))
        until(lambda: not told.connection._wire._reader.is_alive())
    assert [delivery.body for delivery in told.got] == [b"1"]
    assert told.lost == []


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

    with FakeBroker(Fetching()) as broker:
        found = AmqpConnector().browse(broker.endpoint(), NOBODY, "orders", timeout_s=20)
    assert [each.body for each in found] == [b"1", b"2", b"3"]
    assert all(each.age_ns is not None and 4e9 < each.age_ns < 30e9 for each in found)


def test_browsing_a_broker_that_never_comes_to_an_end_says_how_far_it_came() -> None:
    class Silent(Script):
        def on_sendable(self, event: Any) -> None:
            """Neither sends nor drains."""

    with (
        FakeBroker(Silent()) as broker,
        pytest.raises(DriverError, match=r"queue orders of broker b: no end after 4 s, 0"),
    ):
        AmqpConnector().browse(broker.endpoint(), NOBODY, "orders", timeout_s=4)
