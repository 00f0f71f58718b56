"""Checks transactions by each driver: all messages arrive or none, and their outcomes are reported."""

import threading
import time

import pytest

from drivers.contract import Destination, Outcome, Outgoing, Transaction, Transacts
from tests.drivers.conformance.stages import Connect, MemoryStage, Peer, Stage, body, queue, topic
from tests.support.waiting import until


def begin(peer: Peer) -> Transaction:
    assert isinstance(peer.connection, Transacts)
    return peer.connection.begin()


def put(transaction: Transaction, to: Destination, *seqs: int, durable: bool = True) -> None:
    """Each message has its seq as its token."""
    transaction.send_batch([Outgoing(to, body(seq), durable, seq) for seq in seqs])


def left_on(stage: Stage, orders: Destination) -> list[bytes]:
    return [message.body for message in stage.lying(orders)]


@pytest.mark.smoke
def test_committed_messages_arrive_in_order_and_are_acked_by_the_commit(connect: Connect) -> None:
    client, orders = connect(), queue("committed")
    client.listen(orders)
    transaction = begin(client)
    put(transaction, orders, 0, 1)
    put(transaction, orders, 2, durable=False)
    client.send(queue("beside"), body(9))
    client.outcomes(1)  # the broker has read all that came before
    time.sleep(0.2)
    assert client.got == []
    asked_ns = time.perf_counter_ns()
    transaction.commit()
    acked = [(token, outcome) for token, outcome, at_ns, _ in client.settled if at_ns > asked_ns]
    assert acked == [(seq, Outcome.ACKED) for seq in range(3)]
    assert client.seqs(3) == [0, 1, 2]


@pytest.mark.smoke
def test_what_is_aborted_never_arrives_and_has_failed(stage: Stage, connect: Connect) -> None:
    client, orders = connect(), queue("aborted")
    transaction = begin(client)
    put(transaction, orders, 0, 1)
    transaction.abort()
    assert [(token, outcome) for token, outcome, *_ in client.settled] == [(seq, Outcome.FAILED) for seq in range(2)]
    assert "aborted" in client.settled[0][3]
    client.send(orders, body(7))
    client.outcomes(3)
    assert left_on(stage, orders) == [body(7)]


@pytest.mark.smoke
def test_what_was_not_committed_when_the_connection_went_never_arrives(stage: Stage, connect: Connect) -> None:
    client, orders = connect(), queue("uncommitted")
    transaction = begin(client)
    put(transaction, orders, 0, 1)
    client.send(queue("beside"), body(9))
    client.outcomes(1)
    stage.cut()
    until(lambda: bool(client.lost))
    with pytest.raises(ConnectionError):
        put(transaction, orders, 2)
    with pytest.raises(ConnectionError):
        transaction.commit()
    assert [token for token, *_ in client.settled] == [0]  # of the message beside it
    later = connect()
    later.send(orders, body(7))
    later.outcomes(1)
    assert left_on(stage, orders) == [body(7)]


def test_one_transaction_holds_several_destinations(connect: Connect) -> None:
    client, places = connect(), [queue("several"), topic("several"), queue("several")]
    for place in places:
        client.listen(place)
    transaction = begin(client)
    for seq, place in enumerate(places):
        put(transaction, place, seq)
    transaction.commit()
    assert sorted(reading.seq or 0 for reading in client.received(3)) == [0, 1, 2]


def test_transactions_of_one_connection_end_each_by_itself(stage: Stage, connect: Connect) -> None:
    client, orders = connect(), queue("beside")
    late, aborted, early = begin(client), begin(client), begin(client)
    for seq, transaction in enumerate((late, aborted, early)):
        put(transaction, orders, seq)
    early.commit()
    aborted.abort()
    late.commit()
    assert [(token, outcome) for token, outcome, *_ in client.settled] == [
        (2, Outcome.ACKED),
        (1, Outcome.FAILED),
        (0, Outcome.ACKED),
    ]
    assert sorted(left_on(stage, orders)) == sorted([body(0), body(2)])


def test_an_empty_transaction_can_be_ended_and_another_begun_after_many(connect: Connect) -> None:
    client, orders = connect(), queue("many")
    begin(client).commit()
    begin(client).abort()
    client.listen(orders)
    for from_seq in range(0, 100, 10):
        transaction = begin(client)
        put(transaction, orders, *range(from_seq, from_seq + 10))
        transaction.commit()
    assert client.seqs(100) == list(range(100))
    assert client.outcomes(100) == [Outcome.ACKED] * 100


def test_a_connection_left_with_a_transaction_open_takes_it_back(stage: Stage, connect: Connect) -> None:
    client, orders = connect(), queue("left")
    put(begin(client), orders, 0)
    client.close()
    assert (client.settled, client.lost) == ([], [])
    assert left_on(stage, orders) == []


def test_a_commit_whose_answer_is_lost_with_the_connection_is_told_as_that() -> None:
    stage = MemoryStage()
    client, orders = Peer(stage), queue("doubt")
    transaction = begin(client)
    put(transaction, orders, 0)
    stage.network.hold_answers("broker-1")

    def cut_once_it_is_there() -> None:
        until(lambda: stage.network.browse(orders.name))
        stage.cut()

    threading.Thread(target=cut_once_it_is_there).start()
    with pytest.raises(ConnectionError, match="broker-1"):
        transaction.commit()
    assert client.settled == []
    assert [stored.body for stored in stage.network.browse(orders.name)] == [body(0)]
    stage.network.close()


def test_a_refused_destination_fails_what_goes_there_by_name() -> None:
    stage = MemoryStage()
    stage.network.refuse("queue://forbidden")
    client = Peer(stage)
    transaction = begin(client)
    put(transaction, queue("allowed"), 0)
    put(transaction, Destination.parse("queue://forbidden"), 1)
    transaction.commit()
    assert [outcome for _, outcome, *_ in client.settled] == [Outcome.FAILED] * 2
    assert "queue://forbidden" in client.settled[0][3]
    client.close()
    stage.network.close()
