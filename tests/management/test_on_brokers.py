"""Checks that real Classic brokers provide the data for management."""

from collections.abc import Iterator
from pathlib import Path

import pytest
import stomp

from records.store.rundir import RunDirectory
from tests.support.brokers import wrong_password_of_bridges
from tests.support.waiting import until
from topologies.catalogue.lookup import build
from topologies.classic.queries import LinkNames
from topologies.management.jolokia import Jolokia
from topologies.management.links import LinksNotProven, prove_links
from topologies.management.sampling import Row, Sampler, sample
from topologies.model.topology import Topology
from topologies.runtimes.processes.runtime import ProcessRuntime

pytestmark = pytest.mark.brokers
MESSAGES = 20


class RowSink:
    def __init__(self) -> None:
        self.taken: list[Row] = []

    def sample(self, broker: str, at_ns: int, kind: str, object: str, metric: str, value: int) -> None:
        self.taken.append(Row(broker, at_ns, kind, object, metric, value))


# Duplex links are in every test run: a mesh in lifecycle/test_steady.py and topologies_runtime/test_contract.py.
@pytest.fixture(
    scope="module",
    params=["source-and-sink", pytest.param("source-and-sink(duplex=True)", marks=pytest.mark.nightly)],
)
def topology(request: pytest.FixtureRequest) -> Topology:
    return build(request.param)


@pytest.fixture(scope="module")
def pair(topology: Topology, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ProcessRuntime]:
    runtime = ProcessRuntime(
        topology, RunDirectory.create(tmp_path_factory.mktemp("pair"), "run"), broker_memory_mb=128
    )
    try:
        runtime.up(lambda _line: None)
        yield runtime
    finally:
        runtime.close()


def connected(runtime: ProcessRuntime, broker: str) -> stomp.Connection12:
    host, _, port = runtime.endpoint(broker, "stomp").uri.removeprefix("stomp://").partition(":")
    connection = stomp.Connection12([(host, int(port))])
    login = runtime.credentials()
    connection.connect(login.username, login.password, wait=True)
    return connection


def values(taken: list[Row], kind: str, object: str) -> dict[str, int]:
    return {row.metric: row.value for row in taken if (row.kind, row.object) == (kind, object)}


def test_one_way_and_duplex_links_are_proven(pair: ProcessRuntime, topology: Topology) -> None:
    assert prove_links(pair, topology, timeout_s=60) < 60


def test_clients_are_counted_without_bridges_and_messages_where_they_are(
    pair: ProcessRuntime, topology: Topology
) -> None:
    prove_links(pair, topology, timeout_s=60)
    names = LinkNames.in_topology(topology)
    source, sink = (Jolokia(pair.management(broker)) for broker in ("source", "sink"))
    producer, consumer = connected(pair, "source"), connected(pair, "sink")
    try:
        assert values(sample(sink, names), "connector", "stomp") == {"connections": 1}
        assert values(sample(sink, names), "connector", "openwire") == {}, "the bridge is no client"
        for _ in range(MESSAGES):
            producer.send("/queue/orders", "x", headers={"persistent": "true"}, receipt="r")
        consumer.subscribe("/queue/orders", id="1", ack="client-individual")
        until(lambda: values(sample(sink, names), "queue", "orders").get("in_flight") == MESSAGES)
        there = values(sample(sink, names), "queue", "orders")
        assert (there["depth"], there["in_flight"], there["consumers"]) == (MESSAGES, MESSAGES, 1)
        until(lambda: values(sample(source, names), "queue", "orders")["depth"] == 0)  # acknowledged, too
        gone = values(sample(source, names), "queue", "orders")
        assert (gone["enqueue_count"], gone["forward_count"]) == (MESSAGES, MESSAGES)
        until(lambda: values(sample(source, names), "bridge", "source-to-sink|sink")["dequeue_count"] == MESSAGES)
        assert values(sample(source, names), "bridge", "source-to-sink|sink")["unconfirmed"] == 0
        back = values(sample(sink, names), "bridge", "source-to-sink|source")
        assert back.get("unconfirmed", 0) == 0, f"only advisories went back: {back}"
    finally:
        producer.disconnect()
        consumer.disconnect()


def test_a_sampler_watches_every_broker_and_process(pair: ProcessRuntime, topology: Topology) -> None:
    sink = RowSink()
    sampler = Sampler(pair, topology, sink, process="main", period_s=0.2)
    wanted = {(broker, kind) for broker in ("source", "sink") for kind in ("broker", "process")}
    sampler.start()
    until(lambda: {(row.broker, row.kind) for row in list(sink.taken)} >= wanted | {("", "machine"), ("", "process")})
    sampler.stop()


def test_a_link_with_a_wrong_password_is_told_with_the_brokers_own_words(tmp_path: Path) -> None:
    topology = build("source-and-sink")
    runtime = ProcessRuntime(
        topology, RunDirectory.create(tmp_path, "run"), broker_memory_mb=128, renderer=wrong_password_of_bridges
    )
    try:
        runtime.up(lambda _line: None)
        log = runtime.log_path("source")
        assert log is not None
        until(lambda: "password is invalid" in log.read_text(encoding="utf-8"))  # the link has tried
        with pytest.raises(LinksNotProven) as failed:
            prove_links(runtime, topology, timeout_s=4)
    finally:
        runtime.close()
    message = str(failed.value)
    assert "link 'source-to-sink' from source to sink: source shows no bridge to sink" in message
    assert "User name [brokerbench-bridge] or password is invalid" in message
