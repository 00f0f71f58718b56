"""Checks that hundreds of Java clients of a frozen broker do not block other clients in the same JVM."""

import threading
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest

from drivers.contract import Subscription
from drivers.jvm import vm
from scenarios.java_parts import find_java_parts
from tests.drivers.java_bench import RUN, Producing, bench_on, every_ms
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
HEAP_MB = 512


def two_alone(protocol: str) -> Topology:
    names = ("broker-1", "broker-2")
    brokers: tuple[AnyBroker, ...] = tuple(map(ArtemisBroker if protocol == "core" else Broker, names))
    flavour = "artemis" if protocol == "core" else "classic"
    return Topology("two-alone", brokers, (), (ClientGroup("producers", brokers),), PRODUCTS[flavour])


def each_at_once(doing: Iterable[Callable[[], None]]) -> list[threading.Thread]:
    """Threads, or greenlets under gevent."""
    started = [threading.Thread(target=each, daemon=True) for each in doing]
    for each in started:
        each.start()
    return started


@pytest.mark.parametrize("protocol", ["openwire", "core"])
def test_clients_that_wait_for_a_frozen_broker_keep_no_other_waiting(protocol: str, tmp_path: Path) -> None:
    with running(two_alone(protocol), tmp_path / "brokers", HEAP_MB) as runtime:
        stuck = bench_on(runtime, tmp_path / "stuck", ["broker-1"], protocol=protocol)
        lucky = bench_on(runtime, tmp_path / "lucky", ["broker-2"], protocol=protocol)
        crowd, orders = [stuck.client() for _ in range(CROWD)], queue("on")
        for opening in each_at_once(client.open for client in crowd):
            opening.join(60)
        assert {client.broker for client in crowd} == {"broker-1"}
        with frozen(runtime, "broker-1"):
            asking = each_at_once(
                lambda client=client: client.consumer(Subscription(queue("stuck")), run=RUN)  # type: ignore[misc]
                for client in crowd
            )
            lucky.opened().consumer(Subscription(orders), run=RUN)
            producer = lucky.opened().producer(orders, durable=True, run=RUN)
            assert producer.keep(every_ms(MESSAGES), 100, 50, Producing()) == MESSAGES
            until(lambda: lucky.statistics.receipts == MESSAGES)
            assert all(each.is_alive() for each in asking), "whose broker is frozen has no answer yet"
        for each in asking:
            each.join(60)
        subscribed = [row["consumer"] for row in stuck.tables()["subscriptions"]]
        sends = lucky.tables()["sends"]
    assert sorted(subscribed) == list(range(CROWD))
    assert {row["outcome"] for row in sends} == {"acked"}
