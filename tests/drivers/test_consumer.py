"""Every delivery is recorded and then acknowledged, on whichever broker the consumer is."""

import time
from collections.abc import Callable

import pytest

from drivers.client.contract import ProducerSettings
from drivers.client.work import Work
from drivers.contract import Delivery, Destination, DriverError, Refused, Subscription
from drivers.memory.connector import MemoryConnector
from drivers.memory.network import MemoryNetwork
from records.loads.identity import Identity, stamp
from records.tables.schemas import ReceiptRow
from tests.drivers.doubles import (
    BENCH,
    RUN,
    KeepingRecorder,
    ScriptedConnection,
    ScriptedConnector,
    client_of,
    eventually,
    memory_uri,
    stomp_uri,
)

ORDERS = Subscription(Destination.parse("queue://orders"))


def delivery(body: bytes, *, redelivered: bool = False, hops: int | None = 1) -> Delivery:
    return Delivery(body, time.perf_counter_ns(), redelivered, hops, "token")


def body_of(seq: int) -> bytes:
    return stamp(Identity(RUN, 11, seq, 2), 64)


def failing(times: int, error: Exception) -> Callable[[], None]:
    """A callable that raises this number of times, then works."""
    errors = [error] * times

    def act() -> None:
        if errors:
            raise errors.pop()

    return act


def test_a_delivery_is_recorded_acknowledged_and_handed_on() -> None:
    recorder, connector, received = KeepingRecorder(), ScriptedConnector(), list[tuple[ReceiptRow, bytes]]()
    client = client_of(connector, recorder, stomp_uri(), number=4)
    client.open()
    consumer = client.consumer(ORDERS, run=RUN, on_receipt=lambda *receipt: received.append(receipt))
    connection = connector.connections[0]
    came = delivery(body_of(5), redelivered=True)
    connection.subscriptions[0][1](came)
    client.close()
    assert recorder.receipts == [(4, "orders", 11, 5, 2, "queue://orders", "a", came.received_ns, True, "intact", 1)]
    assert connection.settled == [came]
    assert consumer.received == 1
    ((row, body),) = received
    assert (row.seq, row.attempt, len(body)) == (5, 2, 64)


@pytest.mark.parametrize(
    ("body", "integrity", "producer"),
    [
        (body_of(5)[:-1] + b"?", "corrupted", 11),
        (b"?" + body_of(5)[1:], "unreadable", -1),
        (stamp(Identity(RUN + 1, 11, 5, 1), 64), "foreign", -1),
        (b"", "foreign", -1),
        (b"hello 7", "foreign", -1),
    ],
)
def test_a_body_that_is_not_as_sent_is_recorded_as_what_it_is(body: bytes, integrity: str, producer: int) -> None:
    recorder, connector = KeepingRecorder(), ScriptedConnector()
    client = client_of(connector, recorder, stomp_uri())
    client.open()
    client.consumer(ORDERS, run=RUN, on_receipt=lambda *_: None)
    connector.connections[0].subscriptions[0][1](delivery(body))
    client.close()
    assert [(row.integrity, row.producer) for row in recorder.receipts] == [(integrity, producer)]
    assert len(connector.connections[0].settled) == 1


def test_after_a_failover_the_consumer_is_subscribed_on_the_next_broker() -> None:
    recorder, connector = KeepingRecorder(), ScriptedConnector()
    client = client_of(connector, recorder, stomp_uri())
    client.open()
    client.consumer(ORDERS, run=RUN, on_receipt=lambda *_: None)
    connector.connections[0].on_lost("reset")
    eventually(lambda: client.broker == "b")
    subscription, take = connector.connections[1].subscriptions[0]
    take(delivery(body_of(0)))
    client.close()
    assert subscription == ORDERS
    assert recorder.receipts[0].broker == "b"
    assert len(connector.connections[1].settled) == 1
    assert [row[:5] for row in recorder.subscriptions] == [(1, "orders", "queue://orders", "queue", "a")]


def test_a_connection_lost_while_subscribing_is_subscribed_on_the_next() -> None:
    def lose_while_subscribing(connection: ScriptedConnection) -> None:
        connection.on_subscribe = failing(1, ConnectionResetError("reset"))

    recorder, connector = KeepingRecorder(), ScriptedConnector(lose_while_subscribing)
    client = client_of(connector, recorder, stomp_uri())
    client.open()
    client.consumer(ORDERS, run=RUN, on_receipt=lambda *_: None)
    assert len(connector.connections[1].subscriptions) == 1
    assert [row[4] for row in recorder.subscriptions] == ["b"]
    client.close()


def test_a_refused_subscription_is_told_and_not_tried_again() -> None:
    def refuse(connection: ScriptedConnection) -> None:
        connection.on_subscribe = failing(9, Refused("no such right"))

    recorder, connector = KeepingRecorder(), ScriptedConnector(refuse)
    client = client_of(connector, recorder, stomp_uri())
    client.open()
    with pytest.raises(DriverError, match="broker a refused user 'bench': no such right"):
        client.consumer(ORDERS, run=RUN, on_receipt=lambda *_: None)
    connector.connections[0].on_lost("reset")
    eventually(lambda: client.broker == "b")
    assert connector.connections[1].subscriptions == []
    client.close()


def test_a_closed_consumer_neither_records_nor_acknowledges() -> None:
    recorder, connector = KeepingRecorder(), ScriptedConnector()
    client = client_of(connector, recorder, stomp_uri())
    client.open()
    consumer = client.consumer(ORDERS, run=RUN, on_receipt=lambda *_: None)
    consumer.close()
    connector.connections[0].subscriptions[0][1](delivery(body_of(0)))
    client.close()
    assert recorder.receipts == []
    assert connector.connections[0].settled == []


def test_each_kind_of_subscription_has_its_name() -> None:
    recorder, connector = KeepingRecorder(), ScriptedConnector()
    client = client_of(connector, recorder, stomp_uri(), number=4, client_id="reader-4")
    client.open()
    prices = Destination.parse("topic://prices")
    for subscription in (ORDERS, Subscription(prices), Subscription(prices, durable_name="book")):
        client.consumer(subscription, run=RUN, on_receipt=lambda *_: None)
    client.close()
    assert [(row[1], row[3]) for row in recorder.subscriptions] == [
        ("orders", "queue"),
        ("prices#4", "topic"),
        ("book", "durable_topic"),
    ]
    assert connector.connections[0].client_id == "reader-4"


def test_a_durable_subscription_without_a_client_id_is_refused() -> None:
    client = client_of(ScriptedConnector(), KeepingRecorder(), stomp_uri())
    with pytest.raises(DriverError, match="durable subscription 'book' without a client id: give Client a client_id"):
        client.consumer(Subscription(Destination.parse("topic://p"), durable_name="book"), run=RUN, on_receipt=print)


def test_a_slow_consumer_acknowledges_each_message_after_its_work() -> None:
    """It records one message at a time."""
    recorder, connector, received = KeepingRecorder(), ScriptedConnector(), list[tuple[ReceiptRow, bytes]]()
    client = client_of(connector, recorder, stomp_uri(), number=4)
    client.open()
    client.consumer(ORDERS, run=RUN, on_receipt=lambda *receipt: received.append(receipt), work=Work(300, 300))
    connection = connector.connections[0]
    came = [delivery(body_of(seq)) for seq in range(3)]
    for message in came:
        connection.subscriptions[0][1](message)
    eventually(lambda: recorder.receipts)
    assert (len(recorder.receipts), connection.settled) == (1, []), "the first is worked on, the others wait"
    eventually(lambda: len(received) == 3)
    client.close()
    assert connection.settled == came
    times_ns = [row.received_ns for row in recorder.receipts]
    assert times_ns[0] == came[0].received_ns, "it was taken as it came"
    assert times_ns[1] - times_ns[0] >= 300_000_000
    assert times_ns[2] - times_ns[1] >= 300_000_000


def test_what_waits_for_a_consumer_when_its_connection_goes_is_left_to_the_broker() -> None:
    recorder, connector = KeepingRecorder(), ScriptedConnector()
    client = client_of(connector, recorder, stomp_uri())
    client.open()
    client.consumer(ORDERS, run=RUN, on_receipt=lambda *_: None, work=Work(200, 200))
    take = connector.connections[0].subscriptions[0][1]
    take(delivery(body_of(0)))
    take(delivery(body_of(1)))
    eventually(lambda: recorder.receipts)
    connector.connections[0].on_lost("reset")
    eventually(lambda: client.broker == "b")
    connector.connections[1].subscriptions[0][1](delivery(body_of(1), redelivered=True))
    eventually(lambda: connector.connections[1].settled)
    client.close()
    assert [(row.seq, row.redelivered, row.broker) for row in recorder.receipts] == [(0, False, "a"), (1, True, "b")]


def test_a_closed_consumer_takes_nothing_of_what_waits_for_it() -> None:
    recorder, connector = KeepingRecorder(), ScriptedConnector()
    client = client_of(connector, recorder, stomp_uri())
    client.open()
    consumer = client.consumer(ORDERS, run=RUN, on_receipt=lambda *_: None, work=Work(200, 200))
    for seq in range(3):
        connector.connections[0].subscriptions[0][1](delivery(body_of(seq)))
    eventually(lambda: recorder.receipts)
    consumer.close()
    eventually(lambda: connector.connections[0].settled)
    time.sleep(0.3)
    client.close()
    assert [row.seq for row in recorder.receipts] == [0]


def test_a_client_that_leaves_acknowledges_what_its_consumer_works_on_first() -> None:
    network, recorder = MemoryNetwork(["a"], credentials=BENCH), KeepingRecorder()
    client = client_of(MemoryConnector(network), recorder, memory_uri("a"))
    client.open()
    producer = client.producer(Destination.parse("queue://orders"), ProducerSettings(), run=RUN)
    for seq in range(3):
        producer.send(seq, 64, due_ns=0)
    client.consumer(ORDERS, run=RUN, on_receipt=lambda *_: None, work=Work(300, 300))
    eventually(lambda: recorder.receipts)
    client.close()
    assert [row.seq for row in recorder.receipts] == [0]
    assert network.depths() == {"orders": 2}
    network.close()


def test_the_consumers_of_a_client_that_leaves_finish_their_work_at_the_same_time() -> None:
    network, recorder = MemoryNetwork(["a"], credentials=BENCH), KeepingRecorder()
    client = client_of(MemoryConnector(network), recorder, memory_uri("a"))
    client.open()
    for number in range(1, 5):
        client.consumer(ORDERS, number=number, run=RUN, on_receipt=lambda *_: None, work=Work(300, 300))
    producer = client.producer(Destination.parse("queue://orders"), ProducerSettings(), run=RUN)
    for seq in range(12):
        producer.send(seq, 64, due_ns=0)
    eventually(lambda: len(recorder.receipts) == 4)
    client.close()
    assert sorted(row.consumer for row in recorder.receipts) == [1, 2, 3, 4], "no consumer took a second message"
    assert network.depths() == {"orders": 8}
    network.close()
