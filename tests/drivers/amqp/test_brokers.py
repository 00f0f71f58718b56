"""Checks on a real broker what only the AMQP driver does. amqp/test_gevent.py runs it under gevent too.

The contract itself is tested by tests/drivers/conformance.
"""

import random
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
import trustme

from drivers.amqp.connection import CLOSE_TIMEOUT_S
from drivers.amqp.connector import AmqpConnector
from drivers.broker_errors import LOGINS
from drivers.contract import DriverError, Outcome, Outgoing, Refused, SendsBatches
from drivers.protocols import connector_of
from tests.drivers.conformance.stages import BROKER, Connect, Peer, RealStage, body, queue
from tests.support.brokers import frozen, running
from tests.support.relay import Relay
from tests.support.waiting import until
from topologies.model.endpoints import Credentials
from topologies.model.trust import Trust
from topologies.runtimes.contract import Runtime

pytestmark = pytest.mark.brokers
OURS = trustme.CA()


def address_of(runtime: Runtime, broker: str = BROKER) -> tuple[str, int]:
    host, _, port = runtime.endpoint(broker, "amqp").uri.partition("://")[2].rpartition(":")
    return host, int(port)


@pytest.fixture
def stage(single_broker: Runtime) -> Iterator[RealStage]:
    with Relay(address_of(single_broker)) as relay:
        endpoint = single_broker.endpoint(BROKER, "amqp")
        yield RealStage(AmqpConnector(), single_broker.credentials(), endpoint, relay)


@pytest.fixture
def connect(stage: RealStage) -> Iterator[Connect]:
    peers: list[Peer] = []

    def opened(query: str = "", **options: object) -> Peer:
        endpoint = replace(stage.endpoint, uri=stage.endpoint.uri + query)
        peers.append(Peer(replace(stage, endpoint=endpoint), **options))  # type: ignore[arg-type]
        return peers[-1]

    yield opened
    for peer in peers:
        peer.close()


def test_a_broker_that_hangs_up_on_a_login_is_asked_again_for_its_reason(single_broker: Runtime) -> None:
    with Relay(address_of(single_broker), hang_ups=LOGINS - 1) as relay:
        endpoint = replace(single_broker.endpoint(BROKER, "amqp"), uri=f"amqp://127.0.0.1:{relay.port}")
        wrong = Credentials(single_broker.credentials().username, "letmein")
        with pytest.raises(Refused, match="user name or password is invalid"):
            Peer(RealStage(AmqpConnector(), wrong, endpoint, relay))
        assert relay.hang_ups == 0


def test_an_idle_connection_stays_up_by_its_empty_frames(connect: Connect) -> None:
    client = connect("?idle_timeout_ms=4000")
    time.sleep(9)
    assert client.lost == []
    client.send(queue("idle"), body(1))
    assert client.outcomes(1) == [Outcome.ACKED]


def test_a_frozen_broker_is_noticed_once_and_closing_towards_one_is_bounded(
    single_broker: Runtime, connect: Connect
) -> None:
    noticing, patient = connect("?idle_timeout_ms=500"), connect("?idle_timeout_ms=0")
    with frozen(single_broker, BROKER):
        until(lambda: bool(noticing.lost))
        began_s = time.monotonic()
        patient.close()
        assert CLOSE_TIMEOUT_S - 0.5 < time.monotonic() - began_s < CLOSE_TIMEOUT_S + 30
    assert noticing.lost == ["no sign of life from the broker for 0.5 s"]
    assert patient.lost == []


def test_messages_cross_by_tls_and_a_body_larger_than_its_records_too(single_broker: Runtime) -> None:
    with Relay(address_of(single_broker), OURS.issue_cert("127.0.0.1")) as relay:
        endpoint = replace(single_broker.endpoint(BROKER, "amqp"), uri=f"amqps://127.0.0.1:{relay.port}")
        trust = Trust(OURS.cert_pem.bytes().decode())
        client = Peer(RealStage(AmqpConnector(trust=trust), single_broker.credentials(), endpoint, relay))
        bodies, places = [random.Random(1).randbytes(size) for size in (32, 1_000, 3_000_000)], queue("tls")
        client.listen(places)
        client.send(places, *bodies)
        client.received(3)
        assert [delivery.body for delivery in client.got] == bodies
        assert client.outcomes(3) == [Outcome.ACKED] * 3
        client.close()
        assert client.lost == []


def test_a_batch_is_settled_message_by_message(connect: Connect) -> None:
    client, orders = connect(), queue("batch")
    assert isinstance(client.connection, SendsBatches)
    client.listen(orders, prefetch=1_000)
    client.connection.send_batch([Outgoing(orders, body(seq), True, seq) for seq in range(2_500)])  # beyond the credit
    assert client.outcomes(2_500) == [Outcome.ACKED] * 2_500
    assert client.seqs(2_500) == list(range(2_500))


@pytest.mark.nightly
def test_a_killed_broker_is_lost_once_by_each_connection(tmp_path: Path) -> None:
    with running("single", tmp_path) as runtime, Relay(address_of(runtime)) as relay:
        stage = RealStage(AmqpConnector(), runtime.credentials(), runtime.endpoint(BROKER, "amqp"), relay)
        clients, orders = [Peer(stage) for _ in range(3)], queue("killed")
        clients[0].listen(orders)
        runtime.kill(BROKER)
        until(lambda: all(client.lost for client in clients))
        with pytest.raises(ConnectionError):
            clients[1].send(orders, body(2))
        for client in clients:
            client.close()
        assert [len(client.lost) for client in clients] == [1, 1, 1]
        with pytest.raises(DriverError, match="could not be reached"):
            Peer(stage)


@pytest.mark.nightly
@pytest.mark.parametrize("receives", ["amqp", "stomp"])
def test_a_message_across_one_link_says_one_hop(tmp_path: Path, receives: str) -> None:
    with running("source-and-sink", tmp_path) as runtime, Relay(address_of(runtime, "source")) as relay:
        source = RealStage(AmqpConnector(), runtime.credentials(), runtime.endpoint("source", "amqp"), relay)
        connector = connector_of(receives, Trust())
        sink = RealStage(connector, runtime.credentials(), runtime.endpoint("sink", receives), relay)
        producer, consumer, orders = Peer(source), Peer(sink), queue("hops")
        consumer.listen(orders)
        producer.send(orders, body(1))
        consumer.received(1)
        assert consumer.got[0].hops == 1
        producer.close()
        consumer.close()
