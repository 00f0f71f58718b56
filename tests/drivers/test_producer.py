"""Checks that every attempt to send is recorded once, with its known facts only."""

import threading
from collections.abc import Callable, Iterator
from typing import cast

import pytest

from drivers.client.client import Client
from drivers.client.contract import NoStatistics, ProducerSettings, ScheduledSend
from drivers.client.message_settings import MessageSettings
from drivers.client.producer import Producer
from drivers.contract import ConnectFailed, Destination, DriverError, Outcome, Outgoing, Refused
from drivers.failover.client_connection import ClientConnection
from records.loads.identity import Identity, read
from records.loads.message_properties import MessageProperties
from records.tables.schemas import SendRow
from tests.drivers.doubles import (
    RUN,
    BatchingConnection,
    KeepingRecorder,
    ScriptedConnection,
    ScriptedConnector,
    Settled,
    client_of,
    eventually,
    stomp_uri,
)

ORDERS = Destination.parse("queue://orders")


class SenderBench:
    """One producer on a scripted connector."""

    def __init__(
        self, connector: ScriptedConnector, uri: str = "", *, durable: bool = True, resend: bool = True
    ) -> None:
        self.recorder = KeepingRecorder()
        self.connector = connector
        self.outcomes: list[Settled] = []
        self.client: Client = client_of(connector, self.recorder, uri or stomp_uri())
        self.client.open()
        self.producer: Producer = self.client.producer(
            ORDERS,
            ProducerSettings(durable=durable, resend_in_doubt=resend),
            run=RUN,
            on_settled=lambda *settled: self.outcomes.append(Settled(*settled)),
        )

    @property
    def connection(self) -> ScriptedConnection:
        return self.connector.connections[-1]

    def lose(self, reason: str = "reset by peer") -> None:
        """The connection goes, and the client is back on the next one."""
        before = len(self.connector.connections)
        self.connection.on_lost(reason)
        eventually(lambda: len(self.connector.connections) > before and self.client.broker)


@pytest.fixture
def bench() -> Iterator[SenderBench]:
    new_bench = SenderBench(ScriptedConnector())
    yield new_bench
    new_bench.client.close()


def test_an_answered_send_is_one_acked_row_with_its_four_times(bench: SenderBench) -> None:
    bench.producer.send(5, 64, 1_000, blocked=True)
    assert bench.recorder.sends == []
    assert bench.producer.outstanding == 1
    bench.connection.ack()
    (row,) = bench.recorder.sends
    assert (row.producer, row.seq, row.attempt, row.destination, row.broker) == (1, 5, 1, "queue://orders", "a")
    assert row.due_ns == 1_000 < row.ready_ns < row.sent_ns < (row.settled_ns or 0), "ready with its connection"
    assert (row.outcome, row.body_bytes, row.blocked) == ("acked", 64, True)
    assert bench.producer.outstanding == 0


def test_the_body_carries_the_identity_of_the_attempt(bench: SenderBench) -> None:
    bench.producer.send(5, 64, 0)
    bench.lose()
    bodies = [connection.sent[0].body for connection in bench.connector.connections]
    assert [(len(body), read(body, RUN)) for body in bodies] == [
        (64, ("intact", 1, 5, 1)),
        (64, ("intact", 1, 5, 2)),
    ]
    assert Identity(RUN, 1, 5, 2).attempt == 2


def test_an_answer_that_comes_before_the_write_returns_is_kept() -> None:
    def answer_at_once(connection: ScriptedConnection) -> None:
        connection.on_send = lambda _: connection.ack()

    bench = SenderBench(ScriptedConnector(answer_at_once))
    bench.producer.send(0, 64, 0)
    assert bench.recorder.attempts(0) == [(1, "acked")]
    row = bench.recorder.sends[0]
    assert row.sent_ns == bench.connection.sent_ns[0] < (row.settled_ns or 0)
    bench.client.close()


@pytest.mark.parametrize("answer", [Outcome.ACKED, Outcome.FAILED])
def test_an_early_answer_to_a_batch_survives_a_lost_connection(
    answer: Outcome,
) -> None:
    def answered_then_lost(connection: ScriptedConnection) -> None:
        def on_send(_: Outgoing) -> None:
            if len(connection.sent) == 2:
                connection.ack(0, answer)
                connection.on_lost("killed")
                raise ConnectionError("killed")

        connection.on_send = on_send

    connector = ScriptedConnector(answered_then_lost)
    connector.kind = BatchingConnection
    bench = SenderBench(connector)
    bench.producer.send_batch((ScheduledSend(0, 0), ScheduledSend(1, 0)), 64)
    eventually(lambda: len(connector.connections) == 2 and bench.connection.sent)
    bench.connection.ack()
    assert bench.producer.wait_settled(60)
    assert bench.recorder.attempts(0) == [(1, answer)]
    assert bench.recorder.attempts(1) == [(1, "in_doubt"), (2, "acked")]
    assert [settled.final for settled in bench.outcomes if settled.row.seq == 0] == [True]
    assert [read(message.body, RUN).seq for message in bench.connection.sent] == [1]
    bench.client.close()


def test_a_refused_send_is_failed_and_not_sent_again(bench: SenderBench) -> None:
    bench.producer.send(0, 64, 0)
    bench.connection.ack(outcome=Outcome.FAILED)
    bench.lose()
    assert bench.recorder.attempts(0) == [(1, "failed")]
    assert bench.connection.sent == []


def test_a_send_refused_while_writing_is_failed() -> None:
    def too_large(message: Outgoing) -> None:
        raise Refused("the frame is larger than the broker takes")

    bench = SenderBench(ScriptedConnector(lambda connection: setattr(connection, "on_send", too_large)))
    bench.producer.send(0, 64, 0)
    assert [(settled.row.outcome, settled.reason) for settled in bench.outcomes] == [
        (Outcome.FAILED, "the frame is larger than the broker takes")
    ]
    assert bench.producer.outstanding == 0
    bench.client.close()


def test_a_connection_lost_between_write_and_answer_gives_two_rows_of_one_message(bench: SenderBench) -> None:
    bench.producer.send(3, 64, 1_000)
    bench.lose()
    bench.connection.ack()
    earlier, later = bench.recorder.sends
    assert (earlier.attempt, earlier.outcome, earlier.broker, earlier.settled_ns) == (1, "in_doubt", "a", None)
    assert (later.attempt, later.outcome, later.broker) == (2, "acked", "b")
    assert (earlier.producer, earlier.seq, earlier.due_ns) == (later.producer, later.seq, later.due_ns) == (1, 3, 1_000)
    assert earlier.sent_ns < later.sent_ns
    assert [settled.final for settled in bench.outcomes] == [False, True]


def test_what_is_in_doubt_goes_first_in_order_of_seq(bench: SenderBench) -> None:
    for seq in (4, 2, 3):
        bench.producer.send(seq, 64, 0)
    bench.lose()
    bench.producer.send(5, 64, 0)
    assert [read(message.body, RUN).seq for message in bench.connection.sent] == [2, 3, 4, 5]


def test_each_loss_is_one_more_attempt(bench: SenderBench) -> None:
    bench.producer.send(0, 64, 0)
    bench.lose()
    bench.lose()
    bench.connection.ack()
    assert bench.recorder.attempts(0) == [(1, "in_doubt"), (2, "in_doubt"), (3, "acked")]


def test_an_answer_that_comes_after_the_loss_is_not_believed(bench: SenderBench) -> None:
    bench.producer.send(0, 64, 0)
    lost = bench.connection
    bench.lose()
    lost.ack()
    bench.connection.ack()
    assert bench.recorder.attempts(0) == [(1, "in_doubt"), (2, "acked")]


def test_without_resending_doubt_is_the_end() -> None:
    bench = SenderBench(ScriptedConnector(), resend=False)
    bench.producer.send(0, 64, 0)
    bench.lose()
    assert bench.recorder.attempts(0) == [(1, "in_doubt")]
    assert bench.connection.sent == []
    assert bench.outcomes[0].final
    assert bench.producer.outstanding == 0
    bench.client.close()


def test_a_write_that_breaks_is_in_doubt_and_sent_again() -> None:
    def break_off(message: Outgoing) -> None:
        raise BrokenPipeError("broken pipe")

    bench = SenderBench(ScriptedConnector(lambda connection: setattr(connection, "on_send", break_off)))
    bench.producer.send(0, 64, 0)
    eventually(lambda: len(bench.connector.connections) == 2 and bench.connection.sent)
    bench.connection.ack()
    assert bench.recorder.attempts(0) == [(1, "in_doubt"), (2, "acked")]
    assert ("lost", "a") in bench.recorder.events()
    eventually(lambda: bench.connector.connections[0].closed)
    bench.client.close()


def test_a_send_that_got_hold_of_a_lost_connection_takes_the_next(
    bench: SenderBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    lost = ClientConnection("a")
    lost.alive = False
    connections = [lost, bench.client.usable()]
    monkeypatch.setattr(bench.client, "usable", lambda _: connections.pop(0))
    bench.producer.send(0, 64, 0)
    bench.connection.ack()
    assert bench.recorder.attempts(0) == [(1, "acked")]


def test_a_send_that_is_not_durable_is_unconfirmed_once_written() -> None:
    bench = SenderBench(ScriptedConnector(), durable=False)
    bench.producer.send(0, 64, 0)
    bench.lose()
    assert bench.recorder.attempts(0) == [(1, "unconfirmed")]
    assert bench.connection.sent == []
    bench.client.close()


def test_a_one_way_write_that_breaks_is_tried_again_at_once() -> None:
    def break_off(message: Outgoing) -> None:
        raise ConnectionResetError("reset")

    script = ScriptedConnector(lambda connection: setattr(connection, "on_send", break_off))
    bench = SenderBench(script, durable=False)
    bench.producer.send(0, 64, 0)
    assert bench.recorder.attempts(0) == [(1, "in_doubt"), (2, "unconfirmed")]
    bench.client.close()


def test_a_send_blocked_by_disconnection_goes_out_late_with_its_own_due_time() -> None:
    allow = threading.Event()

    def wait(_: ScriptedConnection) -> None:
        allow.wait(60)

    bench = SenderBench(ScriptedConnector(None, wait))
    bench.connection.on_lost("reset")
    sender = threading.Thread(target=bench.producer.send, args=(0, 64, 42))
    sender.start()
    sender.join(0.05)
    assert sender.is_alive()
    allow.set()
    sender.join(60)
    bench.connection.ack()
    assert [(row.attempt, row.due_ns, row.outcome, row.broker) for row in bench.recorder.sends] == [
        (1, 42, "acked", "b")
    ]
    bench.client.close()


def test_a_send_blocked_for_longer_than_the_timeout_has_failed() -> None:
    refused = [ConnectFailed("refused")] * 1_000
    bench = SenderBench(ScriptedConnector(None, *refused), stomp_uri(options="timeout=30&initialReconnectDelay=5"))
    bench.connection.on_lost("reset")
    with pytest.raises(DriverError, match=r"disconnected for 0\.03 s, the timeout of failover:"):
        bench.producer.send(9, 64, 42)
    assert [(row.seq, row.attempt, row.outcome, row.broker) for row in bench.recorder.sends] == [(9, 1, "failed", "")]
    assert bench.outcomes[0].row.settled_ns is not None
    bench.client.close()


def test_waiting_until_all_is_settled_tells_whether_it_is(bench: SenderBench) -> None:
    assert bench.producer.wait_settled(0)
    bench.producer.send(0, 64, 0)
    assert not bench.producer.wait_settled(0.01)
    threading.Timer(0.01, bench.connection.ack).start()
    assert bench.producer.wait_settled(60)


def test_closing_leaves_the_unanswered_in_doubt_once(bench: SenderBench) -> None:
    bench.producer.send(0, 64, 0)
    connection = bench.connection
    bench.producer.close()
    bench.producer.close()
    connection.ack()
    assert bench.recorder.attempts(0) == [(1, "in_doubt")]
    assert bench.outcomes[0].final
    with pytest.raises(DriverError, match="was closed before message 1 went"):
        bench.producer.send(1, 64, 0)


class CountingStatistics(NoStatistics):
    """Counts final outcomes, as a drain does: it waits until there are as many as messages begun."""

    final = 0

    def settled(self, row: SendRow, reason: str, final: bool) -> None:
        self.final += final

    def counted(self, begun: int, settled: int) -> None:
        self.final += settled


@pytest.mark.parametrize("more_attempts", [0, 3], ids=["at once", "after more attempts"])
def test_sends_of_a_failed_client_have_final_outcomes(more_attempts: int) -> None:
    """The drain does not wait for them."""
    statistics, recorder = CountingStatistics(), KeepingRecorder()
    connector = ScriptedConnector(None, *[ConnectFailed("refused")] * 20)
    uri = stomp_uri("a", f"maxReconnectAttempts={more_attempts}&initialReconnectDelay=1&useExponentialBackOff=false")
    client = client_of(connector, recorder, uri, statistics=statistics)
    client.open()
    producer = client.producer(ORDERS, ProducerSettings(), run=RUN)
    for seq in range(3):
        producer.send(seq, 64, 0)
    connector.connections[0].ack(0)
    connector.connections[0].on_lost("reset by peer")
    eventually(lambda: statistics.final == 3)
    client.close()
    assert statistics.final == 3, "each once"
    assert [recorder.attempts(seq) for seq in range(3)] == [[(1, "acked")], [(1, "in_doubt")], [(1, "in_doubt")]]


def test_a_body_too_small_for_its_identity_is_refused_before_anything_is_sent(bench: SenderBench) -> None:
    with pytest.raises(ValueError, match="body of 31 bytes"):
        bench.producer.send(0, 31, 0)
    assert bench.producer.outstanding == 0
    assert bench.connection.sent == []


SLOTS = [ScheduledSend(0, 10, blocked=True), ScheduledSend(1, 20), ScheduledSend(2, 30)]


def batching(*script: Exception | Callable[[ScriptedConnection], None] | None) -> ScriptedConnector:
    connector = ScriptedConnector(*script)
    connector.kind = BatchingConnection
    return connector


def break_after_two(connection: ScriptedConnection) -> None:
    def on_send(_: Outgoing) -> None:
        if len(connection.sent) > 2:
            raise BrokenPipeError("broken pipe")

    connection.on_send = on_send


@pytest.mark.parametrize("durable", [True, False])
def test_a_batch_goes_in_one_write_with_each_message_as_it_was_due(durable: bool) -> None:
    bench = SenderBench(batching(), durable=durable)
    bench.producer.send_batch(SLOTS, 64)
    for nth in range(3 * durable):
        bench.connection.ack(nth)
    assert cast(BatchingConnection, bench.connection).batches == [3]
    assert [(row.seq, row.due_ns, row.blocked) for row in bench.recorder.sends] == [slot[:3] for slot in SLOTS]
    assert {row.sent_ns for row in bench.recorder.sends} == {bench.connection.sent_ns[0]}
    bench.client.close()


def test_a_connection_without_batches_gets_one_message_after_the_other(bench: SenderBench) -> None:
    bench.producer.send_batch(SLOTS, 64)
    assert [read(message.body, RUN).seq for message in bench.connection.sent] == [0, 1, 2]
    for nth in range(3):
        bench.connection.ack(nth)
    assert [row.sent_ns for row in bench.recorder.sends] == bench.connection.sent_ns


@pytest.mark.parametrize("durable", [True, False])
def test_a_batch_that_breaks_is_in_doubt_as_a_whole(durable: bool) -> None:
    bench = SenderBench(batching(break_after_two), durable=durable)
    bench.producer.send_batch(SLOTS, 64)
    eventually(lambda: len(bench.connector.connections) == 2 and len(bench.connection.sent) == 3)
    for nth in range(3 * durable):
        bench.connection.ack(nth)
    last = "acked" if durable else "unconfirmed"
    assert {seq: bench.recorder.attempts(seq) for seq in range(3)} == {
        seq: [(1, "in_doubt"), (2, last)] for seq in range(3)
    }
    bench.client.close()


def test_without_batches_only_the_message_that_broke_is_in_doubt() -> None:
    bench = SenderBench(ScriptedConnector(break_after_two), durable=False)
    bench.producer.send_batch(SLOTS, 64)
    assert [bench.recorder.attempts(seq)[0] for seq in range(3)] == [
        (1, "unconfirmed"),
        (1, "unconfirmed"),
        (1, "in_doubt"),
    ]
    bench.client.close()


def test_answers_within_a_batch_settle_their_own_message() -> None:
    bench = SenderBench(batching())
    bench.producer.send_batch(SLOTS, 64)
    bench.connection.ack(1, Outcome.FAILED)
    assert bench.recorder.attempts(1) == [(1, "failed")]
    assert bench.producer.outstanding == 2
    bench.client.close()


@pytest.mark.parametrize("durable", [True, False])
def test_what_a_batch_could_not_write_has_failed(durable: bool) -> None:
    bench = SenderBench(ScriptedConnector(), durable=durable)
    bench.client.close()
    with pytest.raises(DriverError, match="was closed before message 0 went"):
        bench.producer.send_batch(SLOTS, 64)
    assert [bench.recorder.attempts(seq) for seq in range(3)] == [[(1, "failed")]] * 3


def test_a_one_way_send_refused_while_writing_has_failed() -> None:
    def too_large(message: Outgoing) -> None:
        raise Refused("the frame is larger than the broker takes")

    bench = SenderBench(ScriptedConnector(lambda connection: setattr(connection, "on_send", too_large)), durable=False)
    with pytest.raises(Refused, match="larger than the broker takes"):
        bench.producer.send(0, 64, 0)
    assert bench.recorder.attempts(0) == [(1, "failed")]
    bench.client.close()


def test_producers_with_equal_settings_share_their_headers_and_unlike_ones_do_not() -> None:
    def settings(value: int | float | bool) -> MessageSettings:
        return MessageSettings(MessageProperties.of({"weight": [value]}), 1.5, 9)

    assert settings(1).headers(0) is settings(1).headers(7)
    of_each = [settings(value).headers(0).properties["weight"] for value in (1, 1.0, True)]
    assert list(map(type, of_each)) == [int, float, bool]
