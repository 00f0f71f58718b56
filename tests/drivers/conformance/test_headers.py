"""Checks the content of a message besides its body: properties that selectors ask, a time to live and a priority."""

import time

import pytest

from drivers.contract import Destination, MessageHeaders
from tests.drivers.conformance.stages import Connect, Stage, body, queue
from tests.support.waiting import until


@pytest.mark.smoke
@pytest.mark.on_artemis("stomp-on-artemis", "amqp-on-artemis")  # each writes properties in a way of its own
def test_each_consumer_gets_what_its_selector_matches_and_the_rest_stays(stage: Stage, connect: Connect) -> None:
    orders, producer, reds, blues = queue("colors"), connect(), connect(), connect()
    reds.listen(orders, selector="color = 'red' AND size LIKE '_'")
    blues.listen(orders, selector="color = 'blue'")
    for seq, (color, size) in enumerate([("red", "S"), ("blue", "S"), ("green", "S"), ("red", "XL"), ("blue", "L")]):
        producer.send(orders, body(seq), headers=MessageHeaders({"color": color, "size": size}))
    assert reds.seqs(1) == [0]
    assert blues.seqs(2) == [1, 4]
    until(lambda: [message.body for message in stage.lying(orders)] == [body(2), body(3)])


@pytest.mark.smoke
@pytest.mark.on_artemis("stomp-on-artemis", "amqp-on-artemis")
def test_an_expired_message_is_not_delivered_and_is_a_dead_letter(stage: Stage, connect: Connect) -> None:
    orders, client = queue("mortal"), connect()
    client.send(orders, body(1), headers=MessageHeaders(time_to_live_ms=300))
    client.send(orders, body(2), headers=MessageHeaders(time_to_live_ms=60_000))
    client.outcomes(2)
    time.sleep(0.6)
    client.listen(orders)
    assert client.seqs(1) == [2]
    dead = stage.dead_letters
    until(lambda: body(1) in [message.body for message in stage.lying(Destination("queue", dead))])


@pytest.mark.smoke
@pytest.mark.on_artemis("amqp-on-artemis")
def test_waiting_messages_with_higher_priority_come_first(stage: Stage, connect: Connect) -> None:
    """Only on brokers that observe priorities."""
    orders, client = queue("urgent"), connect()
    for seq, priority in enumerate((0, 9, 4)):
        client.send(orders, body(seq), headers=MessageHeaders(priority=priority))
    client.outcomes(3)
    client.listen(orders)
    assert client.seqs(3) == ([1, 2, 0] if stage.keeps_priorities else [0, 1, 2])
