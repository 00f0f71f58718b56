"""Checks on a real broker what only the STOMP driver does. stomp/test_gevent.py runs it under gevent too.

The contract itself is tested by tests/drivers/conformance.
"""

import random
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from drivers.broker_errors import LOGINS
from drivers.contract import ConnectFailed, DriverError, Outcome, Refused, Subscription
from drivers.jvm import vm
from drivers.stomp.connection import CLOSE_TIMEOUT_S
from drivers.stomp.connector import StompConnector
from records.identity import Identity, stamp
from scenarios.java_parts import find_java_parts
from tests.drivers.java_bench import RUN, bench_on
from tests.support.brokers import frozen, running, stomp_upstream
from tests.support.relay import Relay
from tests.support.stomp_clients import Client, Connect, body, queue
from tests.support.waiting import until
from topologies.model.endpoints import Credentials, Endpoint
from topologies.runtimes.contract import Runtime

pytestmark = pytest.mark.brokers
vm.use(find_java_parts)
BROKER = "broker-1"


@pytest.fixture
def connect(single_broker: Runtime) -> Iterator[Connect]:
    """Opens clients of the shared broker, and closes them."""
    clients: list[Client] = []

    def opened(**options: object) -> Client:
        endpoint = single_broker.endpoint(BROKER, "stomp")
        clients.append(Client(endpoint, single_broker.credentials(), **options))  # type: ignore[arg-type]
        return clients[-1]

    yield opened
    for client in clients:
        client.close()


@pytest.mark.parametrize("body_bytes", [32, 33, 1_024, 65_536, 10_485_760])
def test_a_body_of_any_bytes_comes_back_exactly(connect: Connect, body_bytes: int) -> None:
    anything = random.Random(body_bytes).randbytes(body_bytes - 4) + b"\0\n\n\0"
    places, client = queue("bodies"), connect()
    client.listen(places)
    client.send(places, anything, bytes(body_bytes))
    client.received(2)
    assert [delivery.body for delivery in client.got] == [anything, bytes(body_bytes)]


def test_a_name_with_every_special_character_is_one_queue(connect: Connect) -> None:
    odd, client = queue("a:b\\c\nreceipt:x\r é"), connect()
    client.listen(odd)
    client.send(odd, body(5))
    assert client.received(1)[0].seq == 5


def test_a_selector_that_is_none_is_refused_in_the_brokers_words(connect: Connect) -> None:
    client = connect()
    with pytest.raises(Refused, match=r"refused to subscribe /queue/selected.*: a b c"):
        client.connection.subscribe(Subscription(queue("selected"), selector="a b c"), client.got.append)


def test_a_wrong_password_is_refused_by_name_and_not_repeated(single_broker: Runtime) -> None:
    username = single_broker.credentials().username
    with pytest.raises(Refused) as caught:
        Client(single_broker.endpoint(BROKER, "stomp"), Credentials(username, "letmein"))
    words = str(caught.value)
    assert f"broker {BROKER} at 127.0.0.1:" in words
    assert f"refused user {username!r}: User name [{username}] or password is invalid." in words
    assert "Check the user name and the password" in words
    assert "letmein" not in words


@pytest.mark.parametrize("hang_ups", [1, 2])
def test_a_broker_that_hangs_up_on_a_login_is_asked_again_for_its_reason(single_broker: Runtime, hang_ups: int) -> None:
    # A real one does so now and then: it stops a connection that it refuses, and has not wholly started, at once.
    wrong = Credentials(single_broker.credentials().username, "letmein")
    with Relay(stomp_upstream(single_broker, BROKER), hang_ups=hang_ups) as relay:
        endpoint = Endpoint(BROKER, "stomp", f"stomp://127.0.0.1:{relay.port}")
        with pytest.raises(Refused, match="password is invalid"):
            Client(endpoint, wrong)
        right = Client(endpoint, single_broker.credentials())
        right.send(queue("let-in"), body(1))
        assert right.outcomes(1) == [Outcome.ACKED]
        right.close()


def test_a_broker_that_hangs_up_on_every_login_is_left_in_the_end(single_broker: Runtime) -> None:
    with Relay(stomp_upstream(single_broker, BROKER), hang_ups=100) as relay:
        with pytest.raises(ConnectFailed, match="went away before it answered: the broker closed the connection"):
            Client(Endpoint(BROKER, "stomp", f"stomp://127.0.0.1:{relay.port}"), single_broker.credentials())
        assert relay.hang_ups == 100 - LOGINS


def test_a_port_where_nobody_listens_could_not_be_reached() -> None:
    with pytest.raises(ConnectFailed, match=r"broker b at 127\.0\.0\.1:1 could not be reached: .*Connection refused"):
        Client(Endpoint("b", "stomp", "stomp://127.0.0.1:1"), Credentials("u", "p"))


def test_browsing_finds_every_message_whole_and_takes_none(single_broker: Runtime, connect: Connect) -> None:
    orders, client = queue("browse"), connect()
    bodies = [body(seq, 32 + seq % 90) for seq in range(3_000)]
    client.send(orders, *bodies)
    client.outcomes(3_000)
    endpoint, credentials = single_broker.endpoint(BROKER, "stomp"), single_broker.credentials()
    for _ in range(2):
        found = StompConnector().browse(endpoint, credentials, orders.name, timeout_s=30)
        assert [each.body for each in found] == bodies
        assert all(each.age_ns is not None and -1e9 < each.age_ns < 300e9 for each in found)
    client.listen(orders)
    client.received(3_000)
    until(lambda: StompConnector().browse(endpoint, credentials, orders.name, timeout_s=30) == [])


def test_a_connection_leaves_no_thread_behind(connect: Connect) -> None:
    before = set(threading.enumerate())
    clients = [connect(heartbeat_ms=20_000) for _ in range(5)]
    clients[0].send(queue("threads"), *(body(seq) for seq in range(50)))
    assert len(set(threading.enumerate()) - before) == 10
    for client in clients:
        client.close()
        client.close()
    assert set(threading.enumerate()) - before == set()
    assert clients[0].outcomes(50) == [Outcome.ACKED] * 50
    assert [client.lost for client in clients] == [[]] * 5


def test_an_idle_connection_stays_up_by_its_heartbeats(connect: Connect) -> None:
    client = connect(heartbeat_ms=3_000)
    time.sleep(8)  # without them the broker gives up after six seconds at the latest
    client.send(queue("idle"), body(1))
    assert client.outcomes(1) == [Outcome.ACKED]
    assert client.lost == []


def test_a_frozen_broker_trips_the_heartbeat_once(single_broker: Runtime, connect: Connect) -> None:
    client = connect(heartbeat_ms=1_500)
    with frozen(single_broker, BROKER):
        until(lambda: bool(client.lost))
        endpoint, credentials = single_broker.endpoint(BROKER, "stomp"), single_broker.credentials()
        with pytest.raises(DriverError, match="did not answer within 1 s"):
            StompConnector().browse(endpoint, credentials, "any", timeout_s=1)
        began_s = time.monotonic()
        client.close()
        assert time.monotonic() - began_s < CLOSE_TIMEOUT_S, "there is no goodbye to wait for"
    assert len(client.lost) == 1
    assert client.lost[0].startswith("no heart-beat from the broker for ")
    with pytest.raises(ConnectionError):
        client.send(queue("frozen"), body(1))


def test_closing_towards_a_frozen_broker_is_bounded(single_broker: Runtime, connect: Connect) -> None:
    client = connect(heartbeat_ms=0)
    with frozen(single_broker, BROKER):
        began_s = time.monotonic()
        client.close()
        assert CLOSE_TIMEOUT_S - 0.5 < time.monotonic() - began_s < CLOSE_TIMEOUT_S + 30
    assert client.lost == []


@pytest.mark.nightly  # conformance/test_troubles.py has a broker that is lost
def test_a_killed_broker_is_lost_once_by_each_connection(tmp_path: Path) -> None:
    with running("single", tmp_path) as runtime:
        endpoint, credentials = runtime.endpoint(BROKER, "stomp"), runtime.credentials()
        clients = [Client(endpoint, credentials) for _ in range(3)]
        orders = queue("killed")
        clients[0].listen(orders)
        clients[1].send(orders, body(1))
        clients[0].received(1)
        runtime.kill(BROKER)
        until(lambda: all(client.lost for client in clients))
        clients[1].connection.settle(clients[0].got[0])
        with pytest.raises(ConnectionError):
            clients[1].send(orders, body(2))
        for client in clients:
            client.close()
        assert [len(client.lost) for client in clients] == [1, 1, 1]
        with pytest.raises(ConnectFailed, match="could not be reached"):
            Client(endpoint, credentials)


@pytest.mark.nightly  # lifecycle/test_steady.py has the hops of messages that crossed links
def test_a_message_across_one_link_says_one_hop(tmp_path: Path) -> None:
    with running("source-and-sink", tmp_path) as runtime:
        source, sink = (Client(runtime.endpoint(name, "stomp"), runtime.credentials()) for name in ("source", "sink"))
        orders = queue("hops")
        sink.listen(orders, settle=False)
        source.send(orders, body(1))
        sink.received(1)
        assert sink.got[0].hops == 1
        sink.close()

        again = Client(runtime.endpoint("sink", "stomp"), runtime.credentials())
        again.listen(orders)
        again.received(1)
        assert (again.got[0].redelivered, again.got[0].hops) == (True, 1)
        again.close()

        by_openwire = bench_on(runtime, tmp_path, ["sink"])
        by_openwire.opened().consumer(Subscription(orders), run=RUN)
        local = Client(runtime.endpoint("sink", "stomp"), runtime.credentials())
        for seq, client in enumerate((source, local)):
            client.send(orders, stamp(Identity(RUN, 1, seq, 0), 64))
        until(lambda: by_openwire.statistics.receipts == 2)
        hops_by_seq = {row["seq"]: row["hops"] for row in by_openwire.tables()["receipts"]}
        assert hops_by_seq == {0: 1, 1: 0}
        local.close()
        source.close()
