"""Checks that STOMP works over TLS, and that untrusted brokers are reported. Runs with and without gevent."""

import threading

import pytest
import trustme

from drivers.contract import Destination, DriverError, Outcome, Outgoing, Subscription
from drivers.stomp.connection import StompConnection
from drivers.stomp.connector import StompConnector
from tests.drivers.doubles import KeepingRecorder, client_of
from tests.support.fake_stomp import FakeStompBroker, FakeStompSession
from tests.support.waiting import until
from topologies.model.endpoints import Credentials, Endpoint
from topologies.model.trust import Trust

OURS = trustme.CA()
HERE = OURS.issue_cert("127.0.0.1")
TRUST = Trust(OURS.cert_pem.bytes().decode())


class ConnectionOwner:
    """Opens connections, and records their callbacks."""

    def __init__(self) -> None:
        self.outcomes: list[Outcome] = []
        self.lost: list[str] = []

    def connect(self, endpoint: Endpoint, trust: Trust = TRUST, timeout_s: float = 60) -> StompConnection:
        return StompConnector(heartbeat_ms=0, trust=trust).connect(
            endpoint,
            Credentials("anna", "s3cret"),
            client_id="",
            timeout_s=timeout_s,
            on_settled=lambda _token, outcome, _at, _why: self.outcomes.append(outcome),
            on_lost=self.lost.append,
        )


def welcoming(session: FakeStompSession) -> None:
    session.welcome()
    session.until_gone()


def test_sends_are_confirmed_and_the_goodbye_is_polite() -> None:
    owner = ConnectionOwner()
    with FakeStompBroker(welcoming, HERE) as broker:
        connection = owner.connect(broker.endpoint())
        for number in range(100):
            connection.send(Outgoing(Destination("queue", "q"), bytes(10_000), True, number))
        until(lambda: len(owner.outcomes) == 100)
        connection.close()
    assert set(owner.outcomes) == {Outcome.ACKED}
    assert owner.lost == []


def test_messages_arrive_while_others_are_sent() -> None:
    def pushing(session: FakeStompSession) -> None:
        session.welcome()
        subscribe = session.read()
        session.receipt(subscribe)
        for number in range(200):
            head = f"MESSAGE\nsubscription:{subscribe.headers['id']}\nmessage-id:{number}\nack:{number}\n"
            session.write(f"{head}destination:/queue/q\ncontent-length:5000\n\n".encode() + bytes(5_000) + b"\0\n")
        session.until_gone()

    owner, bodies = ConnectionOwner(), list[bytes]()
    with FakeStompBroker(pushing, HERE) as broker:
        connection = owner.connect(broker.endpoint())

        connection.subscribe(Subscription(Destination("queue", "q")), lambda delivery: bodies.append(delivery.body))
        for number in range(200):
            connection.send(Outgoing(Destination("queue", "q"), bytes(5_000), True, number))
        until(lambda: len(bodies) == 200 and len(owner.outcomes) == 200)
        connection.close()
    assert {len(body) for body in bodies} == {5_000}


def test_a_broker_that_goes_is_told() -> None:
    def going(session: FakeStompSession) -> None:
        session.welcome()
        session.read()

    owner = ConnectionOwner()
    with FakeStompBroker(going, HERE) as broker:
        connection = owner.connect(broker.endpoint())
        connection.send(Outgoing(Destination("queue", "q"), b"", False, 1))
        until(lambda: owner.lost != [])
    assert owner.lost == ["the broker closed the connection"]


def test_a_client_ends_when_its_broker_returns_untrusted() -> None:
    let_go = threading.Event()

    def welcoming_for_a_while(session: FakeStompSession) -> None:
        session.welcome()
        let_go.wait(60)

    with FakeStompBroker(welcoming_for_a_while, HERE) as broker:
        server = broker.endpoint().uri
        at = server.partition("://")[2]
        connector, recorder = StompConnector(heartbeat_ms=0, trust=TRUST), KeepingRecorder()
        uri = f"failover:({server})?initialReconnectDelay=1"
        client = client_of(connector, recorder, uri, brokers={at: "fake"})
        client.open()
        broker.show(trustme.CA().issue_cert("127.0.0.1"))
        let_go.set()
        until(lambda: ("lost", "fake") in recorder.events())
        with pytest.raises(DriverError) as caught:
            client.usable()
        client.close()
    error = str(caught.value)
    assert error.startswith(f"producers client 1: no broker of failover:({server})?initialReconnectDelay=1 is trusted")
    assert f"trusted any longer: broker fake at {at}: its certificate is not to be trusted" in error
    assert "--ca-file" in error
    assert recorder.events() == [("attempt", "fake"), ("connected", "fake"), ("lost", "fake"), ("attempt", "fake")]
