"""Checks what links do without consumers: bridges that start, wait and die."""

import time
from contextlib import closing
from pathlib import Path

import pytest

from drivers.contract import Destination, Subscription
from tests.support.brokers import frozen
from tests.support.crossings import observed, predicted
from tests.support.stomp_clients import Client, body
from tests.support.waiting import until
from tests.topologies.experiments import SETTLES_S, client, depth, two, up
from topologies.classic.management import broker_mbean
from topologies.management.jolokia import Jolokia
from topologies.management.links import prove_links
from topologies.runtimes.contract import Runtime

pytestmark = [pytest.mark.brokers, pytest.mark.nightly]

MESSAGES = 30
ORDERS = Destination("queue", "orders")
PRICES = Destination("topic", "prices")


def test_a_static_bridge_asks_for_what_is_included_and_hears_of_no_consumer(tmp_path: Path) -> None:
    included = "queue://open.from-here-to-there"
    topology = two(static_bridge=True, statically_included_destinations=(included,))
    alone = {("here", "here"), ("there", "there")}
    with up(topology, tmp_path) as runtime:
        for prefix, crosses in (("open.", True), ("other.", False)):
            found = observed(runtime, topology, "queue", prefix)
            assert found == predicted(topology, "queue", prefix)
            assert found == alone | ({("here", "there")} if crosses else set())


@pytest.mark.parametrize("waits_for_answers", [True, False])
def test_a_message_that_is_not_stored_leaves_its_broker_unanswered_only_without_always_sync_send(
    waits_for_answers: bool, tmp_path: Path
) -> None:
    """The far end stands still. What was sent to it one way is gone from here: it would be lost with that broker."""
    topology = two(always_sync_send=waits_for_answers, decrease_network_consumer_priority=False)
    with up(topology, tmp_path) as runtime:
        consumer, sender = client(runtime, "there"), client(runtime, "here")
        consumer.listen(ORDERS)
        time.sleep(SETTLES_S)
        with frozen(runtime, "there"):
            sender.send(ORDERS, *(body(seq) for seq in range(MESSAGES)), durable=False)
            if waits_for_answers:
                until(lambda: depth(runtime, topology, "here", "orders") == MESSAGES)
            time.sleep(SETTLES_S)
            assert depth(runtime, topology, "here", "orders") == (MESSAGES if waits_for_answers else 0)
        assert sorted(reading.seq for reading in consumer.received(MESSAGES)) == list(range(MESSAGES))
        for each in (consumer, sender):
            each.close()


@pytest.mark.parametrize("dynamic_only", [False, True])
def test_a_bridge_that_starts_asks_for_what_durable_subscribers_sleep_on_unless_it_is_dynamic_only(
    dynamic_only: bool, tmp_path: Path
) -> None:
    """The subscriber at the far end is away all the time, and its broker has the message only if the bridge asked."""
    topology = two(dynamic_only=dynamic_only)
    with up(topology, tmp_path) as runtime:
        subscriber = durable_subscriber(runtime)
        time.sleep(SETTLES_S)
        subscriber.close()
        runtime.stop("here")
        runtime.start("here")
        prove_links(runtime, topology, timeout_s=60)
        time.sleep(SETTLES_S)
        sender = client(runtime, "here")
        sender.send(PRICES, body(0))
        sender.outcomes(1)
        time.sleep(SETTLES_S)
        assert published(runtime, "there") == (0 if dynamic_only else 1)
        awake = durable_subscriber(runtime)
        assert [reading.seq for reading in awake.received(1)] == [0]
        for each in (awake, sender):
            each.close()


def durable_subscriber(runtime: Runtime) -> Client:
    found = Client(runtime.endpoint("there", "stomp"), runtime.credentials(), client_id="sleeper")

    def settle(delivery: object) -> None:
        found.got.append(delivery)  # type: ignore[arg-type]
        found.connection.settle(found.got[-1])

    found.connection.subscribe(Subscription(PRICES, durable_name="prices"), settle)
    return found


def published(runtime: Runtime, broker: str) -> int:
    """How many messages the topic has seen at a broker."""
    with closing(Jolokia(runtime.management(broker))) as agent:
        topic = f"{broker_mbean(broker)},destinationType=Topic,destinationName={PRICES.name}"
        return int(agent.read(topic, "EnqueueCount")["EnqueueCount"])
