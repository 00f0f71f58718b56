"""Clients of a load by the brokers' own Java clients, one recorder for all: on what their tests try them."""

import threading
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from drivers.client.contract import ProducerSettings
from drivers.contract import Destination, Subscription
from drivers.failover.uri import FailoverUri
from drivers.jvm.client import JavaClient
from drivers.protocols import connector_of
from records.loads.send_schedule import Schedule
from records.store.reader import read_events, seal
from records.store.rundir import RunDirectory
from records.store.writer import Recorder
from tests.drivers.doubles import Control
from tests.support.relay import Relay
from tests.support.stomp_clients import queue
from tests.support.waiting import until
from topologies.model.endpoints import Credentials
from topologies.model.trust import Trust
from topologies.runtimes.contract import Runtime

RUN = 0xFEDC_BA98  # more than Java's int holds
BROKER = "broker-1"
SOON = {
    "openwire": "?randomize=false&initialReconnectDelay=20&maxReconnectDelay=50",
    "core": "?randomize=false&maxReconnectDelay=50",
}
NO_TRUST = Trust()
WAITED = {"blocked", "unblocked"}  # for a broker that took a second to answer, as one may on a busy machine
UNKNOWN_BROKER = {"127.0.0.1:1": "b1", "127.0.0.1:2": "b2"}


class SessionCounter:
    """Counts, as the session's does."""

    def __init__(self) -> None:
        self.begun = self.settled = self.receipts = 0
        self.received: set[int] = set()  # seqs
        self.foreign: list[tuple[str, str, bytes, int]] = []

    def sends_recorded(self, rows: Any) -> None: ...

    def receipts_recorded(self, rows: Any) -> None:
        self.receipts += len(rows)
        self.received.update(rows["seq"].tolist())

    def foreign_received(self, destination: str, broker: str, beginning: bytes, body_bytes: int) -> None:
        self.foreign.append((destination, broker, beginning, body_bytes))

    def counted(self, begun: int, settled: int) -> None:
        self.begun += begun
        self.settled += settled

    def on_rejected(self, destination: str, broker: str, reason: str) -> None: ...
    def connection_changed(self, client: int, event: str, at_ns: int) -> None: ...


class JavaBench:
    """Clients of one recorder, and their recorded rows."""

    def __init__(
        self,
        folder: Path,
        brokers: Mapping[str, str],
        credentials: Credentials,
        uri: str,
        protocol: str = "openwire",
        trust: Trust = NO_TRUST,
    ) -> None:
        self.directory = RunDirectory.create(folder, "run")
        self.recorder, self.statistics = Recorder(self.directory, "main"), SessionCounter()
        self._brokers, self.credentials, self._uri = brokers, credentials, uri
        self._connector: Any = connector_of(protocol, trust)
        self._clients: list[JavaClient] = []

    def client(self, client_id: str = "") -> JavaClient:
        client: JavaClient = self._connector.client(
            number=len(self._clients),
            group="g",
            uri=FailoverUri.parse(self._uri),
            brokers=self._brokers,
            credentials=self.credentials,
            recorder=self.recorder,
            statistics=self.statistics,
            client_id=client_id,
        )
        self._clients.append(client)
        return client

    def opened(self, client_id: str = "") -> JavaClient:
        client = self.client(client_id)
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


def address(runtime: Runtime, broker: str, protocol: str = "openwire") -> str:
    return runtime.endpoint(broker, protocol).uri.partition("://")[2].partition("?")[0]


def bench_on(
    runtime: Runtime, folder: Path, brokers: list[str], options: str = "", protocol: str = "openwire"
) -> JavaBench:
    names = {address(runtime, broker, protocol): broker for broker in brokers}
    uri = f"failover:({','.join(f'tcp://{name}' for name in names)}){options}"
    return JavaBench(folder, names, runtime.credentials(), uri, protocol)


def relay_to(runtime: Runtime, protocol: str) -> Relay:
    """A way to a runtime's one broker that can be cut."""
    host, _, port = address(runtime, BROKER, protocol).rpartition(":")
    return Relay((host, int(port)))


def behind(relay: Relay, runtime: Runtime, folder: Path, protocol: str) -> JavaBench:
    """Clients that know of no other way, and try again soon."""
    names = {f"127.0.0.1:{relay.port}": BROKER}
    uri = f"failover:(tcp://127.0.0.1:{relay.port}){SOON[protocol]}"
    return JavaBench(folder, names, runtime.credentials(), uri, protocol)


def every_ms(count: int) -> Schedule:
    return Schedule(time.perf_counter_ns() + 50_000_000, 1_000.0, 0, count)


def check_kept(
    tables: Mapping[str, list[dict[str, Any]]],
    schedule: Schedule,
    orders: Destination,
    *,
    durable: bool,
    hops: int | None,
) -> None:
    """300 messages of client 1 on that schedule, each sent and received once, by client 0."""
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
        ("broker-1", False, hops, orders.name)
    }
    assert [(row["event"], row["broker"]) for row in tables["connections"] if row["client"] == 0] == [
        ("attempt", "broker-1"),
        ("connected", "broker-1"),
        ("closed", "broker-1"),
    ]
    assert [(row["consumer"], row["kind"], row["broker"]) for row in tables["subscriptions"]] == [
        (0, "queue", "broker-1")
    ]


def killed_under_a_load(runtime: Runtime, bench: JavaBench) -> tuple[Mapping[str, list[dict[str, Any]]], int]:
    """The events of a load whose client has to move from broker-1 to broker-2, and how many messages it began."""
    orders, client, producing = queue("moved"), bench.opened(), Control()
    producer = client.producer(orders, ProducerSettings(body_bytes=100, in_flight=50), run=RUN)
    begun: list[int] = []
    keeping = threading.Thread(target=lambda: begun.append(producer.run(every_ms(100_000), producing)))
    keeping.start()
    until(lambda: bench.statistics.settled > 200)
    runtime.kill("broker-1")
    settled = bench.statistics.settled
    until(lambda: client.broker == "broker-2" and bench.statistics.settled > settled + 200)
    producing.stop()
    keeping.join()
    bench.opened().consumer(Subscription(orders), run=RUN)
    until(lambda: bench.statistics.receipts > 200)
    return bench.tables(), begun[0]


def check_moved(tables: Mapping[str, list[dict[str, Any]]], begun: int) -> None:
    sends = tables["sends"]
    last = {row["seq"]: row for row in sends}
    assert sorted(last) == list(range(begun))
    assert {row["outcome"] for row in last.values()} == {"acked"}
    doubted = [row for row in sends if row["outcome"] == "in_doubt"]
    assert {(row["attempt"], row["broker"], row["settled_ns"]) for row in doubted} == {(1, "broker-1", None)}
    assert all(last[row["seq"]]["attempt"] == 2 and last[row["seq"]]["broker"] == "broker-2" for row in doubted)
    attempts = {row["seq"]: row["attempt"] for row in sends if row["broker"] == "broker-2"}
    received = [(row["seq"], row["attempt"]) for row in tables["receipts"]]
    assert received
    assert all(attempts[seq] == attempt for seq, attempt in received)
    changes = [(row["event"], row["broker"]) for row in tables["connections"] if row["client"] == 0]
    events = [change for change in changes if change[0] not in WAITED]
    assert events[:3] == [("attempt", "broker-1"), ("connected", "broker-1"), ("lost", "broker-1")]
    assert events[-5:] == [
        ("attempt", "broker-2"),
        ("connected", "broker-2"),
        ("moved", "broker-2"),
        ("ready", "broker-2"),
        ("closed", "broker-2"),
    ]
