"""Checks subscriptions by each driver: which consumer gets which messages, how often, and the prefetch."""

import time

import pytest

from drivers.contract import Refused
from tests.drivers.conformance.conftest import ALWAYS_NIGHTLY
from tests.drivers.conformance.stages import Connect, Stage, body, queue, topic
from tests.support.waiting import until


@pytest.mark.smoke
def test_consumers_of_a_queue_share_its_messages(connect: Connect) -> None:
    orders, producer, consumer, neighbor = queue("shared"), connect(), connect(), connect()
    consumer.listen(orders, prefetch=1)
    neighbor.listen(orders, prefetch=1)
    producer.send(orders, *(body(seq) for seq in range(40)))
    until(lambda: len(consumer.got) + len(neighbor.got) == 40)
    assert sorted(reading.seq or 0 for reading in consumer.received(1) + neighbor.received(1)) == list(range(40))


@pytest.mark.smoke
@pytest.mark.on_artemis("stomp-on-artemis")  # whose window is in bytes
def test_a_consumer_that_holds_its_prefetch_leaves_the_rest_to_the_others(stage: Stage, connect: Connect) -> None:
    orders, producer, busy, free = queue("busy"), connect(), connect(), connect()
    busy.listen(orders, settle=False, prefetch=1)
    producer.send(orders, body(0, stage.prefetched_bytes))
    busy.received(1)
    free.listen(orders, prefetch=1)
    producer.send(orders, *(body(seq, stage.prefetched_bytes) for seq in range(1, 5)))
    assert free.seqs(4) == [1, 2, 3, 4]
    assert len(busy.got) == 1


def test_messages_acknowledged_the_moment_they_come_come_once_each(connect: Connect) -> None:
    orders, producer, consumer = queue("at-once"), connect(), connect()
    consumer.listen(orders, prefetch=1)
    producer.send(orders, *(body(seq) for seq in range(500)), durable=False)
    assert consumer.seqs(500) == list(range(500))
    assert consumer.lost == []


@pytest.mark.smoke
def test_each_subscriber_of_a_topic_gets_what_is_sent_from_then_on(connect: Connect) -> None:
    prices, producer, early, late = topic("prices"), connect(), connect(), connect()
    early.listen(prices)
    producer.send(prices, body(1), body(2))
    producer.outcomes(2)
    early.received(2)
    late.listen(prices)
    producer.send(prices, body(3))
    assert early.seqs(3) == [1, 2, 3]
    assert late.seqs(1) == [3]


@pytest.mark.smoke
def test_a_durable_subscription_keeps_what_came_while_it_was_away(connect: Connect) -> None:
    prices = topic("durable")
    client_id = f"keeper-{prices.name}"
    once = connect(client_id=client_id)
    once.listen(prices, durable_name="all")
    once.close()
    producer = connect()
    producer.send(prices, body(1), body(2))
    producer.outcomes(2)
    again = connect(client_id=client_id)
    again.listen(prices, durable_name="all")
    assert again.seqs(2) == [1, 2]
    assert once.got == []


@pytest.mark.smoke
@pytest.mark.on_artemis("stomp-on-artemis")  # whose selector is another
def test_a_selector_on_a_header_selects_or_is_rejected(stage: Stage, connect: Connect) -> None:
    """Where the broker knows selectors on headers, it selects; elsewhere it is rejected."""
    orders, client = queue("selected"), connect()
    if not stage.durable_selector:
        with pytest.raises(Refused, match="is a JMS header"):
            client.listen(orders, selector="JMSDeliveryMode = 'PERSISTENT'")
        return
    client.listen(orders, selector=stage.durable_selector)
    client.send(orders, body(1))
    client.send(orders, body(2), durable=False)
    client.send(orders, body(3))
    assert client.seqs(2) == [1, 3]

    # Once the broker has heard of the others' acknowledgements.
    until(lambda: [message.body for message in stage.lying(orders)] == [body(2)])


@pytest.mark.smoke
@pytest.mark.on_artemis("stomp-on-artemis", "amqp-on-artemis")  # a refusal ends the connection by STOMP
def test_a_selector_that_is_none_is_refused_and_the_connection_lives_on(stage: Stage, connect: Connect) -> None:
    orders, client = queue("wrong-selector"), connect()
    with pytest.raises(Refused, match="a b c"):
        client.listen(orders, selector="a b c")
    if not stage.survives_refusals:
        until(lambda: bool(client.lost))
        client = connect()
    client.listen(orders)
    client.send(orders, body(1))
    assert client.seqs(1) == [1]


@pytest.mark.smoke
@pytest.mark.on_artemis("stomp-on-artemis")  # STOMP's window is in bytes
def test_no_more_than_the_prefetch_is_sent_ahead_and_each_acknowledgement_makes_room(
    stage: Stage, connect: Connect
) -> None:
    orders, client = queue("prefetch"), connect()
    client.send(orders, *(body(seq, stage.prefetched_bytes) for seq in range(20)))
    client.outcomes(20)
    client.listen(orders, settle=False, prefetch=3)
    client.received(3)
    time.sleep(0.3)
    assert len(client.got) == 3
    client.connection.settle(client.got[1])
    client.received(4)
    time.sleep(0.3)
    assert len(client.got) == 4


@pytest.mark.smoke
@pytest.mark.on_artemis(*ALWAYS_NIGHTLY)  # each tells of returned messages in a way of its own
def test_each_message_is_acknowledged_by_itself_and_the_others_come_again_and_say_so(
    stage: Stage, connect: Connect
) -> None:
    orders, producer, earlier = queue("one-by-one"), connect(), connect()
    producer.send(orders, *(body(seq) for seq in range(5)))
    earlier.listen(orders, settle=False)
    earlier.received(5)
    for number in (3, 1):
        earlier.connection.settle(earlier.got[number])
    earlier.close()

    later = connect()
    later.listen(orders)
    assert later.seqs(3) == [0, 2, 4]
    assert [delivery.redelivered for delivery in earlier.got] == [False] * 5
    if stage.tells_returns is not None:
        assert [delivery.redelivered for delivery in later.got] == [stage.tells_returns] * 3
    assert [delivery.hops for delivery in later.got] == [stage.hops_at_home] * 3


@pytest.mark.smoke
def test_one_connection_sends_and_receives_for_several_destinations(connect: Connect) -> None:
    client, places = connect(), [queue("several"), topic("several"), queue("several")]
    for place in places:
        client.listen(place)
    for seq, place in enumerate(places):
        client.send(place, body(seq))
    assert sorted(client.received(3)) == sorted(client.received(3))
    assert sorted(reading.seq or 0 for reading in client.received(3)) == [0, 1, 2]
