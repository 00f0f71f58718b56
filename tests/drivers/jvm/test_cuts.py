"""Checks that if a connection drops while it creates a sender or subscription, the next connection creates it."""

import random
import threading
from pathlib import Path

import pytest

from drivers.client.contract import ProducerSettings
from drivers.contract import Subscription
from drivers.jvm import vm
from harness.java_parts import find_java_parts
from tests.drivers.doubles import Control
from tests.drivers.java_bench import RUN, behind, every_ms, relay_to
from tests.support.stomp_clients import queue
from tests.support.waiting import until
from topologies.runtimes.contract import Runtime

pytestmark = [pytest.mark.brokers, pytest.mark.nightly]
vm.use(find_java_parts)
MADE, MESSAGES = 30, 5


@pytest.mark.parametrize("protocol", ["openwire", "core"])
def test_senders_and_subscriptions_are_created_by_the_next_connection(
    request: pytest.FixtureRequest, tmp_path: Path, protocol: str
) -> None:
    """Their connection is lost while they are created."""
    broker: Runtime = request.getfixturevalue("single_artemis" if protocol == "core" else "single_broker")
    orders, rng = queue("made"), random.Random(3)
    with relay_to(broker, protocol) as relay:
        bench = behind(relay, broker, tmp_path, protocol)
        client = bench.opened()
        for number in range(MADE):
            cutting = threading.Timer(rng.uniform(0, 0.02), relay.cut)
            cutting.start()
            producer = client.producer(
                orders, ProducerSettings(body_bytes=100, in_flight=MESSAGES), number=number, run=RUN
            )
            producer.prepare()
            client.consumer(Subscription(orders), number=MADE + number, run=RUN)
            assert producer.run(every_ms(MESSAGES), Control()) == MESSAGES
            cutting.join()
        until(lambda: bench.statistics.settled == MADE * MESSAGES)
        until(lambda: bench.statistics.receipts >= MADE * MESSAGES)
        tables = bench.tables()
    everything = {(number, seq) for number in range(MADE) for seq in range(MESSAGES)}
    assert {(row["producer"], row["seq"]) for row in tables["sends"] if row["outcome"] == "acked"} == everything
    assert {(row["producer"], row["seq"]) for row in tables["receipts"]} == everything
    assert [row["consumer"] for row in tables["subscriptions"]] == [MADE + number for number in range(MADE)]
    assert "lost" in {row["event"] for row in tables["connections"]}
