"""Checks that many Java clients of a frozen or dead broker do not disturb other clients in the same JVM."""

import threading
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest

from drivers.client.contract import ProducerSettings
from drivers.contract import Subscription
from drivers.jvm import vm
from harness.java_parts import find_java_parts
from tests.drivers.doubles import Control
from tests.drivers.java_bench import RUN, bench_on, every_ms
from tests.support.brokers import frozen, running
from tests.support.stomp_clients import queue
from tests.support.waiting import until
from topologies.artemis.broker import ArtemisBroker
from topologies.classic.broker import Broker
from topologies.model.broker import AnyBroker
from topologies.model.client_groups import ClientGroup
from topologies.model.topology import Topology
from topologies.products import PRODUCTS

pytestmark = [pytest.mark.brokers, pytest.mark.nightly]
vm.use(find_java_parts)
CROWD, MESSAGES = 200, 1_000
DOOMED = 40  # a pool of Core's own size has eight threads a core
HEAP_MB = 512


def two_alone(protocol: str) -> Topology:
    names = ("broker-1", "broker-2")
    brokers: tuple[AnyBroker, ...] = tuple(map(ArtemisBroker if protocol == "core" else Broker, names))
    flavour = "artemis" if protocol == "core" else "classic"
    return Topology("two-alone", brokers, (), (ClientGroup("producers", brokers),), PRODUCTS[flavour])


def all_at_once(actions: Iterable[Callable[[], None]]) -> list[threading.Thread]:
    """Threads, or greenlets under gevent."""
    threads = [threading.Thread(target=action, daemon=True) for action in actions]
    for thread in threads:
        thread.start()
    return threads


@pytest.mark.parametrize("protocol", ["openwire", "core"])
def test_clients_that_wait_for_a_frozen_broker_keep_no_other_waiting(protocol: str, tmp_path: Path) -> None:
    with running(two_alone(protocol), tmp_path / "brokers", HEAP_MB) as runtime:
        stuck = bench_on(runtime, tmp_path / "stuck", ["broker-1"], protocol=protocol)
        lucky = bench_on(runtime, tmp_path / "lucky", ["broker-2"], protocol=protocol)
        crowd, orders = [stuck.client() for _ in range(CROWD)], queue("on")
        for opening in all_at_once(client.open for client in crowd):
            opening.join(60)
        assert {client.broker for client in crowd} == {"broker-1"}
        with frozen(runtime, "broker-1"):
            asking = all_at_once(
                lambda client=client: client.consumer(Subscription(queue("stuck")), run=RUN)  # type: ignore[misc]
                for client in crowd
            )
            lucky.opened().consumer(Subscription(orders), run=RUN)
            producer = lucky.opened().producer(orders, ProducerSettings(body_bytes=100, in_flight=50), run=RUN)
            assert producer.run(every_ms(MESSAGES), Control()) == MESSAGES
            until(lambda: lucky.statistics.receipts == MESSAGES)
            assert all(thread.is_alive() for thread in asking), "whose broker is frozen has no answer yet"
        for thread in asking:
            thread.join(60)
        subscribed = [row["consumer"] for row in stuck.tables()["subscriptions"]]
        sends = lucky.tables()["sends"]
    assert sorted(subscribed) == list(range(CROWD))
    assert {row["outcome"] for row in sends} == {"acked"}


def test_clients_of_a_dead_broker_are_all_told_and_those_of_a_live_one_go_on(tmp_path: Path) -> None:
    with running(two_alone("core"), tmp_path / "brokers") as runtime:
        doomed = bench_on(runtime, tmp_path / "doomed", ["broker-1"], protocol="core")
        crowd = [doomed.opened() for _ in range(DOOMED)]
        for client in crowd:
            client.consumer(Subscription(queue("doomed")), run=RUN)
        lucky = bench_on(runtime, tmp_path / "lucky", ["broker-2"], protocol="core")
        orders, producing = queue("on"), Control()
        lucky.opened().consumer(Subscription(orders), run=RUN)
        producer = lucky.opened().producer(orders, ProducerSettings(10_000, 50), run=RUN)
        keeping = threading.Thread(target=producer.run, args=(every_ms(1_000_000), producing))
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
    assert sorted(lost) == list(range(DOOMED))
