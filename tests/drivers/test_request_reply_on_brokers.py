"""Checks on real brokers, by each protocol with temporary queues, that each request gets its one reply."""

import time
from collections import Counter
from pathlib import Path
from random import Random
from typing import Any

import pytest

from drivers.client.contract import LoadClient, NoStatistics, ProducerSettings
from drivers.client.request_reply import replies_of
from drivers.contract import Destination, Subscription
from drivers.failover.uri import FailoverUri
from drivers.jvm import vm
from drivers.protocols import connector_of
from harness.java_parts import find_java_parts
from records.loads.send_schedule import Schedule
from records.store.reader import read_events, seal
from records.store.rundir import RunDirectory
from records.store.writer import Recorder
from records.tables.schemas import ReceiptRow, SendRow
from tests.drivers.doubles import Control
from tests.drivers.java_bench import RUN
from tests.support.loads import address_of
from tests.support.stomp_clients import queue
from tests.support.waiting import until
from topologies.model.trust import Trust
from topologies.products import PRODUCTS
from topologies.runtimes.contract import Runtime

BROKER = "broker-1"
FIXTURES = {"classic": "single_broker", "artemis": "single_artemis"}
IN_CI = {("classic", "amqp"), ("classic", "openwire"), ("artemis", "core")}
REQUESTS, BODY_BYTES = 50, 300
REQUESTERS, REPLIER = (1, 2), 11
vm.use(find_java_parts)


def cells() -> list[Any]:
    """Each product's protocols: requesters and repliers by the same one, and by each two."""
    pairs = []
    for product, parts in PRODUCTS.items():
        for requests_by in parts.temporary_queues_by:
            for replies_by in parts.temporary_queues_by:
                if (requests_by, replies_by) in parts.unanswered:
                    continue
                marks = [pytest.mark.amqp] if "amqp" in (requests_by, replies_by) else []
                if requests_by != replies_by or (product, requests_by) not in IN_CI:
                    marks.append(pytest.mark.nightly)
                pairs.append(
                    pytest.param(
                        product, requests_by, replies_by, marks=marks, id=f"{product}-{requests_by}:{replies_by}"
                    )
                )
    return pairs


class ClientCounts(NoStatistics):
    """Counts what clients in Python and in the JVM did."""

    def __init__(self) -> None:
        self.settled_sends = self.receipts = 0

    def settled(self, row: SendRow, reason: str, final: bool) -> None:
        self.settled_sends += final

    def received(self, row: ReceiptRow, body: bytes) -> None:
        self.receipts += 1

    def receipts_recorded(self, rows: Any) -> None:
        self.receipts += len(rows)

    def counted(self, begun: int, settled: int) -> None:
        self.settled_sends += settled


class BrokerRequestBench:
    """Clients of one recorder, by any protocols of one broker."""

    def __init__(self, runtime: Runtime, folder: Path) -> None:
        self.directory = RunDirectory.create(folder, "run")
        self.recorder, self.tally = Recorder(self.directory, "main"), ClientCounts()
        self._runtime, self._clients = runtime, list[LoadClient]()

    def client(self, protocol: str, number: int) -> LoadClient:
        address = address_of(self._runtime, BROKER, protocol)
        client = connector_of(protocol, Trust()).client(
            number=number,
            group="g",
            uri=FailoverUri.parse(f"failover:({address})"),
            brokers={address.partition("://")[2]: BROKER},
            credentials=self._runtime.credentials(),
            recorder=self.recorder,
            statistics=self.tally,
            rng=Random(number),
            clock=time.perf_counter_ns,
        )
        self._clients.append(client)
        client.open()
        return client

    def tables(self) -> dict[str, list[dict[str, Any]]]:
        for client in self._clients:
            client.close()
        self.recorder.close()
        assert self.recorder.problem is None
        seal(self.directory)
        return {name: read_events(self.directory, name).to_pylist() for name in ("sends", "receipts")}


def requested(bench: BrokerRequestBench, requesters: str, repliers: str, orders: Destination) -> None:
    """Each requester sends its requests, and every reply has come."""
    bench.client(repliers, REPLIER).consumer(Subscription(orders, replies=True), run=RUN)
    producers = []
    for number in REQUESTERS:
        client = bench.client(requesters, number)
        client.consumer(Subscription(replies_of(orders), temporary=True), run=RUN)
        producers.append(
            client.producer(orders, ProducerSettings(body_bytes=BODY_BYTES, in_flight=10, requests=True), run=RUN)
        )
    for producer in producers:
        schedule = Schedule(time.perf_counter_ns() + 50_000_000, 500.0, 0, REQUESTS)
        producer.run(schedule, Control())
    all_of_them = 2 * REQUESTS * len(REQUESTERS)
    until(lambda: bench.tally.receipts >= all_of_them and bench.tally.settled_sends >= all_of_them)


@pytest.mark.brokers
@pytest.mark.parametrize(("product", "requesters", "repliers"), cells())
def test_each_request_gets_one_reply_that_was_due_when_it_was(
    request: pytest.FixtureRequest, tmp_path: Path, product: str, requesters: str, repliers: str
) -> None:
    bench, orders = BrokerRequestBench(request.getfixturevalue(FIXTURES[product]), tmp_path), queue("asked")
    requested(bench, requesters, repliers, orders)
    tables, replies = bench.tables(), str(replies_of(orders))
    sent = Counter((row["destination"], row["outcome"], row["body_bytes"]) for row in tables["sends"])
    count = REQUESTS * len(REQUESTERS)
    assert sent == {(str(orders), "acked", BODY_BYTES): count, (replies, "acked", BODY_BYTES): count}
    due = {
        name: sorted(row["due_ns"] for row in tables["sends"] if row["destination"] == name)
        for name in (str(orders), replies)
    }
    assert due[replies] == due[str(orders)]
    came = [row for row in tables["receipts"] if row["destination"] == replies]
    assert Counter(row["consumer"] for row in came) == dict.fromkeys(REQUESTERS, REQUESTS)
    assert {(row["producer"], row["integrity"]) for row in came} == {(REPLIER, "intact")}
    assert sorted(row["seq"] for row in came) == list(range(count))
    assert all(row["received_ns"] > row["due_ns"] for row in _matched(tables["sends"], came))


def _matched(sends: list[dict[str, Any]], receipts: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return each receipt with the due time of its message."""
    due_ns = {(row["producer"], row["seq"], row["destination"]): row["due_ns"] for row in sends}
    return [row | {"due_ns": due_ns[row["producer"], row["seq"], row["destination"]]} for row in receipts]
