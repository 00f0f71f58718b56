"""Checks how AMQP transactions handle each reply of a broker's coordinator, by a scripted broker."""

import threading
from typing import Any

import pytest
from proton import Condition, Described, Terminus, symbol, ulong

from drivers.amqp.connection import AmqpConnection
from drivers.amqp.connector import AmqpConnector
from drivers.amqp.engine import DECLARED, TRANSACTIONAL
from drivers.contract import Destination, Outcome, Outgoing, Refused
from tests.support.fake_amqp import NOBODY, FakeBroker, Script
from tests.support.waiting import until

ORDERS = Destination("queue", "orders")
ACCEPTED = Described(ulong(0x24), [])
REJECTED = Described(symbol("amqp:rejected:list"), [])


class Told:
    """A connection, and what its owner heard."""

    def __init__(self, broker: FakeBroker) -> None:
        self.settled: list[tuple[object, Outcome, str]] = []
        self.lost: list[str] = []
        self.connection: AmqpConnection = AmqpConnector().connect(
            broker.endpoint(),
            NOBODY,
            client_id="c",
            timeout_s=60,
            on_settled=lambda token, outcome, _, reason: self.settled.append((token, outcome, reason)),
            on_lost=self.lost.append,
        )


def outgoing(*tokens: bytes, durable: bool = True) -> list[Outgoing]:
    return [Outgoing(ORDERS, token, durable, token) for token in tokens]


class Coordinator(Script):
    """Declares what it is asked to, takes messages for the time being, and discharges. Override what shall differ."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: list[Any] = []
        self.number = 0

    def on_message(self, event: Any) -> None:
        if event.link.target.type == Terminus.COORDINATOR:
            self.on_control(event.delivery, event.message.body.descriptor, event.message.body.value)
        else:
            (transaction,), body = event.delivery.remote.data, bytes(event.message.body)
            self.seen.append((event.delivery.remote_state, bytes(transaction), body))
            self.on_part(event.delivery, body)

    def on_control(self, delivery: Any, what: str, values: Any) -> None:
        self.seen.append((what, *(bytes(each) if isinstance(each, memoryview) else each for each in values)))
        if what == "amqp:declare:list":
            self.number += 1
            self.answer(delivery, DECLARED, [b"tx-%d" % self.number])
        else:
            self.accept(delivery)

    def on_part(self, delivery: Any, body: bytes) -> None:
        self.answer(delivery, TRANSACTIONAL, [b"tx-1", ACCEPTED])

    def answer(self, delivery: Any, state: int, data: list[Any]) -> None:
        delivery.local.data = data
        delivery.update(state)
        delivery.settle()

    def refuse(self, delivery: Any, words: str) -> None:
        delivery.local.condition = Condition("amqp:transaction:rollback", words)
        self.reject(delivery)


def test_each_transfer_names_the_transaction_and_the_discharge_settles_them() -> None:
    script = Coordinator()
    with FakeBroker(script) as broker:
        told = Told(broker)
        transaction = told.connection.begin()
        transaction.send_batch(outgoing(b"a"))
        transaction.send_batch(outgoing(b"b", durable=False))
        until(lambda: len(script.seen) == 3)
        assert told.settled == []
        transaction.commit()
        assert told.settled == [(b"a", Outcome.ACKED, ""), (b"b", Outcome.ACKED, "")]
        told.connection.close()
    assert script.seen == [
        ("amqp:declare:list", None),
        (TRANSACTIONAL, b"tx-1", b"a"),
        (TRANSACTIONAL, b"tx-1", b"b"),
        ("amqp:discharge:list", b"tx-1", False),
    ]
    assert told.lost == []


def test_an_aborted_transaction_is_discharged_as_failed() -> None:
    script = Coordinator()
    with FakeBroker(script) as broker:
        told = Told(broker)
        transaction = told.connection.begin()
        transaction.send_batch(outgoing(b"a"))
        transaction.abort()
        told.connection.close()
    assert script.seen[-1] == ("amqp:discharge:list", b"tx-1", True)
    assert told.settled == [(b"a", Outcome.FAILED, "the transaction was aborted")]


class RefusingB(Coordinator):
    def on_part(self, delivery: Any, body: bytes) -> None:
        if body != b"b":
            super().on_part(delivery, body)
        else:
            self.refuse(delivery, "the queue is full\n\tat broker.java:1")


class RejectingBInTheState(Coordinator):
    def on_part(self, delivery: Any, body: bytes) -> None:
        self.answer(delivery, TRANSACTIONAL, [b"tx-1", REJECTED if body == b"b" else ACCEPTED])


@pytest.mark.parametrize(
    ("script", "words"),
    [
        (RefusingB(), "amqp:transaction:rollback: the queue is full"),
        (RejectingBInTheState(), "the broker answered amqp:rejected:list in the transaction"),
    ],
    ids=["rejected", "transactional state"],
)
def test_a_message_that_is_refused_fails_alone(script: Coordinator, words: str) -> None:
    with FakeBroker(script) as broker:
        told = Told(broker)
        transaction = told.connection.begin()
        transaction.send_batch(outgoing(b"a", b"b", b"c"))
        until(lambda: told.settled == [(b"b", Outcome.FAILED, words)])
        transaction.commit()
        assert told.settled[1:] == [(b"a", Outcome.ACKED, ""), (b"c", Outcome.ACKED, "")]
        told.connection.close()


def test_a_commit_that_is_refused_fails_every_message_in_the_brokers_words() -> None:
    class Refusing(Coordinator):
        def on_control(self, delivery: Any, what: str, values: Any) -> None:
            if what == "amqp:discharge:list":
                self.refuse(delivery, "no room in the store")
            else:
                super().on_control(delivery, what, values)

    with FakeBroker(Refusing()) as broker:
        told = Told(broker)
        transaction = told.connection.begin()
        transaction.send_batch(outgoing(b"a", b"b"))
        transaction.commit()
        words = "amqp:transaction:rollback: no room in the store"
        assert told.settled == [(b"a", Outcome.FAILED, words), (b"b", Outcome.FAILED, words)]
        told.connection.close()


def test_a_broker_that_declares_none_refuses_to_begin() -> None:
    class Refusing(Coordinator):
        def on_control(self, delivery: Any, what: str, values: Any) -> None:
            self.refuse(delivery, "not today")

    with FakeBroker(Refusing()) as broker:
        told = Told(broker)
        with pytest.raises(Refused, match=r"broker b refused to begin a transaction: .*not today"):
            told.connection.begin()
        told.connection.close()
    assert told.lost == []


def test_a_broker_without_a_coordinator_has_no_transactions() -> None:
    class Without(Coordinator):
        def on_link_opening(self, event: Any) -> None:
            self.end(event.link, "amqp:not-implemented", "no coordinator here")

    with FakeBroker(Without()) as broker:
        told = Told(broker)
        with pytest.raises(Refused, match=r"broker b has no transactions for this connection: .*no coordinator here"):
            told.connection.begin()
        told.connection.close()
    assert told.lost == []


def test_a_connection_lost_in_the_commit_leaves_its_messages_unsettled_and_says_so() -> None:
    class Leaving(Coordinator):
        def on_control(self, delivery: Any, what: str, values: Any) -> None:
            if what == "amqp:discharge:list":
                self.end(delivery.connection, "amqp:connection:forced", "going down")
            else:
                super().on_control(delivery, what, values)

    with FakeBroker(Leaving()) as broker:
        told = Told(broker)
        transaction = told.connection.begin()
        transaction.send_batch(outgoing(b"a"))
        with pytest.raises(ConnectionError, match="going down"):
            transaction.commit()
        until(lambda: bool(told.lost))
        with pytest.raises(ConnectionError):
            told.connection.begin()
        assert told.settled == []


def test_a_broker_that_never_declares_is_given_up_and_whoever_waits_learns_of_a_loss() -> None:
    class Silent(Coordinator):
        def on_control(self, delivery: Any, what: str, values: Any) -> None:
            self.seen.append(what)

    script, raised = Silent(), list[str]()
    with FakeBroker(script) as broker:
        told = Told(broker)

        def begin() -> None:
            try:
                told.connection.begin()
            except ConnectionError as error:
                raised.append(str(error))

        beginning = threading.Thread(target=begin)
        beginning.start()
        until(lambda: script.seen == ["amqp:declare:list"])
        told.connection.close()
        beginning.join(60)
    assert len(raised) == 1
    assert "broker b at" in raised[0]
