"""Checks AMQP connections between real Artemis brokers when queues are missing, brokers die or attempts run out."""

import time
from contextlib import closing
from pathlib import Path

import pytest

from drivers.contract import Destination
from tests.support.brokers import running
from tests.support.waiting import until
from tests.topologies.experiments import ORDERS, SETTLES_S, clients, depth, send, up
from topologies.artemis.broker import ArtemisBroker
from topologies.artemis.links import AddressMatch, BrokerConnection
from topologies.artemis.management import broker_mbean, start_connection
from topologies.artemis.product import ARTEMIS
from topologies.catalogue.lookup import build
from topologies.management.contract import queries_of
from topologies.management.jolokia import Jolokia
from topologies.model.topology import Topology
from topologies.runtimes.contract import Runtime

pytestmark = [pytest.mark.brokers, pytest.mark.nightly]

STEADY = Destination("queue", "steady")  # the entry `receivers` has a queue for it
TAKES_OVER_WITHIN_S = 45.0


def connected(runtime: Runtime, broker: str, link: str) -> bool:
    mbean = f'{broker_mbean(broker)},component=broker-connections,name="{link}"'
    with closing(Jolokia(runtime.management(broker))) as agent:
        return bool(agent.read(mbean, "Connected")["Connected"])


def serves(runtime: Runtime, topology: Topology, broker: str) -> None:
    with closing(Jolokia(runtime.management(broker))) as agent:
        until(lambda: queries_of(topology, broker).serves(agent), TAKES_OVER_WITHIN_S)


def test_a_receiver_without_its_queue_fetches_nothing_until_somebody_makes_it(tmp_path: Path) -> None:
    sink, source = ArtemisBroker("sink"), ArtemisBroker("source")
    link = BrokerConnection(sink, source, receivers=(AddressMatch(queue_name=ORDERS.name),), retry_interval_ms=200)
    topology = Topology("no-queue-yet", (sink, source), (link,), (), ARTEMIS)
    assert "which 'sink' does not have when it starts" in topology.warnings[0]
    with up(topology, tmp_path) as runtime:
        send(runtime, "source", count=1)
        time.sleep(SETTLES_S)
        assert depth(runtime, topology, "source", ORDERS.name) == 1
        with clients(runtime, "sink") as [consumer]:
            consumer.listen(ORDERS)  # this creates the queue
            assert [reading.seq for reading in consumer.received(1)] == [0]


def test_a_sender_goes_on_to_the_alternate_when_its_end_dies(tmp_path: Path) -> None:
    topology = build("senders(alternate=True)")
    with up(topology, tmp_path) as runtime:
        send(runtime, "source", count=1)
        until(lambda: depth(runtime, topology, "sink", ORDERS.name) == 1)
        runtime.kill("sink")
        send(runtime, "source", count=1, first_seq=1)
        serves(runtime, topology, "sink-backup")
        with clients(runtime, "sink-backup") as [consumer]:
            consumer.listen(ORDERS)
            assert sorted(reading.seq for reading in consumer.received(2)) == [0, 1]


def test_a_receiver_goes_on_at_the_alternate_when_its_end_dies(tmp_path: Path) -> None:
    topology = build("receivers(alternate=True)")
    with up(topology, tmp_path) as runtime, clients(runtime, "sink") as [consumer]:
        consumer.listen(STEADY)
        send(runtime, "source", STEADY, count=1)
        assert [reading.seq for reading in consumer.received(1)] == [0]
        runtime.kill("source")
        serves(runtime, topology, "source-backup")
        send(runtime, "source-backup", STEADY, count=1, first_seq=1)
        until(lambda: len(consumer.got) >= 2, TAKES_OVER_WITHIN_S)
        assert {reading.seq for reading in consumer.received(2)} == {0, 1}


def test_ends_that_are_no_pair_are_tried_in_turn_and_the_one_that_listens_is_kept(tmp_path: Path) -> None:
    """The first end is used at the start, as a run starts the link once all brokers listen.

    If that broker dies, the link moves to another, and stays there.
    """
    source, near, far = (ArtemisBroker(name) for name in ("source", "near", "far"))
    link = BrokerConnection(
        source, near, senders=(AddressMatch("#"),), alternates=(far,), retry_interval_ms=200, auto_start=False
    )
    topology = Topology("two-stores", (source, near, far), (link,), (), ARTEMIS)
    assert [topology.reaches("source", end, "queue://orders") for end in ("near", "far")] == [True, False]
    with up(topology, tmp_path) as runtime:
        send(runtime, "source", count=1)
        until(lambda: depth(runtime, topology, "near", ORDERS.name) == 1)
        runtime.kill("near")
        send(runtime, "source", count=1, first_seq=1)
        until(lambda: depth(runtime, topology, "far", ORDERS.name) == 1)
        runtime.start("near")
        send(runtime, "source", count=1, first_seq=2)
        until(lambda: depth(runtime, topology, "far", ORDERS.name) == 2)
        assert depth(runtime, topology, "near", ORDERS.name) == 1


def test_a_connection_without_attempts_left_needs_a_restart(
    tmp_path: Path,
) -> None:
    """It stays down until management stops and starts it.

    Starting alone may do nothing: for the broker, the connection was never stopped.
    """
    topology = build("senders(reconnect_attempts=2, retry_interval_ms=200)")
    with up(topology, tmp_path) as runtime:
        runtime.kill("sink")
        until(lambda: not connected(runtime, "source", "source-to-sink"))
        time.sleep(SETTLES_S)  # more than its attempts take
        runtime.start("sink")
        time.sleep(SETTLES_S)
        assert not connected(runtime, "source", "source-to-sink")
        with closing(Jolokia(runtime.management("source"))) as agent:
            agent.execute(broker_mbean("source"), "stopBrokerConnection(java.lang.String)", "source-to-sink")
            start_connection(agent, "source-to-sink")
        until(lambda: connected(runtime, "source", "source-to-sink"))


def test_without_auto_start_messages_wait_until_management_starts_the_connection(tmp_path: Path) -> None:
    topology = build("senders(auto_start=False)")
    with running(topology, tmp_path) as runtime:
        send(runtime, "source", count=1)
        time.sleep(SETTLES_S)
        assert depth(runtime, topology, "source", ORDERS.name) == 1
        with closing(Jolokia(runtime.management("source"))) as agent:
            start_connection(agent, "source-to-sink")
        until(lambda: depth(runtime, topology, "sink", ORDERS.name) == 1)
        until(lambda: depth(runtime, topology, "source", ORDERS.name) == 0)  # once the other end has acknowledged it
