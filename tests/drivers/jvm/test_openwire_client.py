"""The OpenWire clients of a load on real brokers: Java's failover transport, loops in the JVM, rows as recorded."""

import threading
from collections import Counter
from pathlib import Path

import pytest

from drivers.client.contract import ProducerSettings
from drivers.contract import DriverError, Outcome, Subscription
from drivers.jvm import vm
from harness.java_parts import find_java_parts
from records.loads.identity import Identity, first_bytes, stamp
from tests.drivers.doubles import Control
from tests.drivers.java_bench import (
    RUN,
    UNKNOWN_BROKER,
    JavaBench,
    bench_on,
    check_moved,
    every_ms,
    killed_under_a_load,
)
from tests.support.brokers import running
from tests.support.stomp_clients import StompClient, queue
from tests.support.waiting import until
from topologies.model.endpoints import Credentials
from topologies.runtimes.contract import Runtime

pytestmark = pytest.mark.brokers
vm.use(find_java_parts)


def test_producing_that_is_stopped_begins_no_further_message(single_broker: Runtime, tmp_path: Path) -> None:
    bench, producing = bench_on(single_broker, tmp_path, ["broker-1"]), Control()
    producer = bench.opened().producer(queue("stopped"), ProducerSettings(body_bytes=64, in_flight=50), run=RUN)

    def stop_once_it_sends() -> None:
        until(lambda: bench.statistics.begun > 0)
        producing.stop()

    threading.Thread(target=stop_once_it_sends).start()
    begun = producer.run(every_ms(100_000), producing)
    assert 0 < begun < 100_000
    assert Counter(row["outcome"] for row in bench.tables()["sends"]) == {"acked": begun}


def test_bodies_that_are_not_as_sent_are_told_apart(single_broker: Runtime, tmp_path: Path) -> None:
    bench, orders = bench_on(single_broker, tmp_path, ["broker-1"]), queue("integrity")
    good = stamp(Identity(RUN, 4, 9, 2), 200)
    bodies = [good, good[:-1] + bytes([good[-1] ^ 1]), b"\1" + good[1:], b"short", stamp(Identity(5, 4, 9, 2), 40)]
    sender = StompClient(single_broker.endpoint("broker-1", "stomp"), single_broker.credentials())
    sender.send(orders, *bodies)
    assert sender.outcomes(len(bodies)) == [Outcome.ACKED] * len(bodies)
    bench.opened().consumer(Subscription(orders), run=RUN)
    until(lambda: bench.statistics.receipts == len(bodies))
    sender.close()
    readings = [(row["integrity"], row["producer"], row["seq"], row["attempt"]) for row in bench.tables()["receipts"]]
    assert readings == [
        ("intact", 4, 9, 2),
        ("corrupted", 4, 9, 2),
        ("unreadable", -1, -1, -1),
        ("foreign", -1, -1, -1),
        ("foreign", -1, -1, -1),
    ]
    assert bench.statistics.foreign == [
        (str(orders), "broker-1", b"short", 5),
        (str(orders), "broker-1", first_bytes(bodies[-1]), 40),
    ]


def test_a_dead_list_is_given_up_as_the_uri_says(tmp_path: Path) -> None:
    uri = "failover:(tcp://127.0.0.1:1,tcp://127.0.0.1:2)?startupMaxReconnectAttempts=2&randomize=false"
    bench = JavaBench(tmp_path, UNKNOWN_BROKER, Credentials("u", "secret"), uri)
    client = bench.client()
    with pytest.raises(DriverError) as caught:
        client.open()
    words = str(caught.value)
    assert words == f"g client 0: no broker of {uri} could be reached: Connection refused; check that one is up"
    tried = [(row["event"], row["broker"], row["reason"]) for row in bench.tables()["connections"]]
    assert [(event, broker) for event, broker, _ in tried] == [("attempt", "b1"), ("attempt", "b2")] * 2
    assert all("Connection refused" in reason for _, _, reason in tried)
    rows = bench.tables()["connections"]
    assert {row["cause"] for row in rows} == {"unreachable"}
    assert all(row["ended_ns"] >= row["at_ns"] for row in rows)


def test_a_broker_of_another_run_is_refused_by_name(tmp_path: Path) -> None:
    bench = JavaBench(tmp_path, UNKNOWN_BROKER, Credentials("u", "p"), "failover:(tcp://10.9.8.7:61616)")
    with pytest.raises(
        DriverError, match=r"10\.9\.8\.7:61616 is not a broker of this run; its brokers are 127\.0\.0\.1:1"
    ):
        bench.client()


def test_a_killed_broker_leaves_attempts_in_doubt_that_the_next_one_acks(tmp_path: Path) -> None:
    with running("mesh(brokers=2)", tmp_path / "brokers") as runtime:
        bench = bench_on(runtime, tmp_path, ["broker-1", "broker-2"], "?randomize=false")
        check_moved(*killed_under_a_load(runtime, bench))


@pytest.mark.nightly
def test_a_message_across_one_link_says_one_hop_and_one_from_this_broker_none(tmp_path: Path) -> None:
    with running("source-and-sink", tmp_path) as runtime:
        bench, orders = bench_on(runtime, tmp_path, ["sink"]), queue("hops")
        bench.opened().consumer(Subscription(orders), run=RUN)
        for seq, broker in enumerate(("source", "sink")):
            client = StompClient(runtime.endpoint(broker, "stomp"), runtime.credentials())
            client.send(orders, stamp(Identity(RUN, 1, seq, 0), 64))
            client.close()
        until(lambda: bench.statistics.receipts == 2)
        assert {row["seq"]: row["hops"] for row in bench.tables()["receipts"]} == {0: 1, 1: 0}
