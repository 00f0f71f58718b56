"""Checks when Artemis clusters move messages, for each load-balancing type and each redistribution delay."""

import time
from pathlib import Path

import pytest

from drivers.contract import Destination, Outcome
from tests.support.stomp_clients import body
from tests.support.waiting import until
from tests.topologies.experiments import SETTLES_S, client, depth, up
from topologies.catalogue.lookup import build
from topologies.model.topology import Topology
from topologies.runtimes.contract import Runtime

pytestmark = [pytest.mark.brokers, pytest.mark.nightly]

MESSAGES = 20
ORDERS = Destination("queue", "orders")
NEVER, AT_ONCE, LATER_MS = -1, 0, 600_000


def cluster(balancing: str, redistribution_delay_ms: int) -> Topology:
    settings = f"message_load_balancing={balancing!r}, redistribution_delay_ms={redistribution_delay_ms}"
    return build(f"cluster(brokers=2, {settings})")


def send(runtime: Runtime, broker: str) -> None:
    sender = client(runtime, broker)
    sender.send(ORDERS, *(body(seq) for seq in range(MESSAGES)))
    assert sender.outcomes(MESSAGES) == [Outcome.ACKED] * MESSAGES
    sender.close()


@pytest.mark.parametrize(
    ("balancing", "delay_ms", "received"),
    [
        ("ON_DEMAND", NEVER, MESSAGES),
        ("STRICT", NEVER, MESSAGES // 2),  # in turn to every broker that has the queue, consumers or not
        ("OFF", NEVER, 0),
        ("OFF_WITH_REDISTRIBUTION", NEVER, 0),
        ("OFF_WITH_REDISTRIBUTION", AT_ONCE, MESSAGES),  # first to the queue here, which has no consumer
    ],
)
def test_of_messages_that_arrive_a_consumer_elsewhere_gets_as_many_as_the_way_of_balancing_says(
    balancing: str, delay_ms: int, received: int, tmp_path: Path
) -> None:
    topology = cluster(balancing, delay_ms)
    with up(topology, tmp_path) as runtime:
        consumer = client(runtime, "broker-2")
        consumer.listen(ORDERS)
        time.sleep(SETTLES_S)
        send(runtime, "broker-1")
        if received:
            until(lambda: len(consumer.got) >= received)
        time.sleep(SETTLES_S)
        assert len(consumer.got) == received
        assert depth(runtime, topology, "broker-1", ORDERS.name) == MESSAGES - received
        consumer.close()


@pytest.mark.parametrize(
    ("balancing", "delay_ms", "moves"),
    [
        ("ON_DEMAND", AT_ONCE, True),
        ("ON_DEMAND", LATER_MS, False),
        ("ON_DEMAND", NEVER, False),
        ("OFF_WITH_REDISTRIBUTION", AT_ONCE, True),
        ("OFF", AT_ONCE, False),
    ],
)
def test_messages_that_wait_without_consumers_move_to_a_new_one_elsewhere_after_the_delay(
    balancing: str, delay_ms: int, moves: bool, tmp_path: Path
) -> None:
    topology = cluster(balancing, delay_ms)
    with up(topology, tmp_path) as runtime:
        send(runtime, "broker-1")
        consumer = client(runtime, "broker-2")
        consumer.listen(ORDERS)
        if moves:
            until(lambda: len(consumer.got) == MESSAGES)
        time.sleep(SETTLES_S)
        assert len(consumer.got) == (MESSAGES if moves else 0)
        assert depth(runtime, topology, "broker-1", ORDERS.name) == (0 if moves else MESSAGES)
        consumer.close()
