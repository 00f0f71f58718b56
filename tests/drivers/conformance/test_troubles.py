"""Checks each driver's errors: each names the broker, the problem and the next step, once and without a password."""

import itertools
import re
import socket
import threading
from dataclasses import replace

import pytest

from drivers.contract import ConnectFailed, DriverError, Outcome, Refused
from tests.drivers.conformance.conftest import ALWAYS_NIGHTLY
from tests.drivers.conformance.stages import BROKER, Connect, MemoryStage, Peer, Stage, body, queue
from tests.support.waiting import until
from topologies.model.endpoints import Credentials


@pytest.mark.smoke
def test_a_wrong_password_is_refused_by_name_and_not_repeated(stage: Stage, connect: Connect) -> None:
    wrong = Credentials(stage.credentials.username, "letmein")
    with pytest.raises(Refused) as caught:
        connect(credentials=wrong)
    assert BROKER in str(caught.value)
    assert re.search("user name .*password", str(caught.value).lower())
    assert "letmein" not in str(caught.value)
    if not isinstance(stage, MemoryStage):
        assert "Check the user name and the password" in str(caught.value)
    with pytest.raises(DriverError):
        stage.connector.browse(stage.endpoint, wrong, "any", timeout_s=60)


@pytest.mark.smoke
@pytest.mark.on_artemis(*ALWAYS_NIGHTLY)  # both share client ids there
def test_a_client_id_that_another_one_has_may_be_free_later_or_is_anybodys(stage: Stage, connect: Connect) -> None:
    orders, taken = queue("ids"), queue("only-one").name
    holder = connect(client_id=taken)
    if stage.shares_ids:
        connect(client_id=taken).send(orders, body(0))
    else:
        with pytest.raises(ConnectFailed, match=rf"broker {BROKER} .* away for now: .*{taken}"):
            connect(client_id=taken)
    holder.send(orders, body(1))
    assert holder.outcomes(1) == [Outcome.ACKED], "who has it stays"
    assert holder.lost == []


@pytest.mark.smoke
def test_a_lost_connection_is_told_once_and_everything_on_it_raises_or_does_nothing(
    stage: Stage, connect: Connect
) -> None:
    orders, client = queue("lost"), connect()
    client.listen(orders, settle=False)
    client.send(orders, body(1))
    client.received(1)
    stage.cut()
    until(lambda: bool(client.lost))
    client.connection.settle(client.got[0])
    with pytest.raises(ConnectionError):
        client.send(orders, body(2))
    with pytest.raises(ConnectionError):
        client.listen(orders)
    client.close()
    assert len(client.lost) == 1
    assert client.lost[0]


@pytest.mark.smoke
@pytest.mark.on_artemis("stomp-on-artemis", "amqp-on-artemis")  # by STOMP nothing tells that it came before
def test_what_a_lost_connection_had_comes_again_and_says_so(stage: Stage, connect: Connect) -> None:
    orders, earlier, producer = queue("redelivered"), connect(), connect()
    earlier.listen(orders, settle=False)
    producer.send(orders, *(body(seq) for seq in range(4)))
    producer.outcomes(4)
    earlier.received(4)
    earlier.connection.settle(earlier.got[1])
    earlier.send(queue("afterwards"), body(9))
    earlier.outcomes(1)  # so that the broker has heard the acknowledgement before the connection goes
    stage.cut()
    until(lambda: bool(earlier.lost))
    later = connect()
    later.listen(orders)
    assert later.seqs(3) == [0, 2, 3]
    if stage.tells_losses:
        assert all(delivery.redelivered for delivery in later.got)


def test_a_send_is_answered_or_in_doubt_and_never_both(stage: Stage, connect: Connect) -> None:
    """Cut in the midst of sending: no answers after the loss was reported, and at most one answer per token."""
    orders, client = queue("doubt"), connect()
    threading.Timer(0.05, stage.cut).start()
    with pytest.raises(ConnectionError):
        client.send_all(orders, map(body, itertools.count()))
    until(lambda: bool(client.lost))
    settled = list(client.settled)
    client.close()
    assert client.settled == settled
    tokens = [token for token, *_ in settled]
    assert tokens == list(range(len(tokens)))
    assert {outcome for _, outcome, _, _ in settled} <= {Outcome.ACKED}


@pytest.mark.smoke
def test_a_broker_that_is_not_there_could_not_be_reached(stage: Stage) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    nowhere = replace(stage.endpoint, broker="gone", uri=f"{stage.endpoint.uri.partition('://')[0]}://127.0.0.1:{port}")
    if isinstance(stage, MemoryStage):
        stage.network.kill(BROKER)
        nowhere = stage.endpoint
    with pytest.raises(ConnectFailed, match=r"broker (gone|broker-1) .*(could not be reached|is not running)"):
        stage.connector.connect(nowhere, stage.credentials, client_id="x", timeout_s=5, on_settled=print, on_lost=print)


@pytest.mark.smoke
def test_a_uri_of_another_kind_is_refused_with_what_to_write(stage: Stage) -> None:
    odd = replace(stage.endpoint, uri="gopher://127.0.0.1:70")
    with pytest.raises(DriverError, match=r"gopher.*write "):
        stage.connector.connect(odd, stage.credentials, client_id="x", timeout_s=5, on_settled=print, on_lost=print)


@pytest.mark.smoke
def test_a_connection_leaves_no_thread_behind(connect: Connect) -> None:
    before = set(threading.enumerate())
    peers = [connect() for _ in range(5)]
    peers[0].send(queue("threads"), *(body(seq) for seq in range(50)))
    for peer in peers:
        peer.close()
    until(lambda: not set(threading.enumerate()) - before)  # those of the relay end with the broker's connections
    assert [peer.lost for peer in peers] == [[]] * 5


def test_many_threads_share_one_connection(connect: Connect) -> None:
    orders, client = queue("threads"), connect()
    client.listen(orders)
    senders = [
        threading.Thread(target=client.send, args=(orders, *(body(100 * n + k, 3_000) for k in range(100))))
        for n in range(8)
    ]
    for sender in senders:
        sender.start()
    readings = client.received(800)
    assert {reading.integrity for reading in readings} == {"intact"}
    assert sorted(reading.seq or 0 for reading in readings) == list(range(800))
    assert client.outcomes(800) == [Outcome.ACKED] * 800


def test_a_refused_destination_fails_the_send_or_the_subscription_by_name() -> None:
    stage = MemoryStage()
    stage.network.refuse("queue://forbidden")
    client, forbidden = Peer(stage), replace(queue("x"), name="forbidden")
    client.send(forbidden, body(1))
    assert client.outcomes(1) == [Outcome.FAILED]
    with pytest.raises(Refused, match="queue://forbidden"):
        client.listen(forbidden)
    client.close()
    stage.network.close()
