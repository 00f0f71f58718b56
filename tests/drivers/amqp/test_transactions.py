"""Checks how AMQP transactions handle each reply of a broker's coordinator, by a scripted broker."""

import threading
from typing import Any

import pytest
from proton import Described, symbol

from drivers.amqp.connection import AmqpConnection
from drivers.amqp.connector import AmqpConnector
from drivers.amqp.engine import TRANSACTIONAL
from drivers.contract import Destination, Outcome, Outgoing, Refused
from tests.drivers.amqp.coordinator import ACCEPTED, Coordinator
from tests.support.fake_amqp import NOBODY, FakeAmqpBroker
from tests.support.waiting import until

ORDERS = Destination("queue", "orders")
REJECTED = Described(symbol("amqp:rejected:list"), [])


class AmqpTransactionClient:
    """A connection, and its callbacks."""

    def __init__(self, broker: FakeAmqpBroker) -> None:
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


def test_each_transfer_names_the_transaction_and_the_discharge_settles_them() -> None:
    script = Coordinator()
    with FakeAmqpBroker(script) as broker:
        client = AmqpTransactionClient(broker)
        transaction = client.connection.begin()
        transaction.send_batch(outgoing(b"a"))
        transaction.send_batch(outgoing(b"b", durable=False))
        until(lambda: len(script.seen) == 3)
        assert client.settled == []
        transaction.commit()
        assert client.settled == [(b"a", Outcome.ACKED, ""), (b"b", Outcome.ACKED, "")]
        client.connection.close()
    assert script.seen == [
        ("amqp:declare:list", None),
        (TRANSACTIONAL, b"tx-1", b"a"),
        (TRANSACTIONAL, b"tx-1", b"b"),
        ("amqp:discharge:list", b"tx-1", False),
    ]
    assert client.lost == []


def test_an_aborted_transaction_is_discharged_as_failed() -> None:
    script = Coordinator()
    with FakeAmqpBroker(script) as broker:
        client = AmqpTransactionClient(broker)
        transaction = client.connection.begin()
        transaction.send_batch(outgoing(b"a"))
        transaction.abort()
        client.connection.close()
    assert script.seen[-1] == ("amqp:discharge:list", b"tx-1", True)
    assert client.settled == [(b"a", Outcome.FAILED, "the transaction was aborted")]


class RejectingBInTheState(Coordinator):
    def on_part(self, delivery: Any, body: bytes) -> None:
        self.answer(delivery, TRANSACTIONAL, [b"tx-1", REJECTED if body == b"b" else ACCEPTED])


def test_a_message_whose_refusal_is_in_the_transactional_state_fails_alone() -> None:
    with FakeAmqpBroker(RejectingBInTheState()) as broker:
        client = AmqpTransactionClient(broker)
        transaction = client.connection.begin()
        transaction.send_batch(outgoing(b"a", b"b", b"c"))
        words = "the broker answered amqp:rejected:list in the transaction"
        until(lambda: client.settled == [(b"b", Outcome.FAILED, words)])
        transaction.commit()
        assert client.settled[1:] == [(b"a", Outcome.ACKED, ""), (b"c", Outcome.ACKED, "")]
        client.connection.close()


def test_a_broker_that_declares_none_refuses_to_begin() -> None:
    class Refusing(Coordinator):
        def on_control(self, delivery: Any, descriptor: str, values: Any) -> None:
            self.refuse(delivery, "not today")

    with FakeAmqpBroker(Refusing()) as broker:
        client = AmqpTransactionClient(broker)
        with pytest.raises(Refused, match=r"broker b refused to begin a transaction: .*not today"):
            client.connection.begin()
        client.connection.close()
    assert client.lost == []


def test_a_broker_without_a_coordinator_has_no_transactions() -> None:
    class Without(Coordinator):
        def on_link_opening(self, event: Any) -> None:
            self.end(event.link, "amqp:not-implemented", "no coordinator here")

    with FakeAmqpBroker(Without()) as broker:
        client = AmqpTransactionClient(broker)
        with pytest.raises(Refused, match=r"broker b has no transactions for this connection: .*no coordinator here"):
            client.connection.begin()
        client.connection.close()
    assert client.lost == []


def test_a_broker_that_never_declares_is_given_up_and_whoever_waits_learns_of_a_loss() -> None:
    class SilentCoordinator(Coordinator):
        def on_control(self, delivery: Any, descriptor: str, values: Any) -> None:
            self.seen.append(descriptor)

    script, raised = SilentCoordinator(), list[str]()
    with FakeAmqpBroker(script) as broker:
        client = AmqpTransactionClient(broker)

        def begin() -> None:
            try:
                client.connection.begin()
            except ConnectionError as error:
                raised.append(str(error))

        beginning = threading.Thread(target=begin)
        beginning.start()
        until(lambda: script.seen == ["amqp:declare:list"])
        client.connection.close()
        beginning.join(60)
    assert len(raised) == 1
    assert "broker b at" in raised[0]
