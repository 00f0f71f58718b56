"""The OpenWire driver on a real broker."""

import random
import time
from collections.abc import Iterator
from dataclasses import replace
from urllib.parse import urlsplit

import pytest

from drivers.contract import ConnectFailed, Delivery, Destination, Outcome, Outgoing, Refused, Subscription
from drivers.jvm import vm
from drivers.jvm.openwire import OpenWireConnector
from drivers.jvm.vm import java_class
from records.identity import Identity, stamp
from scenarios.java_parts import find_java_parts
from tests.support.relay import Relay
from tests.support.stomp_clients import queue
from tests.support.waiting import until
from topologies.endpoints import Credentials, Endpoint
from topologies.runtimes.contract import Runtime

pytestmark = pytest.mark.brokers
vm.use(find_java_parts)


class Client:
    """An open connection, and what it was told."""

    def __init__(self, runtime: Runtime, client_id: str = "", password: str = "", port: int = 0) -> None:
        self.settled: list[tuple[object, Outcome, int, str]] = []
        self.lost: list[str] = []
        self.got: list[Delivery] = []
        credentials, endpoint = runtime.credentials(), runtime.endpoint("broker-1", "openwire")
        self.connection = OpenWireConnector().connect(
            replace(endpoint, uri=f"tcp://127.0.0.1:{port}") if port else endpoint,
            Credentials(credentials.username, password or credentials.password),
            client_id=client_id,
            timeout_s=60,
            on_settled=lambda *what: self.settled.append(what),
            on_lost=self.lost.append,
        )

    def send(self, to: Destination, *bodies: bytes, durable: bool = True) -> list[int]:
        return [self.connection.send(Outgoing(to, body, durable, n)) for n, body in enumerate(bodies)]

    def listen(self, to: Destination, *, settle: bool = True, prefetch: int = 100) -> int:
        def on_delivery(delivery: Delivery) -> None:
            self.got.append(delivery)
            if settle:
                self.connection.settle(delivery)

        return self.connection.subscribe(Subscription(to, prefetch), on_delivery)


def at(runtime: Runtime) -> tuple[str, int]:
    parts = urlsplit(runtime.endpoint("broker-1", "openwire").uri)
    return str(parts.hostname), int(parts.port or 0)


@pytest.fixture
def clients(single_broker: Runtime) -> Iterator[list[Client]]:
    opened = [Client(single_broker)]
    yield opened
    for client in opened:
        client.connection.close()


def body(seq: int, body_bytes: int = 64) -> bytes:
    return stamp(Identity(77, 1, seq, 1), body_bytes)


def test_javas_nano_time_is_pythons_performance_counter() -> None:
    java = java_class("Hub", "openwire")
    for _ in range(5):
        before, at, after = time.perf_counter_ns(), int(java.now()), time.perf_counter_ns()
        assert before <= at <= after


def test_durable_sends_are_acked_and_one_way_sends_arrive_unconfirmed(clients: list[Client]) -> None:
    orders, client = queue("outcomes"), clients[0]
    before_ns = time.perf_counter_ns()
    sent = client.send(orders, body(0), body(1))
    until(lambda: len(client.settled) == 2)
    assert [(token, outcome, reason) for token, outcome, _, reason in client.settled] == [
        (0, Outcome.ACKED, ""),
        (1, Outcome.ACKED, ""),
    ]
    assert before_ns < sent[0] < client.settled[0][2] < time.perf_counter_ns()
    client.send(orders, body(2), durable=False)
    client.listen(orders)
    until(lambda: len(client.got) == 3)
    assert [delivery.body for delivery in client.got] == [body(0), body(1), body(2)]
    assert {(delivery.redelivered, delivery.hops) for delivery in client.got} == {(False, 0)}
    assert len(client.settled) == 2


@pytest.mark.parametrize("body_bytes", [0, 32, 65_536, 1_048_576])
def test_a_body_of_any_bytes_comes_back_exactly(clients: list[Client], body_bytes: int) -> None:
    anything, places = random.Random(body_bytes).randbytes(body_bytes), queue("bodies")
    clients[0].listen(places)
    clients[0].send(places, anything)
    until(lambda: len(clients[0].got) == 1)
    assert clients[0].got[0].body == anything


def test_what_was_not_acknowledged_comes_again_and_says_so(single_broker: Runtime, clients: list[Client]) -> None:
    orders, first = queue("redelivery"), Client(single_broker)
    clients[0].send(orders, *(body(seq) for seq in range(4)))
    first.listen(orders, settle=False)
    until(lambda: len(first.got) == 4)
    first.connection.settle(first.got[1])
    first.connection.close()
    clients[0].listen(orders)
    until(lambda: len(clients[0].got) == 3)
    assert [delivery.body for delivery in clients[0].got] == [body(0), body(2), body(3)]
    assert {(delivery.redelivered, delivery.hops) for delivery in clients[0].got} == {(True, 0)}
    assert first.lost == []


def test_browsing_finds_every_message_whole_and_takes_none(single_broker: Runtime, clients: list[Client]) -> None:
    orders = queue("browse")
    bodies = [body(seq, 32 + seq % 90) for seq in range(500)]
    clients[0].send(orders, *bodies)
    until(lambda: len(clients[0].settled) == 500)
    where, who = single_broker.endpoint("broker-1", "openwire"), single_broker.credentials()
    for _ in range(2):
        found = OpenWireConnector().browse(where, who, orders.name, timeout_s=30)
        assert [each.body for each in found] == bodies
        assert all(each.age_ns is not None and -1e9 < each.age_ns < 300e9 for each in found)


def test_a_wrong_password_is_refused_in_one_line_without_it(single_broker: Runtime) -> None:
    with pytest.raises(Refused) as caught:
        Client(single_broker, password="letmein")
    words = str(caught.value)
    assert words.startswith("broker broker-1 at 127.0.0.1:")
    assert "password is invalid" in words
    assert "letmein" not in words
    assert "\n" not in words
    assert "Exception" not in words


@pytest.mark.parametrize("hang_ups", [1, 2])
def test_a_broker_that_hangs_up_on_a_login_is_asked_again_for_its_reason(single_broker: Runtime, hang_ups: int) -> None:
    # A real one does so now and then: it stops a connection that it refuses, and has not wholly started, at once.
    with Relay(at(single_broker), hang_ups=hang_ups) as relay, pytest.raises(Refused, match="password is invalid"):
        Client(single_broker, password="letmein", port=relay.port)


def test_a_broker_that_hangs_up_on_every_login_is_left_in_the_end(single_broker: Runtime) -> None:
    with Relay(at(single_broker), hang_ups=100) as relay, pytest.raises(ConnectFailed, match="could not be reached"):
        Client(single_broker, port=relay.port)


def test_a_port_where_nobody_listens_could_not_be_reached() -> None:
    def heard(*_what: object) -> None: ...

    with pytest.raises(ConnectFailed, match=r"broker b at 127\.0\.0\.1:1 could not be reached: .*Connection refused"):
        OpenWireConnector().connect(
            Endpoint("b", "openwire", "tcp://127.0.0.1:1"),
            Credentials("u", "p"),
            client_id="",
            timeout_s=60,
            on_settled=heard,
            on_lost=heard,
        )


def test_a_selector_that_is_none_is_refused(clients: list[Client]) -> None:
    with pytest.raises(Refused, match=r"refused to subscribe queue://selected"):
        clients[0].connection.subscribe(Subscription(queue("selected"), selector="a b c"), clients[0].got.append)
