"""Checks sends by each driver: the outcome, the time and the bytes of each message."""

import random
import time

import pytest

from drivers.contract import Destination, DriverError, Outcome
from tests.drivers.conformance.stages import Connect, Peer, Stage, body, queue, topic
from tests.support.waiting import until

MIB = 1024 * 1024
SIZES = (32, 33, 255, 256, 65_535, MIB, 10 * MIB)


@pytest.mark.smoke
def test_durable_sends_are_acked_once_each_after_they_were_written(connect: Connect) -> None:
    client, orders = connect(), queue("acked")
    began_ns = time.perf_counter_ns()
    sent_ns = client.send(orders, *(body(seq) for seq in range(50)))
    assert client.outcomes(50) == [Outcome.ACKED] * 50
    assert sorted(token for token, *_ in client.settled) == list(range(50))
    settled_ns = {token: at for token, _, at, _ in client.settled}
    assert all(began_ns < sent < settled_ns[n] < time.perf_counter_ns() for n, sent in enumerate(sent_ns))


@pytest.mark.smoke
@pytest.mark.parametrize("to", [queue("one-way"), topic("one-way")], ids=["queue", "topic"])
def test_sends_that_are_not_durable_arrive_and_are_never_settled(connect: Connect, to: Destination) -> None:
    consumer, producer = connect(), connect()
    consumer.listen(to)
    producer.send(to, *(body(seq) for seq in range(50)), durable=False)
    assert consumer.seqs(50) == list(range(50))
    producer.close()
    assert producer.settled == []


@pytest.mark.smoke
def test_a_name_with_special_characters_is_one_queue(stage: Stage, connect: Connect) -> None:
    # Classic names no queue with a line's end for a client by AMQP.
    client, odd = connect(), queue("a:b\\c\nreceipt:x\r é" if stage.endpoint.protocol == "stomp" else "a:b\\c é")
    client.listen(odd)
    client.send(odd, body(5))
    assert client.seqs(1) == [5]


def test_durable_sends_to_a_topic_are_acked_though_nobody_listens(connect: Connect) -> None:
    client = connect()
    client.send(topic("nobody"), body(1))
    assert client.outcomes(1) == [Outcome.ACKED]


@pytest.mark.smoke
@pytest.mark.parametrize("durable", [True, False], ids=["durable", "one-way"])
def test_a_body_of_any_size_and_any_bytes_comes_back_exactly(connect: Connect, durable: bool) -> None:
    client, places = connect(), queue("bodies")
    client.listen(places)
    for body_bytes in SIZES:
        anything = random.Random(body_bytes).randbytes(body_bytes - 4) + b"\0\n\n\0"
        client.send(places, anything, bytes(body_bytes), durable=durable)
        client.received(2)
        same = [delivery.body == sent for delivery, sent in zip(client.got, (anything, bytes(body_bytes)), strict=True)]
        assert same == [True, True], f"bodies of {body_bytes} bytes"
        del client.got[:]


@pytest.mark.smoke
def test_a_binary_body_survives_crossing_from_one_protocol_to_another(
    crossing: tuple[Stage, Stage], body_bytes: int
) -> None:
    producer, consumer, places = Peer(crossing[0]), Peer(crossing[1]), queue("crossing")
    anything = random.Random(body_bytes).randbytes(body_bytes - 4) + b"\0\xff\n\0"
    consumer.listen(places)
    producer.send(places, anything)
    producer.send(places, anything, durable=False)
    consumer.received(2)
    assert [delivery.body for delivery in consumer.got] == [anything] * 2
    assert [delivery.hops for delivery in consumer.got] == [crossing[1].hops_at_home] * 2
    producer.close()
    consumer.close()


@pytest.mark.smoke
def test_what_was_sent_before_a_goodbye_is_answered_before_it_and_nothing_is_lost(
    stage: Stage, connect: Connect
) -> None:
    client, orders = connect(), queue("goodbye")
    client.send(orders, *(body(seq) for seq in range(100)))
    client.send(orders, *(body(seq) for seq in range(100, 120)), durable=False)
    client.close()
    client.close()
    assert [outcome for _, outcome, _, _ in client.settled] == [Outcome.ACKED] * 100
    assert client.lost == []
    until(lambda: len(stage.lying(orders)) == 120)


@pytest.mark.smoke
@pytest.mark.on_artemis("stomp-on-artemis")  # which cannot browse
def test_browsing_shows_every_message_whole_in_order_and_takes_none(stage: Stage, connect: Connect) -> None:
    client, orders = connect(), queue("browse")
    bodies = [body(seq, 32 + seq % 90) for seq in range(3_000)]
    client.send(orders, *bodies)
    client.outcomes(3_000)
    if not stage.browses:
        with pytest.raises(DriverError, match="STOMP cannot browse a queue of Artemis"):
            stage.connector.browse(stage.endpoint, stage.credentials, orders.name, timeout_s=30)
    for _ in range(2):
        messages = stage.lying(orders)
        assert [message.body for message in messages] == bodies
        assert all(message.age_ns is not None and -1e9 < message.age_ns < 300e9 for message in messages)
    client.listen(orders)
    assert client.seqs(3_000) == list(range(3_000))


def test_a_queue_that_does_not_exist_is_browsed_as_empty(stage: Stage) -> None:
    assert stage.lying(queue("nothing")) == []
