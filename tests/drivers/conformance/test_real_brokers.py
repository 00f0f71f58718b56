"""Checks each driver on real brokers alone: logins that are broken off, silence, frozen and killed brokers, and TLS.

``test_under_gevent.py`` runs them under gevent too.
"""

import random
import time
from dataclasses import replace
from pathlib import Path

import pytest
import trustme

from drivers.broker_errors import LOGINS
from drivers.contract import ConnectFailed, Outcome, Outgoing, Refused, SendsBatches
from drivers.protocols import connector_of
from drivers.stomp.connection import CLOSE_TIMEOUT_S
from tests.drivers.conformance.stages import BROKER, Peer, RealStage, body, queue
from tests.support.brokers import frozen, running
from tests.support.relay import Relay
from tests.support.waiting import until
from topologies.model.endpoints import Credentials
from topologies.model.trust import Trust
from topologies.runtimes.contract import Runtime

NIGHTLY = [pytest.mark.brokers, pytest.mark.nightly]
OURS = trustme.CA()
TLS_SCHEMES = {"stomp": "stomp+ssl", "amqp": "amqps"}


@pytest.mark.smoke
def test_a_broker_that_hangs_up_on_a_login_is_asked_again_for_its_reason(broker_stage: RealStage) -> None:
    # A real one does so now and then: it stops a connection that it refuses, and has not wholly started, at once.
    broker_stage.relay.hang_ups = LOGINS - 1
    with pytest.raises(Refused, match=f"broker {BROKER} at .* refused user .*password"):
        Peer(broker_stage, credentials=Credentials(broker_stage.credentials.username, "letmein"))
    assert broker_stage.relay.hang_ups == 0
    broker_stage.relay.hang_ups = LOGINS - 1
    let_in = Peer(broker_stage)
    let_in.send(queue("let-in"), body(1))
    assert let_in.outcomes(1) == [Outcome.ACKED]
    let_in.close()


@pytest.mark.smoke
def test_a_broker_that_hangs_up_on_every_login_is_left_in_the_end(broker_stage: RealStage) -> None:
    broker_stage.relay.hang_ups = 100
    with pytest.raises(ConnectFailed, match="went away before it answered: "):
        Peer(broker_stage)
    assert broker_stage.relay.hang_ups == 100 - LOGINS


@pytest.mark.smoke
def test_a_batch_is_settled_message_by_message(broker_stage: RealStage) -> None:
    client, orders = Peer(broker_stage), queue("batch")
    assert isinstance(client.connection, SendsBatches)
    client.listen(orders, prefetch=1_000)
    client.connection.send_batch([Outgoing(orders, body(seq), True, seq) for seq in range(2_500)])  # beyond a credit
    assert client.outcomes(2_500) == [Outcome.ACKED] * 2_500
    assert client.seqs(2_500) == list(range(2_500))
    client.close()


@pytest.mark.smoke
def test_an_idle_connection_stays_up_by_its_signs_of_life(broker_stage: RealStage) -> None:
    client = Peer(broker_stage.silent_for(3_000))
    time.sleep(8)  # without them the broker gives up after six seconds at the latest
    client.send(queue("idle"), body(1))
    assert client.outcomes(1) == [Outcome.ACKED]
    client.close()
    assert client.lost == []


@pytest.mark.smoke
def test_a_frozen_broker_is_noticed_once_and_closing_towards_one_is_bounded(broker_stage: RealStage) -> None:
    noticing, patient = Peer(broker_stage.silent_for(1_500)), Peer(broker_stage.silent_for(0))
    with frozen(broker_stage.runtime, BROKER):
        until(lambda: bool(noticing.lost))
        began_s = time.monotonic()
        noticing.close()
        assert time.monotonic() - began_s < CLOSE_TIMEOUT_S, "no close frame is expected"
        with pytest.raises(ConnectFailed, match="did not answer within 1 s"):
            broker_stage.connector.browse(broker_stage.endpoint, broker_stage.credentials, "any", timeout_s=1)
        began_s = time.monotonic()
        patient.close()
        assert CLOSE_TIMEOUT_S - 0.5 < time.monotonic() - began_s < CLOSE_TIMEOUT_S + 30
    assert len(noticing.lost) == 1
    assert noticing.lost[0].startswith(
        ("no heart-beat from the broker for ", "no sign of life from the broker for 1.5 s")
    )
    assert patient.lost == []
    with pytest.raises(ConnectionError):
        noticing.send(queue("frozen"), body(1))


@pytest.mark.smoke
def test_messages_cross_by_tls_and_a_body_larger_than_its_records_too(broker_stage: RealStage) -> None:
    protocol, bodies, places = broker_stage.endpoint.protocol, list[bytes](), queue("tls")
    with Relay(broker_stage.upstream, OURS.issue_cert("127.0.0.1")) as relay:
        endpoint = replace(broker_stage.endpoint, uri=f"{TLS_SCHEMES[protocol]}://127.0.0.1:{relay.port}")
        connector = connector_of(protocol, Trust(OURS.cert_pem.bytes().decode()))
        client = Peer(replace(broker_stage, connector=connector, endpoint=endpoint))
        bodies += [random.Random(1).randbytes(size) for size in (32, 1_000, 3_000_000)]
        client.listen(places)
        client.send(places, *bodies)
        client.received(3)
        assert [delivery.body for delivery in client.got] == bodies
        assert client.outcomes(3) == [Outcome.ACKED] * 3
        client.close()
        assert client.lost == []


def stage_of(runtime: Runtime, relay: Relay, protocol: str, broker: str = BROKER) -> RealStage:
    """A broker of the test's own, straight."""
    endpoint = runtime.endpoint(broker, protocol)
    return RealStage(connector_of(protocol, Trust()), runtime.credentials(), endpoint, relay, runtime)


@pytest.mark.parametrize("protocol", [pytest.param(protocol, marks=NIGHTLY) for protocol in TLS_SCHEMES])
def test_a_killed_broker_is_lost_once_by_each_connection(tmp_path: Path, protocol: str) -> None:
    with running("single", tmp_path) as runtime, Relay(("127.0.0.1", 1)) as unused:
        stage = stage_of(runtime, unused, protocol)
        clients, orders = [Peer(stage) for _ in range(3)], queue("killed")
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
            Peer(stage)


@pytest.mark.parametrize(
    ("sends", "receives"),
    [pytest.param(*pair, marks=NIGHTLY) for pair in (("stomp", "stomp"), ("amqp", "amqp"), ("amqp", "stomp"))],
)
def test_a_message_across_one_link_says_one_hop_also_when_it_comes_again(
    tmp_path: Path, sends: str, receives: str
) -> None:
    with running("source-and-sink", tmp_path) as runtime, Relay(("127.0.0.1", 1)) as unused:
        sink = stage_of(runtime, unused, receives, "sink")
        producer, consumer, orders = Peer(stage_of(runtime, unused, sends, "source")), Peer(sink), queue("hops")
        consumer.listen(orders, settle=False)
        producer.send(orders, body(1))
        consumer.received(1)
        consumer.close()
        again = Peer(sink)
        again.listen(orders)
        again.received(1)
        assert (consumer.got[0].hops, again.got[0].redelivered, again.got[0].hops) == (1, True, 1)
        for peer in (producer, again):
            peer.close()
