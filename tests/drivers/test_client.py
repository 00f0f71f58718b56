"""Checks that a client follows its failover URI, records its connections, and leaves in bounded time."""

import threading
import time

import pytest

from drivers.client.contract import ProducerSettings
from drivers.contract import ConnectFailed, Destination, DriverError, Refused, Subscription, Untrusted
from drivers.failover.reconnector import PRIORITY_BACK
from tests.drivers.doubles import (
    RUN,
    KeepingRecorder,
    ScriptedConnection,
    ScriptedConnector,
    client_of,
    eventually,
    stomp_uri,
)

ORDERS = Destination.parse("queue://orders")


def test_attempts_go_down_the_list_until_one_connects() -> None:
    recorder, connector = KeepingRecorder(), ScriptedConnector(ConnectFailed("refused"), OSError("no route"))
    client = client_of(connector, recorder, stomp_uri("abc"))
    client.open()
    assert client.broker == "c"
    assert repr(client) == "Client(producers 1, on c)"
    client.close()
    changes = [(row.event, row.broker, row.reason) for row in recorder.connections]
    assert changes == [
        ("attempt", "a", "refused"),
        ("attempt", "b", "no route"),
        ("attempt", "c", ""),
        ("connected", "c", ""),
        ("closed", "c", ""),
    ]
    times = [row.at_ns for row in recorder.connections]
    assert times == sorted(times)


def test_a_row_names_client_group_and_protocol() -> None:
    recorder = KeepingRecorder()
    client = client_of(ScriptedConnector(), recorder, stomp_uri(), number=9, group="consumers")
    client.open()
    client.close()
    assert {row[:3] for row in recorder.connections} == {(9, "consumers", "stomp")}


def test_a_loss_is_followed_by_the_next_broker_and_told_as_a_move() -> None:
    recorder, connector = KeepingRecorder(), ScriptedConnector()
    client = client_of(connector, recorder, stomp_uri())
    client.open()
    connector.connections[0].on_lost("reset by peer")
    eventually(lambda: client.broker == "b")
    client.close()
    assert recorder.events() == [
        ("attempt", "a"),
        ("connected", "a"),
        ("lost", "a"),
        ("attempt", "b"),
        ("connected", "b"),
        ("moved", "b"),
        ("ready", "b"),
        ("closed", "b"),
    ]
    reasons = {row.event: row.reason for row in recorder.connections}
    assert (reasons["lost"], reasons["moved"]) == ("reset by peer", "from a")
    causes = [(row.event, row.from_broker, row.cause) for row in recorder.connections if row.event != "attempt"]
    assert causes == [
        ("connected", None, None),
        ("lost", None, "lost"),
        ("connected", "a", "lost"),
        ("moved", "a", "lost"),
        ("ready", "a", "lost"),
        ("closed", None, "closed"),
    ]


def test_a_return_to_the_same_broker_is_no_move() -> None:
    recorder, connector = KeepingRecorder(), ScriptedConnector()
    client = client_of(connector, recorder, stomp_uri("a"))
    client.open()
    connector.connections[0].on_lost("reset")
    eventually(lambda: len(connector.connections) == 2 and client.broker == "a")
    client.close()
    assert "moved" not in dict(recorder.events())


def test_each_connection_has_a_client_id_of_its_own() -> None:
    connector = ScriptedConnector()
    client = client_of(connector, KeepingRecorder(), stomp_uri())
    client.open()
    connector.connections[0].on_lost("reset")
    eventually(lambda: client.broker == "b")
    client.close()
    assert len({connection.client_id for connection in connector.connections}) == 2


def test_the_endpoint_is_the_uri_with_its_nested_options() -> None:
    connector = ScriptedConnector()
    client = client_of(connector, KeepingRecorder(), stomp_uri("a", "nested.heartbeat_ms=5"))
    client.open()
    client.close()
    assert connector.endpoints[0].uri == "stomp://localhost:1?heartbeat_ms=5"
    assert (connector.endpoints[0].broker, connector.endpoints[0].protocol) == ("a", "stomp")


def test_an_exhausted_schedule_is_an_error_with_the_last_reason() -> None:
    connector = ScriptedConnector(*[ConnectFailed("connection refused")] * 4)
    client = client_of(
        connector, KeepingRecorder(), stomp_uri(options="startupMaxReconnectAttempts=2&initialReconnectDelay=1")
    )
    with pytest.raises(
        DriverError, match=r"producers client 1: no broker of localhost:1, localhost:2 .*connection refused"
    ):
        client.open()
    client.close()
    assert len(connector.endpoints) == 4


def test_a_refusal_at_the_first_connection_is_an_error_at_once() -> None:
    recorder, connector = KeepingRecorder(), ScriptedConnector(Refused("user name or password is wrong"))
    client = client_of(connector, recorder, stomp_uri())
    with pytest.raises(DriverError, match="broker a refused user 'bench': user name or password is wrong") as refused:
        client.open()
    client.close()
    assert "secret" not in str(refused.value)
    assert recorder.events() == [("attempt", "a")]


def test_a_refusal_after_the_first_connection_is_one_failed_attempt() -> None:
    recorder, connector = KeepingRecorder(), ScriptedConnector(None, Refused("still starting"))
    client = client_of(connector, recorder, stomp_uri())
    client.open()
    connector.connections[0].on_lost("reset")
    eventually(lambda: len(connector.connections) == 2 and client.broker == "a")
    client.close()
    assert [(row.broker, row.reason) for row in recorder.connections if row.event == "attempt"] == [
        ("a", ""),
        ("b", "producers client 1: broker b refused user 'bench': still starting"),
        ("a", ""),
    ]


def test_an_untrusted_certificate_at_the_first_connection_is_an_error() -> None:
    """It is raised at once, and not reported as a rejection by a broker."""
    client = client_of(
        ScriptedConnector(Untrusted("broker a: its certificate is a stranger's")), KeepingRecorder(), stomp_uri()
    )
    with pytest.raises(DriverError, match=r"^producers client 1: broker a: its certificate is a stranger's$"):
        client.open()
    client.close()


def test_a_client_ends_once_all_its_brokers_are_untrusted() -> None:
    later = [Untrusted("b has a stranger's"), ConnectFailed("a is down"), Untrusted("b's again"), Untrusted("and a's")]
    recorder, connector = KeepingRecorder(), ScriptedConnector(None, *later)
    client = client_of(connector, recorder, stomp_uri())
    client.open()
    connector.connections[0].on_lost("reset")
    with pytest.raises(DriverError) as caught:
        client.usable()
    assert str(caught.value).startswith("producers client 1: no broker of failover:(stomp://localhost:1,")
    assert str(caught.value).endswith(" is trusted any longer: and a's")
    attempts = [(row.broker, row.reason) for row in recorder.connections if row.event == "attempt"][1:]
    assert attempts == [(broker, str(error)) for broker, error in zip("baba", later, strict=True)]
    client.close()


def test_a_certificate_that_is_believed_again_was_no_reason_to_end() -> None:
    later = [Untrusted("b's"), ConnectFailed("a is down"), None, Untrusted("a's")]
    recorder, connector = KeepingRecorder(), ScriptedConnector(None, *later)
    client = client_of(connector, recorder, stomp_uri())
    client.open()
    connector.connections[0].on_lost("reset")
    eventually(lambda: client.broker == "b")
    connector.connections[1].on_lost("reset")
    eventually(lambda: client.broker == "b" and len(connector.connections) == 3)
    client.close()


def test_a_connector_that_breaks_does_not_leave_its_client_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threading, "excepthook", lambda _: None)
    client = client_of(ScriptedConnector(ZeroDivisionError("a bug")), KeepingRecorder(), stomp_uri())
    with pytest.raises(DriverError, match="stopped following"):
        client.open()


def test_options_that_only_openwire_can_honour_are_refused() -> None:
    with pytest.raises(DriverError, match="trackMessages=true is not supported by STOMP"):
        client_of(ScriptedConnector(), KeepingRecorder(), stomp_uri(options="trackMessages=true"))


def test_a_uri_of_no_known_broker_is_refused() -> None:
    with pytest.raises(
        DriverError, match=r"localhost:99 is not a broker of this run; its brokers are a, b, c, localhost:1"
    ):
        client_of(ScriptedConnector(), KeepingRecorder(), "failover:(stomp://localhost:99)")


def test_a_send_after_giving_up_has_failed_with_the_reason() -> None:
    recorder, connector = KeepingRecorder(), ScriptedConnector()
    client = client_of(connector, recorder, stomp_uri("a", "maxReconnectAttempts=0"))
    client.open()
    producer = client.producer(ORDERS, ProducerSettings(), run=RUN, on_settled=lambda *_: None)
    producer.send(0, 64, 0)
    connector.connections[0].on_lost("reset")
    with pytest.raises(DriverError, match=r"connection to localhost:1 was lost \(reset\) and maxReconnectAttempts=0"):
        producer.send(1, 64, 0)
    assert producer.wait_settled(60)
    client.close()
    assert [(row.seq, row.outcome) for row in sorted(recorder.sends)] == [(0, "in_doubt"), (1, "failed")]


def test_closing_is_polite_and_takes_the_answers_that_still_come() -> None:
    def answer_on_close(connection: ScriptedConnection) -> None:
        connection.on_close = connection.ack

    recorder, connector = KeepingRecorder(), ScriptedConnector(answer_on_close)
    client = client_of(connector, recorder, stomp_uri())
    client.open()
    client.producer(ORDERS, ProducerSettings(), run=RUN, on_settled=lambda *_: None).send(0, 64, 0)
    client.close()
    client.close()
    assert recorder.attempts(0) == [(1, "acked")]
    assert recorder.events()[-1] == ("closed", "a")


def test_closing_does_not_wait_for_a_broker_that_says_nothing() -> None:
    hung = threading.Event()
    recorder = KeepingRecorder()
    connector = ScriptedConnector(lambda connection: setattr(connection, "on_close", lambda: hung.wait(60)))
    client = client_of(connector, recorder, stomp_uri(), close_timeout_s=0.05)
    client.open()
    client.producer(ORDERS, ProducerSettings(), run=RUN, on_settled=lambda *_: None).send(0, 64, 0)
    began = time.monotonic()
    client.close()
    hung.set()
    assert time.monotonic() - began < 30
    assert recorder.attempts(0) == [(1, "in_doubt")]
    last = recorder.connections[-1]
    assert (last.event, last.reason) == ("closed", "no answer to the goodbye within 0.05 s; 1 message is in doubt")


def test_closing_ends_a_client_that_is_still_trying() -> None:
    connector = ScriptedConnector(*[ConnectFailed("refused")] * 10_000)
    client = client_of(connector, KeepingRecorder(), stomp_uri())
    threading.Timer(0.05, client.close).start()
    with pytest.raises(DriverError, match="producers client 1 is closed"):
        client.open()


def test_closing_lets_go_of_a_blocked_send() -> None:
    recorder, connector = KeepingRecorder(), ScriptedConnector(None, *[ConnectFailed("refused")] * 10_000)
    client = client_of(connector, recorder, stomp_uri())
    client.open()
    producer = client.producer(ORDERS, ProducerSettings(), run=RUN, on_settled=lambda *_: None)
    connector.connections[0].on_lost("reset")
    threading.Timer(0.05, client.close).start()
    with pytest.raises(DriverError, match="closed"):
        producer.send(0, 64, 0)
    assert recorder.attempts(0) == [(1, "failed")]


def test_a_client_that_was_never_opened_closes_quietly() -> None:
    recorder = KeepingRecorder()
    client_of(ScriptedConnector(), recorder, stomp_uri()).close()
    assert recorder.connections == []


def test_a_connection_that_comes_while_closing_is_closed_again() -> None:
    connecting, go_on = threading.Event(), threading.Event()

    def slowly(_: ScriptedConnection) -> None:
        connecting.set()
        go_on.wait(60)

    recorder, connector = KeepingRecorder(), ScriptedConnector(None, slowly)
    client = client_of(connector, recorder, stomp_uri(), close_timeout_s=0.01)
    client.open()
    connector.connections[0].on_lost("reset")
    connecting.wait(60)
    client.close()
    go_on.set()
    eventually(lambda: len(connector.connections) == 2 and connector.connections[1].closed)
    eventually(lambda: recorder.events()[-1] == ("closed", "b"))


def test_a_connection_lost_while_it_is_put_to_use_is_a_failed_attempt() -> None:
    def die_at_once(connection: ScriptedConnection) -> None:
        connection.on_subscribe = lambda: connection.on_lost("reset at once")

    recorder, connector = KeepingRecorder(), ScriptedConnector(None, die_at_once)
    client = client_of(connector, recorder, stomp_uri("abc"))
    client.open()
    client.consumer(Subscription(ORDERS), run=RUN, on_receipt=lambda *_: None)
    connector.connections[0].on_lost("reset")
    eventually(lambda: client.broker == "c")
    client.close()
    assert recorder.events()[2:8] == [
        ("lost", "a"),
        ("attempt", "b"),
        ("connected", "b"),
        ("lost", "b"),
        ("attempt", "c"),
        ("connected", "c"),
    ]


def test_a_client_goes_back_to_its_priority_broker() -> None:
    recorder, connector = KeepingRecorder(), ScriptedConnector(ConnectFailed("down"), None, ConnectFailed("down"))
    client = client_of(
        connector, recorder, stomp_uri(options="randomize=false&priorityBackup=true&initialReconnectDelay=1")
    )
    client.open()
    producer = client.producer(ORDERS, ProducerSettings(), run=RUN, on_settled=lambda *_: None)
    eventually(lambda: client.broker == "a")
    producer.send(0, 64, 0)
    client.close()
    assert recorder.events() == [
        ("attempt", "a"),
        ("attempt", "b"),
        ("connected", "b"),
        ("attempt", "a"),
        ("attempt", "a"),
        ("closed", "b"),
        ("connected", "a"),
        ("moved", "a"),
        ("ready", "a"),
        ("closed", "a"),
    ]
    assert connector.connections[0].closed
    closed = next(row for row in recorder.connections if row.event == "closed")
    assert (closed.reason, closed.cause) == (PRIORITY_BACK, "priority")
    moved = next(row for row in recorder.connections if row.event == "moved")
    assert (moved.from_broker, moved.cause) == ("b", "priority")


def test_a_client_that_is_closed_before_it_moved_leaves_both_brokers() -> None:
    recorder, connector = KeepingRecorder(), ScriptedConnector(ConnectFailed("refused"))
    options = "randomize=false&priorityBackup=true&initialReconnectDelay=60000"
    client = client_of(connector, recorder, stomp_uri(options=options))
    client.open()
    eventually(lambda: len(connector.connections) == 2)
    assert client.broker == "b"
    client.close()
    eventually(lambda: [connection.closed for connection in connector.connections] == [True, True])
    assert recorder.events() == [
        ("attempt", "a"),
        ("attempt", "b"),
        ("connected", "b"),
        ("attempt", "a"),
        ("closed", "b"),
    ]


def test_a_loss_while_polling_for_a_better_broker_is_noticed() -> None:
    down = [ConnectFailed("down")] * 3
    recorder, connector = KeepingRecorder(), ScriptedConnector(ConnectFailed("down"), None, *down)
    options = "randomize=false&priorityBackup=true&initialReconnectDelay=5"
    client = client_of(connector, recorder, stomp_uri(options=options))
    client.open()
    connector.connections[0].on_lost("reset")
    eventually(lambda: client.broker == "a")
    client.close()
    assert ("lost", "b") in recorder.events()
    assert recorder.events()[-1] == ("closed", "a")


def test_a_loss_that_the_worker_had_no_time_for_is_recorded_at_the_close() -> None:
    polling, go_on = threading.Event(), threading.Event()

    def poll_slowly(_: ScriptedConnection) -> None:
        polling.set()
        go_on.wait(60)
        raise ConnectFailed("still down")

    recorder, connector = KeepingRecorder(), ScriptedConnector(ConnectFailed("down"), None, poll_slowly)
    client = client_of(
        connector, recorder, stomp_uri(options="randomize=false&priorityBackup=true"), close_timeout_s=0.01
    )
    client.open()
    polling.wait(60)
    connector.connections[0].on_lost("reset")
    client.close()
    go_on.set()
    eventually(lambda: recorder.events()[-1] == ("lost", "b"))


def test_failing_again_and_again_is_warned_of_at_the_asked_interval(caplog: pytest.LogCaptureFixture) -> None:
    connector = ScriptedConnector(*[ConnectFailed("refused")] * 7)
    client = client_of(
        connector, KeepingRecorder(), stomp_uri("a", "initialReconnectDelay=0&warnAfterReconnectAttempts=3")
    )
    client.open()
    client.close()
    assert [record.getMessage() for record in caplog.records] == [
        f"producers client 1: {passes} over its brokers failed; the last error: refused"
        for passes in ("1 pass", "3 passes", "6 passes")
    ]


@pytest.mark.parametrize(
    "words",
    [
        "the broker closed the connection (its last error: The maximum frame size was exceeded)",
        "the broker closed the connection: amqp:decode-error: Frame size exceeded max frame length.",
    ],
)
def test_a_message_that_no_frame_holds_ends_its_client_and_is_not_sent_for_ever(words: str) -> None:
    recorder, connector = KeepingRecorder(), ScriptedConnector()
    client = client_of(connector, recorder, stomp_uri())
    client.open()
    producer = client.producer(
        Destination.parse("queue://orders"), ProducerSettings(), run=RUN, on_settled=lambda *_: None
    )
    producer.send(0, 64, due_ns=0)
    connector.connections[0].on_lost(words)
    eventually(lambda: client.broker is None and producer.outstanding == 0)
    sentence = r"broker a ended the connection, as a message exceeded its frame size: .*frame size.*--body-bytes"
    with pytest.raises(DriverError, match=f"(?i){sentence}"):
        client.usable()
    assert recorder.events() == [("attempt", "a"), ("connected", "a"), ("lost", "a")]
    assert recorder.attempts(0)[0] == (1, "in_doubt")
    client.close()
