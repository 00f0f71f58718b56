"""The brokers in memory keep the driver's contract, and do the harm that a test orders."""

import threading
import time
from collections import Counter
from collections.abc import Iterator
from random import Random

import pytest

from drivers.client.contract import ProducerSettings
from drivers.contract import (
    ConnectFailed,
    Delivery,
    Destination,
    MessageHeaders,
    Outcome,
    Outgoing,
    Refused,
    Subscription,
)
from drivers.memory.connector import MemoryConnection, MemoryConnector
from drivers.memory.network import MemoryNetwork, Tampering
from tests.drivers.doubles import BENCH, RUN, KeepingRecorder, client_of, eventually, memory_uri
from topologies.model.endpoints import Credentials, Endpoint

ORDERS = Destination.parse("queue://orders")
PRICES = Destination.parse("topic://prices")


class MemoryBench:
    """A network of two brokers, with the callbacks of its connections."""

    def __init__(self, **options: object) -> None:
        self.network = MemoryNetwork(["a", "b"], **options)  # type: ignore[arg-type]
        self.connector = MemoryConnector(self.network)
        self.answers: list[tuple[object, Outcome, str]] = []
        self.lost: list[str] = []
        self.deliveries: list[Delivery] = []

    def connect(self, broker: str = "a", client_id: str = "x", timeout_s: float = 60.0) -> MemoryConnection:
        return self.connector.connect(
            self.network.endpoint(broker),
            BENCH,
            client_id=client_id,
            timeout_s=timeout_s,
            on_settled=lambda token, outcome, _, reason: self.answers.append((token, outcome, reason)),
            on_lost=self.lost.append,
        )

    def send(self, connection: MemoryConnection, *bodies: bytes, to: Destination = ORDERS) -> None:
        for body in bodies:
            connection.send(Outgoing(to, body, True, body))

    def subscribe(self, connection: MemoryConnection, **options: object) -> None:
        connection.subscribe(Subscription(ORDERS, **options), self.deliveries.append)  # type: ignore[arg-type]

    def received(self) -> list[bytes]:
        return [delivery.body for delivery in self.deliveries]


@pytest.fixture
def bench() -> Iterator[MemoryBench]:
    new_bench = MemoryBench()
    yield new_bench
    new_bench.network.close()


def test_a_message_crosses_the_network_and_is_answered(bench: MemoryBench) -> None:
    here, there = bench.connect("a"), bench.connect("b")
    bench.subscribe(here)
    bench.send(here, b"1")
    bench.subscribe(there)
    eventually(lambda: bench.received() == [b"1"] and bench.answers)
    here.settle(bench.deliveries[0])
    bench.send(here, b"2", b"3")
    eventually(lambda: len(bench.deliveries) == 3)
    assert {delivery.body: delivery.hops for delivery in bench.deliveries} == {b"1": 0, b"2": 0, b"3": 1}
    assert bench.answers == [(body, Outcome.ACKED, "") for body in (b"1", b"2", b"3")]
    assert [stored.body for stored in bench.network.browse("orders")] == [b"2", b"3"]


def test_a_send_that_is_not_durable_gets_no_answer(bench: MemoryBench) -> None:
    connection = bench.connect()
    connection.send(Outgoing(ORDERS, b"1", False, "token"))
    connection.close()
    assert bench.answers == []


def test_prefetch_limits_what_is_not_acknowledged(bench: MemoryBench) -> None:
    connection = bench.connect()
    bench.subscribe(connection, prefetch=2)
    bench.send(connection, b"1", b"2", b"3")
    eventually(lambda: len(bench.deliveries) == 2)
    connection.settle(bench.deliveries[1])
    eventually(lambda: bench.received() == [b"1", b"2", b"3"])


def test_what_was_not_acknowledged_comes_again_marked_and_in_order(bench: MemoryBench) -> None:
    earlier = bench.connect("a")
    bench.subscribe(earlier)
    bench.send(earlier, b"1", b"2", b"3")
    eventually(lambda: len(bench.deliveries) == 3)
    earlier.settle(bench.deliveries[0])
    bench.network.kill("a")
    bench.subscribe(bench.connect("b"))
    eventually(lambda: len(bench.deliveries) == 5)
    assert [(delivery.body, delivery.redelivered) for delivery in bench.deliveries[3:]] == [(b"2", True), (b"3", True)]


def test_a_killed_broker_loses_its_connections_and_takes_none(bench: MemoryBench) -> None:
    connection = bench.connect("a")
    bench.network.kill("a")
    eventually(lambda: bench.lost == ["broker a was killed"])
    with pytest.raises(ConnectionError, match="the connection to a is gone"):
        bench.send(connection, b"1")
    with pytest.raises(ConnectFailed, match="broker a is not running"):
        bench.connect("a")
    bench.network.restore("a")
    bench.connect("a")
    assert bench.network.connections("a") == 1


def test_what_was_on_its_way_to_a_connection_dies_with_its_broker(bench: MemoryBench) -> None:
    connection, reading, go_on = bench.connect("a"), threading.Event(), threading.Event()

    def read_slowly(delivery: Delivery) -> None:
        bench.deliveries.append(delivery)
        reading.set()
        go_on.wait(60)

    connection.subscribe(Subscription(ORDERS), read_slowly)
    bench.send(connection, b"1", b"2")
    reading.wait(60)
    bench.network.kill("a")
    go_on.set()
    eventually(lambda: bench.lost)
    assert bench.received() == [b"1"]


def test_a_frozen_broker_answers_what_it_was_sent_once_thawed(bench: MemoryBench) -> None:
    connection = bench.connect()
    bench.subscribe(connection)
    bench.network.freeze("a")
    bench.send(connection, b"1")
    with pytest.raises(ConnectFailed, match=r"did not answer within 0\.01 s"):
        bench.connect("a", timeout_s=0.01)
    assert (bench.answers, bench.deliveries) == ([], [])
    bench.network.thaw("a")
    eventually(lambda: bench.answers and bench.deliveries)


def test_what_a_frozen_broker_was_sent_dies_with_it(bench: MemoryBench) -> None:
    connection = bench.connect()
    bench.network.freeze("a")
    bench.send(connection, b"1")
    bench.network.kill("a")
    assert bench.network.browse("orders") == []


def test_a_broker_that_holds_its_answers_keeps_the_message(bench: MemoryBench) -> None:
    connection = bench.connect()
    bench.network.hold_answers("a")
    bench.send(connection, b"1")
    bench.network.kill("a")
    assert bench.answers == []
    assert [stored.body for stored in bench.network.browse("orders")] == [b"1"]


@pytest.mark.parametrize(
    ("tampering", "expected"),
    [
        (Tampering.DROP, [b"1", b"3"]),
        (Tampering.DUPLICATE, [b"1", b"2", b"2", b"3"]),
        (Tampering.HOLD_BACK, [b"1", b"3", b"2"]),
        (Tampering.CORRUPT, [b"1", bytes([ord("2") ^ 0xFF]), b"3"]),
    ],
)
def test_the_chosen_message_is_tampered_with_though_confirmed(
    bench: MemoryBench, tampering: Tampering, expected: list[bytes]
) -> None:
    connection = bench.connect()
    bench.network.tamper(tampering, "queue://orders", 2)
    bench.send(connection, b"1", b"2", b"3")
    connection.close()
    assert [stored.body for stored in bench.network.browse("orders")] == expected
    assert [outcome for _, outcome, _ in bench.answers] == [Outcome.ACKED] * 3


def test_refused_logins_and_wrong_passwords_are_refused() -> None:
    bench = MemoryBench(credentials=BENCH)
    bench.network.refuse_logins("a")
    with pytest.raises(Refused, match="user name or password"):
        bench.connect("a")
    bench.network.refuse_logins("a", refuse=False)
    bench.connect("a").close()
    stranger = Credentials("bench", "wrong")
    with pytest.raises(Refused):
        bench.connector.browse(bench.network.endpoint("a"), stranger, "orders", timeout_s=60)


def test_a_refused_destination_fails_sends_and_subscriptions(bench: MemoryBench) -> None:
    connection = bench.connect()
    bench.network.refuse("queue://orders")
    bench.send(connection, b"1")
    with pytest.raises(Refused, match="broker a refuses subscriptions to queue://orders"):
        bench.subscribe(connection)
    connection.close()
    assert bench.answers == [(b"1", Outcome.FAILED, "broker a accepts no messages for queue://orders")]


def test_a_selector_that_does_not_parse_is_refused(bench: MemoryBench) -> None:
    with pytest.raises(Refused, match="broker a: selector 'color = ': at character 9"):
        bench.subscribe(bench.connect(), selector="color = ")


def test_what_no_selector_matches_stays_and_lets_others_pass(bench: MemoryBench) -> None:
    producer, consumer = bench.connect(), bench.connect("b")
    bench.subscribe(consumer, selector="color = 'red'", prefetch=1)
    for body, color in ((b"1", "blue"), (b"2", "red"), (b"3", "red")):
        producer.send(Outgoing(ORDERS, body, True, body, MessageHeaders({"color": color})))
    eventually(lambda: bench.received() == [b"2"])
    consumer.settle(bench.deliveries[0])
    eventually(lambda: bench.received() == [b"2", b"3"])
    assert [stored.body for stored in bench.network.browse("orders")] == [b"3", b"1"]


def test_a_message_expires_where_it_waits_and_not_once_it_was_delivered() -> None:
    now_ns = [0]
    bench = MemoryBench(clock=lambda: now_ns[0])
    producer, consumer = bench.connect(), bench.connect()
    bench.subscribe(consumer, prefetch=1)
    for body in (b"1", b"2"):
        producer.send(Outgoing(ORDERS, body, True, body, MessageHeaders(time_to_live_ms=1)))
    now_ns[0] = 1_000_000
    assert bench.network.depths() == {"orders": 1, "ExpiryQueue": 1}
    (dead,) = bench.network.browse("ExpiryQueue")
    assert (dead.body, dead.expired) == (b"2", True)
    eventually(lambda: bench.received() == [b"1"])
    bench.network.close()


def test_leftovers_are_browsed_with_their_age_and_stay(bench: MemoryBench) -> None:
    connection = bench.connect("a")
    bench.send(connection, b"1")
    for _ in range(2):
        (leftover,) = bench.connector.browse(bench.network.endpoint("b"), BENCH, "orders", timeout_s=60)
        assert leftover.body == b"1"
        assert (leftover.age_ns or 0) > 0
    assert bench.connector.browse(bench.network.endpoint("b"), BENCH, "empty", timeout_s=60) == []


def test_topic_subscribers_get_all_messages_and_durable_ones_missed_messages(bench: MemoryBench) -> None:
    publisher, reader = bench.connect("a", "publisher"), bench.connect("b", "reader")
    plain, durable = list[Delivery](), list[Delivery]()
    reader.subscribe(Subscription(PRICES), plain.append)
    reader.subscribe(Subscription(PRICES, durable_name="book"), durable.append)
    bench.send(publisher, b"1", to=PRICES)
    eventually(lambda: plain and durable)
    reader.settle(durable[0])
    reader.close()
    bench.send(publisher, b"2", to=PRICES)
    again = bench.connect("a", "reader")
    again.subscribe(Subscription(PRICES), plain.append)
    again.subscribe(Subscription(PRICES, durable_name="book"), durable.append)
    eventually(lambda: len(durable) == 2)
    assert [delivery.body for delivery in durable] == [b"1", b"2"]
    assert [delivery.body for delivery in plain] == [b"1"]


def test_a_durable_subscription_is_taken_by_one_connection_at_a_time(bench: MemoryBench) -> None:
    book = Subscription(PRICES, durable_name="book")
    bench.connect("a").subscribe(book, print)
    with pytest.raises(Refused, match="durable subscription x/book of topic://prices is in use"):
        bench.connect("b").subscribe(book, print)


def test_a_delayed_delivery_takes_its_time() -> None:
    bench = MemoryBench(delivery_delay_s=0.03)
    connection = bench.connect()
    bench.subscribe(connection)
    began_ns = time.perf_counter_ns()
    bench.send(connection, b"1", b"2")
    eventually(lambda: bench.received() == [b"1", b"2"])
    assert bench.deliveries[0].received_ns - began_ns >= 30_000_000
    bench.network.close()


def test_closing_politely_calls_back_what_is_on_its_way_and_never_tells_a_loss(bench: MemoryBench) -> None:
    connection = bench.connect()
    connection.subscribe(
        Subscription(ORDERS), lambda delivery: (bench.deliveries.append(delivery), connection.settle(delivery))
    )
    bench.send(connection, *(b"%d" % n for n in range(100)))
    connection.close()
    connection.close()
    bench.network.kill("a")
    assert len(bench.answers) == len(bench.deliveries) == 100
    assert bench.network.browse("orders") == []
    assert bench.lost == []


def test_an_unknown_broker_is_named(bench: MemoryBench) -> None:
    with pytest.raises(KeyError, match="no broker 'z' in this network: there are a, b"):
        bench.network.kill("z")
    for uri in ("memory://z", "stomp://a:1"):
        with pytest.raises(ConnectFailed, match=r"no(t a)? broker"):
            bench.connector.browse(Endpoint("z", "memory", uri), BENCH, "orders", timeout_s=60)


@pytest.mark.parametrize("seed", range(12))
def test_under_random_losses_no_row_is_lost_or_doubled_and_no_acked_message_either(seed: int) -> None:
    """Brokers are frozen, killed and brought back while two producers send and a consumer receives."""
    chance, network, recorder = Random(seed), MemoryNetwork("abc"), KeepingRecorder()
    connector = MemoryConnector(network)
    clients = [client_of(connector, recorder, memory_uri("abc", "initialReconnectDelay=1"), number=n) for n in range(3)]
    for client in clients:
        client.open()
    consumer = clients[0].consumer(Subscription(ORDERS, prefetch=5), run=RUN, on_receipt=lambda *_: None)
    producers = [c.producer(ORDERS, ProducerSettings(), run=RUN, on_settled=lambda *_: None) for c in clients[1:]]
    for seq in range(300):
        for producer in producers:
            producer.send(seq, 64, seq)
        if chance.random() < 0.1:
            harm(network, chance)
    for broker in "abc":
        network.thaw(broker)
        network.kill(broker)  # what a broker kept back as unanswered is in doubt now
        network.restore(broker)
    assert all(producer.wait_settled(60) for producer in producers)
    eventually(lambda: len({row[2:4] for row in recorder.receipts}) == 600)
    for client in reversed(clients):
        client.close()
    rows = Counter((row.producer, row.seq, row.attempt) for row in recorder.sends)
    assert set(rows.values()) == {1}
    for number in (1, 2):
        for seq in range(300):
            outcomes = sorted((row.attempt, row.outcome) for row in recorder.sends if row[:2] == (number, seq))
            assert outcomes == [(n, "in_doubt") for n in range(1, len(outcomes))] + [(len(outcomes), "acked")]
    assert consumer.received == len(recorder.receipts)
    assert {row.integrity for row in recorder.receipts} == {"intact"}
    balance = Counter(row.event for row in recorder.connections)
    assert balance["connected"] == balance["lost"] + balance["closed"]


def harm(network: MemoryNetwork, chance: Random) -> None:
    broker = chance.choice("abc")
    chance.choice([network.freeze, network.hold_answers, lambda _: None])(broker)
    if chance.random() < 0.7:
        network.kill(broker)
        network.restore(broker)
    else:
        network.thaw(broker)
