"""Checks the frames of a STOMP transaction and how each reply is handled, by a broker that the test plays."""

import contextlib
import threading
from collections.abc import Callable

import pytest

from drivers.contract import Destination, Outcome, Outgoing
from drivers.stomp import connection as stomp_connection
from drivers.stomp.connection import StompConnection
from drivers.stomp.connector import StompConnector
from tests.support.fake_stomp import FakeStompBroker, FakeStompSession
from topologies.model.endpoints import Credentials

ORDERS = Destination.parse("queue://orders")


class StompTransactionClient:
    """A connection, and its callbacks."""

    def __init__(self, broker: FakeStompBroker) -> None:
        self.settled: list[tuple[object, Outcome, str]] = []
        self.lost: list[str] = []
        self.connection: StompConnection = StompConnector(heartbeat_ms=0).connect(
            broker.endpoint(),
            Credentials("alice", "open sesame"),
            client_id="run:1",
            timeout_s=60,
            on_settled=lambda token, outcome, _at, reason: self.settled.append((token, outcome, reason)),
            on_lost=self.lost.append,
        )


def outgoing(token: object, durable: bool = True) -> Outgoing:
    return Outgoing(ORDERS, b"x" * 40, durable, token)


def playing(
    answers: Callable[[FakeStompSession], None], frames: list[dict[str, str]]
) -> Callable[[FakeStompSession], None]:
    """Let the client in, read BEGIN and two SENDs, then answer."""

    def script(session: FakeStompSession) -> None:
        session.welcome()
        for _ in range(3):
            frame = session.read()
            frames.append({"": frame.command, **frame.headers})
        answers(session)

    return script


def test_each_frame_names_the_transaction_and_only_its_end_settles() -> None:
    frames: list[dict[str, str]] = []
    reached = threading.Event()

    def answers(session: FakeStompSession) -> None:
        for frame in frames[1:]:
            session.write(f"RECEIPT\nreceipt-id:{frame['receipt']}\n\n\0".encode())
        reached.set()
        commit = session.read()
        frames.append({"": commit.command, **commit.headers})
        session.receipt(commit)
        session.until_gone()

    with FakeStompBroker(playing(answers, frames)) as broker:
        client = StompTransactionClient(broker)
        transaction = client.connection.begin()
        transaction.send_batch([outgoing("a"), outgoing("b", durable=False)])
        assert reached.wait(60)
        assert client.settled == []
        transaction.commit()
        assert client.settled == [("a", Outcome.ACKED, ""), ("b", Outcome.ACKED, "")]
        client.connection.close()
    assert [frame[""] for frame in frames] == ["BEGIN", "SEND", "SEND", "COMMIT"]
    assert len({frame["transaction"] for frame in frames}) == 1
    assert [frame.get("persistent") for frame in frames[1:3]] == ["true", None]


def test_a_goodbye_waits_for_the_answer_to_a_commit_since_a_broker_may_hang_up_at_it() -> None:
    reached, order = threading.Event(), list[str]()

    def answers(session: FakeStompSession) -> None:
        commit = session.read()
        reached.set()

        def confirm() -> None:
            order.append("confirmed")
            session.receipt(commit)

        threading.Timer(0.2, confirm).start()
        goodbye = session.read()
        order.append(goodbye.command)
        session.receipt(goodbye)

    with FakeStompBroker(playing(answers, [])) as broker:
        client = StompTransactionClient(broker)
        transaction = client.connection.begin()
        transaction.send_batch([outgoing("a"), outgoing("b")])
        committing = threading.Thread(target=transaction.commit)
        committing.start()
        assert reached.wait(60)
        client.connection.close()
        committing.join(60)
        assert client.settled == [("a", Outcome.ACKED, ""), ("b", Outcome.ACKED, "")]
    assert order == ["confirmed", "DISCONNECT"]
    assert client.lost == []


def test_a_goodbye_does_not_wait_for_a_commit_that_nobody_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stomp_connection, "CLOSE_TIMEOUT_S", 600.0)
    commands = list[str]()

    def answers(session: FakeStompSession) -> None:
        goodbye = session.read()
        commands.append(goodbye.command)
        session.receipt(goodbye)

    with FakeStompBroker(playing(answers, [])) as broker:
        client = StompTransactionClient(broker)
        client.connection.begin().send_batch([outgoing("a"), outgoing("b")])
        client.connection.close()
    assert (commands, client.settled, client.lost) == (["DISCONNECT"], [], [])


def test_a_commit_that_is_not_answered_in_time_ends_with_its_connection_unsettled(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(stomp_connection, "CLOSE_TIMEOUT_S", 0.1)
    reached, troubles = threading.Event(), list[str]()

    def answers(session: FakeStompSession) -> None:
        session.read()
        reached.set()
        with contextlib.suppress(EOFError):
            session.read()
            session.read()

    with FakeStompBroker(playing(answers, [])) as broker:
        client = StompTransactionClient(broker)
        transaction = client.connection.begin()
        transaction.send_batch([outgoing("a"), outgoing("b")])

        def commit() -> None:
            try:
                transaction.commit()
            except ConnectionError as error:
                troubles.append(str(error))

        committing = threading.Thread(target=commit)
        committing.start()
        assert reached.wait(60)
        client.connection.close()
        committing.join(60)
        assert client.settled == []
    assert "closed" in troubles[0]
    assert client.lost == []
