"""The OpenWire clients of a load on real brokers: Java's failover transport, loops in the JVM, rows as recorded."""

import threading
import time
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from drivers import java_vm
from drivers.contract import DriverError, Outgoing, Refused, Subscription
from drivers.failover import FailoverUri
from drivers.openwire import OpenWireConnector
from drivers.openwire_client import OpenWireClient
from drivers.pacing import Schedule
from records.identity import Identity, stamp
from records.reader import read_events, seal
from records.rundir import RunDirectory
from records.writer import Recorder
from scenarios.java_parts import find_java_parts
from tests.support.brokers import running
from tests.support.stomp_clients import queue
from tests.support.waiting import until
from topologies.endpoints import Credentials
from topologies.runtimes.contract import Runtime

pytestmark = pytest.mark.brokers
java_vm.use(find_java_parts)

RUN = 0xFEDC_BA98  # more than Java's int holds
UNKNOWN_BROKER = {"127.0.0.1:1": "b1", "127.0.0.1:2": "b2"}


class Clerk:
    """Counts, as the session's does."""

    def __init__(self) -> None:
        self.begun = self.settled = self.receipts = 0

    def took_sends(self, rows: Any) -> None: ...

    def took_receipts(self, rows: Any) -> None:
        self.receipts += len(rows)

    def counted(self, begun: int, settled: int) -> None:
        self.begun += begun
        self.settled += settled


class Producing:
    """Go on until told."""

    def __init__(self) -> None:
        self.producing = True
        self._stopped = threading.Event()

    def stop(self) -> None:
        self.producing = False
        self._stopped.set()

    def wait_unless_stopped(self, timeout_s: float) -> bool:
        return self._stopped.wait(timeout_s)


class Bench:
    """Clients of one recorder, and what they recorded."""

    def __init__(self, folder: Path, brokers: Mapping[str, str], credentials: Credentials, uri: str) -> None:
        self.directory = RunDirectory.create(folder, "run")
        self.recorder, self.clerk = Recorder(self.directory, "main"), Clerk()
        self._brokers, self._credentials, self._uri = brokers, credentials, uri
        self._connector = OpenWireConnector()
        self._clients: list[OpenWireClient] = []

    def client(self) -> OpenWireClient:
        made = self._connector.client(
            number=len(self._clients),
            group="g",
            uri=FailoverUri.parse(self._uri),
            brokers=self._brokers,
            credentials=self._credentials,
            recorder=self.recorder,
            clerk=self.clerk,
            client_id="",
        )
        self._clients.append(made)
        return made

    def opened(self) -> OpenWireClient:
        client = self.client()
        client.open()
        return client

    def tables(self) -> dict[str, list[dict[str, Any]]]:
        """Every row by table, once the clients are closed."""
        for client in self._clients:
            client.close()
        self.recorder.close()
        assert self.recorder.problem is None
        seal(self.directory)
        wanted = ("sends", "receipts", "connections", "subscriptions")
        return {name: read_events(self.directory, name).to_pylist() for name in wanted}


def address(runtime: Runtime, broker: str) -> str:
    return runtime.endpoint(broker, "openwire").uri.partition("://")[2].partition("?")[0]


def bench_on(runtime: Runtime, folder: Path, brokers: list[str], options: str = "") -> Bench:
    names = {address(runtime, broker): broker for broker in brokers}
    uri = f"failover:({','.join(f'tcp://{each}' for each in names)}){options}"
    return Bench(folder, names, runtime.credentials(), uri)


def every_ms(count: int) -> Schedule:
    return Schedule(time.perf_counter_ns() + 50_000_000, 1_000.0, 0, count)


@pytest.mark.parametrize("durable", [True, False])
def test_a_schedule_is_kept_in_the_jvm_and_every_message_recorded(
    single_broker: Runtime, tmp_path: Path, durable: bool
) -> None:
    bench, orders = bench_on(single_broker, tmp_path, ["broker-1"]), queue("kept")
    bench.opened().consumer(Subscription(orders), run=RUN)
    producer = bench.opened().producer(orders, durable=durable, run=RUN)
    schedule = every_ms(300)
    assert producer.keep(schedule, 100, 50, Producing()) == 300
    until(lambda: bench.clerk.receipts == 300 and bench.clerk.settled == 300)
    assert bench.clerk.begun == 300
    tables = bench.tables()
    sends, receipts = tables["sends"], tables["receipts"]
    assert [row["seq"] for row in sends] == list(range(300))
    assert [row["due_ns"] for row in sends] == [schedule.due_ns(slot) for slot in range(300)]
    outcome = "acked" if durable else "unconfirmed"
    same = {key: {row[key] for row in sends} for key in ("producer", "attempt", "destination", "broker", "outcome")}
    assert same == {
        "producer": {1},
        "attempt": {1},
        "destination": {str(orders)},
        "broker": {"broker-1"},
        "outcome": {outcome},
    }
    assert all(row["due_ns"] <= row["sent_ns"] for row in sends)
    assert all((row["settled_ns"] or 0) > row["sent_ns"] for row in sends) == durable
    assert [(row["producer"], row["seq"], row["attempt"], row["integrity"]) for row in receipts] == [
        (1, seq, 1, "intact") for seq in range(300)
    ]
    sent_ns = {row["seq"]: row["sent_ns"] for row in sends}
    assert all(row["received_ns"] > sent_ns[row["seq"]] for row in receipts)
    assert {(row["broker"], row["redelivered"], row["hops"], row["subscription"]) for row in receipts} == {
        ("broker-1", False, 0, orders.name)
    }
    assert [(row["event"], row["broker"]) for row in tables["connections"] if row["client"] == 0] == [
        ("attempt", "broker-1"),
        ("connected", "broker-1"),
        ("closed", "broker-1"),
    ]
    assert [(row["consumer"], row["kind"], row["broker"]) for row in tables["subscriptions"]] == [
        (0, "queue", "broker-1")
    ]


def test_producing_that_is_stopped_begins_no_further_message(single_broker: Runtime, tmp_path: Path) -> None:
    bench, producing = bench_on(single_broker, tmp_path, ["broker-1"]), Producing()
    producer = bench.opened().producer(queue("stopped"), durable=True, run=RUN)
    threading.Timer(0.5, producing.stop).start()
    begun = producer.keep(every_ms(100_000), 64, 50, producing)
    assert 0 < begun < 5_000
    assert Counter(row["outcome"] for row in bench.tables()["sends"]) == {"acked": begun}


def test_bodies_that_are_not_as_sent_are_told_apart(single_broker: Runtime, tmp_path: Path) -> None:
    bench, orders = bench_on(single_broker, tmp_path, ["broker-1"]), queue("integrity")
    good = stamp(Identity(RUN, 4, 9, 2), 200)
    bodies = [good, good[:-1] + bytes([good[-1] ^ 1]), b"\1" + good[1:], b"short", stamp(Identity(5, 4, 9, 2), 40)]

    def heard(*_what: object) -> None: ...

    connection = OpenWireConnector().connect(
        single_broker.endpoint("broker-1", "openwire"),
        single_broker.credentials(),
        client_id="",
        timeout_s=10,
        on_settled=heard,
        on_lost=heard,
    )
    for body in bodies:
        connection.send(Outgoing(orders, body, True, None))
    bench.opened().consumer(Subscription(orders), run=RUN)
    until(lambda: bench.clerk.receipts == len(bodies))
    connection.close()
    found = [(row["integrity"], row["producer"], row["seq"], row["attempt"]) for row in bench.tables()["receipts"]]
    assert found == [
        ("intact", 4, 9, 2),
        ("corrupted", 4, 9, 2),
        ("unreadable", -1, -1, -1),
        ("unreadable", -1, -1, -1),
        ("foreign", -1, -1, -1),
    ]


def test_a_dead_list_is_given_up_as_the_uri_says(tmp_path: Path) -> None:
    uri = "failover:(tcp://127.0.0.1:1,tcp://127.0.0.1:2)?startupMaxReconnectAttempts=2&randomize=false"
    bench = Bench(tmp_path, UNKNOWN_BROKER, Credentials("u", "secret"), uri)
    client = bench.client()
    with pytest.raises(DriverError) as caught:
        client.open()
    words = str(caught.value)
    assert words == f"g client 0: no broker of {uri} could be reached: Connection refused; check that one is up"
    tried = [(row["event"], row["broker"], row["reason"]) for row in bench.tables()["connections"]]
    assert [(event, broker) for event, broker, _ in tried] == [("attempt", "b1"), ("attempt", "b2")] * 2
    assert all("Connection refused" in reason for _, _, reason in tried)


def test_a_wrong_password_ends_the_client_at_once(single_broker: Runtime, tmp_path: Path) -> None:
    bench = bench_on(single_broker, tmp_path, ["broker-1"])
    bench._credentials = Credentials(single_broker.credentials().username, "letmein")
    with pytest.raises(Refused) as caught:
        bench.client().open()
    words = str(caught.value)
    assert "password is invalid" in words
    assert "letmein" not in words
    assert "\n" not in words


def test_a_broker_of_another_run_is_refused_by_name(tmp_path: Path) -> None:
    bench = Bench(tmp_path, UNKNOWN_BROKER, Credentials("u", "p"), "failover:(tcp://10.9.8.7:61616)")
    with pytest.raises(DriverError, match=r"10\.9\.8\.7:61616 is no broker of this run; known are 127\.0\.0\.1:1"):
        bench.client()


def test_a_killed_broker_leaves_attempts_in_doubt_that_the_next_one_acks(tmp_path: Path) -> None:
    with running("mesh(brokers=2)", tmp_path / "brokers") as runtime:
        bench, orders = bench_on(runtime, tmp_path, ["broker-1", "broker-2"], "?randomize=false"), queue("moved")
        client, producing = bench.opened(), Producing()
        producer = client.producer(orders, durable=True, run=RUN)
        begun: list[int] = []
        keeping = threading.Thread(target=lambda: begun.append(producer.keep(every_ms(100_000), 100, 50, producing)))
        keeping.start()
        until(lambda: bench.clerk.settled > 200)
        runtime.kill("broker-1")
        settled = bench.clerk.settled
        until(lambda: client.broker == "broker-2" and bench.clerk.settled > settled + 200)
        producing.stop()
        keeping.join()
        bench.opened().consumer(Subscription(orders), run=RUN)
        until(lambda: bench.clerk.receipts > 200)
        tables = bench.tables()
    check_moved(tables, begun[0])


def check_moved(tables: Mapping[str, list[dict[str, Any]]], begun: int) -> None:
    sends = tables["sends"]
    last = {row["seq"]: row for row in sends}
    assert sorted(last) == list(range(begun))
    assert {row["outcome"] for row in last.values()} == {"acked"}
    doubted = [row for row in sends if row["outcome"] == "in_doubt"]
    assert {(row["attempt"], row["broker"], row["settled_ns"]) for row in doubted} == {(1, "broker-1", None)}
    assert all(last[row["seq"]]["attempt"] == 2 and last[row["seq"]]["broker"] == "broker-2" for row in doubted)
    attempts = {row["seq"]: row["attempt"] for row in sends if row["broker"] == "broker-2"}
    seen = [(row["seq"], row["attempt"]) for row in tables["receipts"]]
    assert seen
    assert all(attempts[seq] == attempt for seq, attempt in seen)
    events = [(row["event"], row["broker"]) for row in tables["connections"] if row["client"] == 0]
    assert events[:3] == [("attempt", "broker-1"), ("connected", "broker-1"), ("lost", "broker-1")]
    assert events[-4:] == [
        ("attempt", "broker-2"),
        ("connected", "broker-2"),
        ("moved", "broker-2"),
        ("closed", "broker-2"),
    ]
