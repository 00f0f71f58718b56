"""Checks how each driver handles a broker's answers in a transaction, with brokers that the test plays."""

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from typing import Any

import pytest

from drivers.contract import Destination, Outcome, Outgoing, Transacts
from drivers.protocols import connector_of
from tests.support import fake_stomp
from tests.support.waiting import until
from topologies.model.endpoints import Credentials
from topologies.model.trust import Trust

ORDERS, WORDS = Destination("queue", "orders"), "no room here"
Played = AbstractContextManager[Any]
"""A broker, with the method ``endpoint``."""


def by_stomp(refused: bytes, at_commit: str) -> Played:
    def script(session: fake_stomp.FakeStompSession) -> None:
        session.welcome()
        while True:
            frame = session.read()
            if frame.command == "COMMIT" and at_commit == "leave":
                return
            if frame.body == refused or (frame.command == "COMMIT" and at_commit == "refuse"):
                session.write(f"ERROR\nreceipt-id:{frame.headers['receipt']}\nmessage:{WORDS}\n\n\0".encode())
            elif "receipt" in frame.headers:
                session.receipt(frame)

    return fake_stomp.FakeStompBroker(script)


def by_amqp(refused: bytes, at_commit: str) -> Played:
    from tests.drivers.amqp.coordinator import AnsweringCoordinator  # its library is optional
    from tests.support.fake_amqp import FakeAmqpBroker

    return FakeAmqpBroker(AnsweringCoordinator(refused, at_commit))


PLAYED: Mapping[str, Callable[[bytes, str], Played]] = {"stomp": by_stomp, "amqp": by_amqp}
"""Brokers by protocol. They reject messages with the body ``refused``; ``at_commit``: confirm, refuse or leave."""


class AnsweredClient:
    """A connection with a transaction of the messages a, b and c."""

    def __init__(self, protocol: str, broker: Any) -> None:
        self.settled: list[tuple[object, Outcome, bool]] = []  # whether in the broker's words
        self.lost: list[str] = []
        self.connection = connector_of(protocol, Trust()).connect(
            broker.endpoint(),
            Credentials("", ""),
            client_id="c",
            timeout_s=60,
            on_settled=lambda token, outcome, _, reason: self.settled.append((token, outcome, reason.endswith(WORDS))),
            on_lost=self.lost.append,
        )
        assert isinstance(self.connection, Transacts)
        self.transaction = self.connection.begin()
        self.transaction.send_batch([Outgoing(ORDERS, body, True, body) for body in (b"a", b"b", b"c")])


@pytest.fixture(params=PLAYED)
def protocol(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def test_a_message_that_is_refused_fails_alone_and_at_once(protocol: str) -> None:
    with PLAYED[protocol](b"b", "confirm") as broker:
        client = AnsweredClient(protocol, broker)
        until(lambda: client.settled == [(b"b", Outcome.FAILED, True)])
        client.transaction.commit()
        assert client.settled[1:] == [(b"a", Outcome.ACKED, False), (b"c", Outcome.ACKED, False)]
        client.connection.close()
    assert client.lost == []


def test_a_commit_that_is_refused_fails_every_message_in_the_brokers_words(protocol: str) -> None:
    with PLAYED[protocol](b"none", "refuse") as broker:
        client = AnsweredClient(protocol, broker)
        client.transaction.commit()
        assert client.settled == [(token, Outcome.FAILED, True) for token in (b"a", b"b", b"c")]
        client.connection.close()
    assert client.lost == []


def test_a_connection_lost_in_the_commit_leaves_its_messages_unsettled_and_says_so(protocol: str) -> None:
    with PLAYED[protocol](b"none", "leave") as broker:
        client = AnsweredClient(protocol, broker)
        with pytest.raises(ConnectionError, match=rf"^broker {broker.endpoint().broker} at .*closed the connection"):
            client.transaction.commit()
        until(lambda: bool(client.lost))
        assert isinstance(client.connection, Transacts)
        with pytest.raises(ConnectionError):
            client.connection.begin()
        assert client.settled == []
