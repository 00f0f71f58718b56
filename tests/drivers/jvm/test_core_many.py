"""Checks that many Core clients of a dead broker do not disturb the other clients, which share the JVM's threads."""

import threading
from pathlib import Path

import pytest

from drivers.contract import Subscription
from drivers.jvm import vm
from scenarios.java_parts import find_java_parts
from tests.drivers.java_bench import RUN, Producing, bench_on, every_ms
from tests.support.brokers import running
from tests.support.stomp_clients import queue
from tests.support.waiting import until
from topologies.artemis.broker import ArtemisBroker
from topologies.artemis.product import ARTEMIS
from topologies.model.client_groups import ClientGroup
from topologies.model.topology import Topology

pytestmark = [pytest.mark.brokers, pytest.mark.nightly]
vm.use(find_java_parts)
CROWD = 40  # a pool of Core's own size has eight threads a core


def test_clients_of_a_dead_broker_are_all_told_and_those_of_a_live_one_go_on(tmp_path: Path) -> None:
    dies, lives = ArtemisBroker("broker-1"), ArtemisBroker("broker-2")
    group = ClientGroup("producers", (dies, lives))
    with running(Topology("two-alone", (dies, lives), (), (group,), ARTEMIS), tmp_path / "brokers") as runtime:
        doomed = bench_on(runtime, tmp_path / "doomed", ["broker-1"], protocol="core")
        crowd = [doomed.opened() for _ in range(CROWD)]
        for client in crowd:
            client.consumer(Subscription(queue("doomed")), run=RUN)
        lucky = bench_on(runtime, tmp_path / "lucky", ["broker-2"], protocol="core")
        orders, producing = queue("on"), Producing()
        lucky.opened().consumer(Subscription(orders), run=RUN)
        producer = lucky.opened().producer(orders, durable=True, run=RUN)
        keeping = threading.Thread(target=producer.keep, args=(every_ms(1_000_000), 10_000, 50, producing))
        keeping.start()
        until(lambda: lucky.statistics.receipts > 200)
        runtime.kill("broker-1")
        until(lambda: all(client.broker is None for client in crowd))
        received = lucky.statistics.receipts
        until(lambda: lucky.statistics.receipts > received + 2_000)
        producing.stop()
        keeping.join()
        lost = [row["client"] for row in doomed.tables()["connections"] if row["event"] == "lost"]
        lucky.tables()
    assert sorted(lost) == list(range(CROWD))
