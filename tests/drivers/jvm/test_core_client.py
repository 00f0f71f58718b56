"""The Core clients of a load on real Artemis brokers: the client's own failover, loops in the JVM, rows as recorded."""

import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jpype
import pytest

from drivers.client.contract import ProducerSettings
from drivers.contract import DriverError, Subscription
from drivers.jvm import vm
from drivers.jvm.client import JavaClient
from harness.java_parts import find_java_parts
from records.loads.send_schedule import Schedule
from tests.drivers.doubles import Control
from tests.drivers.java_bench import (
    RUN,
    UNKNOWN_BROKER,
    JavaBench,
    address,
    bench_on,
    check_moved,
    every_ms,
    killed_under_a_load,
)
from tests.support.brokers import running
from tests.support.relay import Relay
from tests.support.stomp_clients import queue
from tests.support.waiting import settled_for, until
from topologies.artemis.broker import ArtemisBroker
from topologies.artemis.product import ARTEMIS
from topologies.model.client_groups import ClientGroup
from topologies.model.endpoints import Credentials
from topologies.model.topology import Topology
from topologies.runtimes.contract import Runtime

pytestmark = [pytest.mark.brokers, pytest.mark.nightly]
vm.use(find_java_parts)
PATIENCE_S = 60  # Core's client waits half a minute for a broker that took its connection and then died


@pytest.fixture(scope="module")
def artemis(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Runtime]:
    """One to kill."""
    with running("artemis-single", tmp_path_factory.mktemp("artemis")) as runtime:
        yield runtime


def core_bench(runtime: Runtime, folder: Path, *brokers: str, options: str = "") -> JavaBench:
    return bench_on(runtime, folder, [*brokers], options, "core")


def test_a_dead_list_is_given_up_as_the_uri_says(tmp_path: Path) -> None:
    uri = "failover:(tcp://127.0.0.1:1,tcp://127.0.0.1:2)?startupMaxReconnectAttempts=2&randomize=false"
    bench = JavaBench(tmp_path, UNKNOWN_BROKER, Credentials("u", "secret"), uri, "core")
    with pytest.raises(DriverError, match=r"no broker of failover.* could be reached: .*Cannot connect to server"):
        bench.client().open()
    changes = bench.tables()["connections"]
    assert [(row["event"], row["broker"]) for row in changes] == [
        ("attempt", name) for name in ("b1", "b2", "b1", "b2")
    ]
    assert "Cannot connect to server" in changes[-1]["reason"]


def test_attempts_are_all_told_when_a_broker_that_was_lost_is_given_up(artemis: Runtime, tmp_path: Path) -> None:
    options = "?maxReconnectAttempts=2&useExponentialBackOff=false"
    bench = core_bench(artemis, tmp_path, "broker-1", options=options)
    client = bench.opened()
    artemis.kill("broker-1")
    try:
        with pytest.raises(DriverError, match="no broker could be reached again"):
            until(lambda: client.usable())
    finally:
        artemis.start("broker-1")
    changes = bench.tables()["connections"]
    assert [row["event"] for row in changes] == ["attempt", "connected", "lost", "attempt", "attempt"]
    assert [row["cause"] for row in changes] == [None, None, "lost", "unreachable", "unreachable"]
    assert {row["reason"] for row in changes[3:]} == {"could not be reached"}
    assert all(row["ended_ns"] >= row["at_ns"] for row in changes if row["event"] == "attempt")


def test_a_client_that_is_closed_while_it_connects_tries_no_further(tmp_path: Path) -> None:
    uri = "failover:(tcp://127.0.0.1:1,tcp://127.0.0.1:2)?maxReconnectDelay=50"
    bench = JavaBench(tmp_path, UNKNOWN_BROKER, Credentials("u", "secret"), uri, "core")
    client, errors = bench.client(), list[str]()

    def open_it() -> None:
        with pytest.raises(DriverError) as caught:
            client.open()
        errors.append(str(caught.value))

    opening = threading.Thread(target=open_it, daemon=True)
    opening.start()
    until(lambda: events(bench) > 4)
    before = client_threads()
    client.close()
    opening.join()
    until(lambda: len(client_threads()) < len(before))
    assert len(errors) == 1


def events(bench: JavaBench) -> int:
    bench.recorder.flush()
    return bench.recorder.counts["connections"]


def client_threads() -> set[str]:
    """The JVM's threads on which clients connect, by their names."""
    names = {str(thread.getName()) for thread in jpype.JClass("java.lang.Thread").getAllStackTraces().keySet()}
    return {name for name in names if name.startswith("brokerbench-client-")}


@pytest.mark.parametrize("options", ["?randomize=false", "?ha=true&reconnectAttempts=-1&retryInterval=100"])
def test_a_broker_that_comes_back_gets_what_it_had_not_answered(artemis: Runtime, tmp_path: Path, options: str) -> None:
    bench, orders = core_bench(artemis, tmp_path, "broker-1", options=options), queue("back")
    client, producing = bench.opened(), Control()
    bench.opened().consumer(Subscription(orders), run=RUN)
    producer = client.producer(orders, ProducerSettings(body_bytes=100, in_flight=50), run=RUN)
    begun: list[int] = []
    keeping = threading.Thread(target=lambda: begun.append(producer.run(every_ms(100_000), producing)))
    keeping.start()
    until(lambda: bench.statistics.settled > 200)
    artemis.kill("broker-1")
    try:
        until(lambda: client.broker is None)
    finally:
        artemis.start("broker-1")
    settled = bench.statistics.settled
    until(lambda: client.broker == "broker-1" and bench.statistics.settled > settled + 200, PATIENCE_S)
    producing.stop()
    keeping.join()
    until(lambda: bench.statistics.settled == begun[0] == len(bench.statistics.received), PATIENCE_S)
    tables = bench.tables()
    last = {row["seq"]: row for row in tables["sends"]}
    assert sorted(last) == list(range(begun[0]))
    assert {row["outcome"] for row in last.values()} == {"acked"}
    events = [row["event"] for row in tables["connections"] if row["client"] == 0]
    assert events[:3] == ["attempt", "connected", "lost"]
    assert [event for event in events if "blocked" not in event][-4:] == ["attempt", "connected", "ready", "closed"]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ("timeout=1500", "it was disconnected for 1500 ms, as long as its URI lets a send wait"),
        ("ha=true&reconnectAttempts=-1&callFailoverTimeout=1500", "it was disconnected for 1500 ms"),
        ("maxReconnectAttempts=2", "there will be no connection again"),
    ],
)
def test_a_send_without_a_connection_fails_as_the_uri_says_and_ends_its_producer(
    single_artemis: Runtime, tmp_path: Path, options: str, words: str
) -> None:
    errors, sends = cut_while_sending(single_artemis, tmp_path, options, durable=False, rate_per_s=200)
    assert words in errors
    failed = {row["seq"] for row in sends if row["outcome"] != "unconfirmed"}
    assert failed == {max(row["seq"] for row in sends)}, "no other is begun"


@pytest.mark.parametrize("durable", [True, False])
def test_a_send_waiting_for_credit_has_the_same_time_limit(
    single_artemis: Runtime, tmp_path: Path, durable: bool
) -> None:
    errors, _ = cut_while_sending(single_artemis, tmp_path, "timeout=1500", durable=durable, rate_per_s=100_000)
    assert "it was disconnected for 1500 ms" in errors


def cut_while_sending(
    runtime: Runtime, folder: Path, options: str, *, durable: bool, rate_per_s: float
) -> tuple[str, list[dict[str, Any]]]:
    """Return the error of a producer that loses its only connection to the broker, and the rows of its sends."""
    host, port = address(runtime, "broker-1", "core").split(":")
    errors: list[str] = []
    with Relay((host, int(port))) as relay:
        by = f"127.0.0.1:{relay.port}"
        bench = JavaBench(folder, {by: "broker-1"}, runtime.credentials(), f"failover:(tcp://{by})?{options}", "core")
        producer = bench.opened().producer(
            queue("impatient"), ProducerSettings(body_bytes=100, in_flight=1_000, durable=durable), run=RUN
        )

        def keep() -> None:
            with pytest.raises(DriverError) as caught:
                producer.run(Schedule(time.perf_counter_ns(), rate_per_s), Control())
            errors.append(str(caught.value))

        keeping = threading.Thread(target=keep, daemon=True)
        keeping.start()
        until(lambda: bench.statistics.settled > rate_per_s / 40)
    keeping.join(PATIENCE_S)
    assert len(errors) == 1, "it still waits"
    return errors[0], bench.tables()["sends"]


def test_a_one_way_send_whose_write_breaks_is_in_doubt_and_tried_again(single_artemis: Runtime, tmp_path: Path) -> None:
    bench, producing = core_bench(single_artemis, tmp_path, "broker-1"), Control()
    client = bench.opened()
    producer = client.producer(queue("one-way"), ProducerSettings(100, 50, durable=False), run=RUN)
    keeping = threading.Thread(target=producer.run, args=(every_ms(100_000), producing))
    keeping.start()
    until(lambda: bench.statistics.settled > 50)
    channel = channel_of(client)
    channel.setTransferring(True)  # as while the library moves to another connection: then a write is refused
    settled = settled_for(lambda: bench.statistics.settled, 0.5)
    channel.setTransferring(False)
    until(lambda: bench.statistics.settled > settled + 50)
    producing.stop()
    keeping.join()
    sends = bench.tables()["sends"]
    last = {row["seq"]: row for row in sends}
    assert {row["outcome"] for row in last.values()} == {"unconfirmed"}
    doubted = [row for row in sends if row["outcome"] == "in_doubt"]
    assert [row["attempt"] for row in doubted] == list(range(1, len(doubted) + 1))
    assert [last[row["seq"]]["attempt"] for row in doubted] == [len(doubted) + 1] * len(doubted) != []


def channel_of(client: JavaClient) -> Any:
    """Return the channel on which the library writes the messages of the client's only sender."""
    sender = private(client._java, "senders", of=1).get(0)
    context = private(private(sender, "session").getCoreSession(), "sessionContext")
    return private(context, "sessionChannel")


def private(java: Any, name: str, of: int = 0) -> Any:
    """A field of an object in the JVM; ``of``: how many classes above its own."""
    declaring = java.getClass()
    for _ in range(of):
        declaring = declaring.getSuperclass()
    field = declaring.getDeclaredField(name)
    field.setAccessible(True)
    return field.get(java)


def test_a_message_held_back_during_failover_names_its_broker(tmp_path: Path) -> None:
    """Its row has the broker that received it."""
    with running(two_alone(), tmp_path / "brokers") as runtime:
        bench = core_bench(runtime, tmp_path, "broker-1", "broker-2", options="?randomize=false")
        orders, client, producing = queue("held"), bench.opened(), Control()
        producer = client.producer(orders, ProducerSettings(100, 50), run=RUN)
        keeping = threading.Thread(target=producer.run, args=(every_ms(100_000), producing))
        keeping.start()
        until(lambda: bench.statistics.settled > 200)
        channel_of(client).lock()  # as the library does from the loss of a connection to the next one
        settled_for(lambda: producer.begun, 0.5)
        until(lambda: bench.statistics.settled == producer.begun - 1)  # all but the one that waits in the library
        answered = held = producer.begun - 1
        runtime.kill("broker-1")
        until(lambda: client.broker == "broker-2" and bench.statistics.settled > answered + 50)
        producing.stop()
        keeping.join()
        bench.opened().consumer(Subscription(orders), run=RUN)
        until(lambda: held in bench.statistics.received)
        tables = bench.tables()
    (row,) = [row for row in tables["sends"] if row["seq"] == held]
    assert (row["attempt"], row["outcome"], row["broker"]) == (1, "acked", "broker-2")
    there = {(row["seq"], row["attempt"]) for row in tables["sends"] if row["broker"] == "broker-2"}
    assert {(row["seq"], row["attempt"]) for row in tables["receipts"]} <= there


def two_alone() -> Topology:
    near, far = ArtemisBroker("broker-1"), ArtemisBroker("broker-2")
    return Topology("two-alone", (near, far), (), (ClientGroup("producers", (near, far)),), ARTEMIS)


def test_a_killed_broker_leaves_attempts_in_doubt_that_the_next_one_acks(tmp_path: Path) -> None:
    with running(two_alone(), tmp_path / "brokers") as runtime:
        bench = core_bench(runtime, tmp_path, "broker-1", "broker-2", options="?randomize=false")
        check_moved(*killed_under_a_load(runtime, bench))
