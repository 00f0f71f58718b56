"""Checks that samples are taken every second in the documented form, and that a frozen broker delays no other."""

import os
import socket
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from records.tables.schemas import SAMPLES
from tests.management.test_classic import (
    BRIDGES,
    CONNECTIONS,
    DUPLEX,
    DURABLE,
    HEAP,
    OPENED,
    QUEUE,
    SUBSCRIPTIONS,
    WHOLE,
)
from tests.management.test_jolokia import agent, answer
from tests.support.waiting import until
from topologies.catalogue.lookup import build
from topologies.classic.broker import Broker
from topologies.classic.management import BridgeClient
from topologies.classic.network_connectors import NetworkConnector
from topologies.classic.product import CLASSIC
from topologies.classic.queries import LinkNames
from topologies.management import sampling
from topologies.management.contract import queries_of
from topologies.management.core_waits import CoreWaits
from topologies.management.jolokia import HEAP as HEAP_MBEAN
from topologies.management.jolokia import Jolokia
from topologies.management.sampling import Row, Sampler, core_wait_rows, machine_rows, process_rows, rows, sample
from topologies.model.endpoints import ManagementEndpoint
from topologies.model.management import Figures, ManagementFailed
from topologies.model.topology import Topology

N1, N2 = Broker("n1"), Broker("n2")
LINK = NetworkConnector(opened_by=N1, to=N2, duplex=True)
HUB = Topology("t", (Broker("hub"), Broker("frozen")), (), (), CLASSIC)
ANSWER = answer(
    *(
        {"status": 200, "value": value}
        for value in (WHOLE, HEAP, {"q": QUEUE}, SUBSCRIPTIONS, DURABLE, OPENED, DUPLEX, CONNECTIONS)
    )
)
METRICS = {
    "broker": {
        "connections", "heap_used_bytes", "heap_max_bytes", "memory_percent", "store_percent", "total_messages",
        "total_enqueues",
    },
    "queue": {
        "depth", "in_flight", "enqueue_count", "dequeue_count", "forward_count", "dispatch_count", "expired_count",
        "consumers", "producers",
    },
    "subscription": {"depth"},
    "connector": {"connections"},
    "bridge": {"enqueue_count", "dequeue_count", "received_count", "unconfirmed", "advisory_count"},
    "process": {"cpu_ns", "core_wait_ns", "rss_bytes", "threads"},
    "machine": {"cpu_busy_ns", "steal_ns", "load_milli"},
}  # fmt: skip


class CollectingSink:
    """A sink that keeps its rows."""

    def __init__(self) -> None:
        self.taken: list[Row] = []

    def sample(self, broker: str, at_ns: int, kind: str, object: str, metric: str, value: int) -> None:
        self.taken.append(Row(broker, at_ns, kind, object, metric, value))

    def count(self, broker: str, metric: str) -> int:
        return sum((row.broker, row.metric) == (broker, metric) for row in self.taken)


class AgentMap:
    def __init__(self, endpoints: dict[str, ManagementEndpoint]) -> None:
        self._endpoints = endpoints

    def management(self, broker: str) -> ManagementEndpoint:
        return self._endpoints[broker]

    def pid(self, broker: str) -> int | None:
        return os.getpid() if broker == "frozen" else None


@contextmanager
def frozen_agent() -> Iterator[tuple[ManagementEndpoint, Counter[str]]]:
    """Accept connections and never answer, like a stopped process. Counts the open connections."""
    open_now: Counter[str] = Counter()
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve() -> None:
            while True:
                try:
                    connection, _ = listener.accept()
                except OSError:
                    return
                open_now["now"] += 1
                open_now["most"] = max(open_now["most"], open_now["now"])
                while connection.recv(4096):
                    pass
                open_now["now"] -= 1

        threading.Thread(target=serve, daemon=True).start()
        url = f"http://127.0.0.1:{listener.getsockname()[1]}/jolokia/"
        yield ManagementEndpoint("frozen", url, "agent", "s3cret"), open_now
        listener.shutdown(socket.SHUT_RDWR)


def figures() -> Figures:
    return Figures({"connections": 3}, {"orders": {"depth": 7}}, BRIDGES, {"stomp": 2}, {"taker-0.prices": 5})


def test_figures_become_rows_with_a_bridge_named_by_its_link_at_both_ends() -> None:
    duplex = LinkNames.in_topology(Topology("t", (N1, N2), (LINK,), (), CLASSIC)).duplex
    taken = [row[2:] for row in rows("n2", 5, figures(), duplex)]
    assert taken == [
        ("broker", "", "connections", 3),
        ("queue", "orders", "depth", 7),
        ("subscription", "taker-0.prices", "depth", 5),
        ("connector", "stomp", "connections", 2),
        ("bridge", "n2-to-n3|n3", "enqueue_count", 3),
        ("bridge", "n2-to-n3|n3", "dequeue_count", 2),
        ("bridge", "n2-to-n3|n3", "received_count", 1),
        ("bridge", "n1-to-n2|n1", "enqueue_count", 3),
        ("bridge", "n1-to-n2|n1", "dequeue_count", 2),
        ("bridge", "n1-to-n2|n1", "received_count", 1),
    ]


def test_of_two_duplex_links_with_the_same_ends_neither_is_taken_for_the_other() -> None:
    twin = NetworkConnector(opened_by=N1, to=N2, duplex=True, name="second")
    names = LinkNames.in_topology(Topology("t", (N1, N2), (LINK, twin), (), CLASSIC))
    assert names.duplex == {}
    assert names.client_ids == {
        "n1-to-n2_n1_outbound": BridgeClient("n1-to-n2", "n1"),
        "second_n1_outbound": BridgeClient("second", "n1"),
    }


def test_a_renamed_link_keeps_its_name_from_the_start_in_the_rows() -> None:
    """The bridge's connector has a new name since the restart. The old one now belongs to a parallel link."""
    n3, sink = Broker("n3"), CollectingSink()
    at_start, renamed = (
        Topology("t", (N2, n3), tuple(NetworkConnector(N2, n3, name=name) for name in names), (), CLASSIC)
        for names in (("first", "n2-to-n3"), ("n2-to-n3", "other"))
    )
    with agent(200, ANSWER) as (endpoint, _):
        connection = Jolokia(replace(endpoint, broker="n2"))
        sampler = Sampler(AgentMap({}), at_start, sink, process="main")
        sampler._sample_broker(connection)
        before = {row.object for row in sink.taken if row.kind == "bridge"}
        sink.taken.clear()
        sampler.follow(renamed)
        sampler._sample_broker(connection)
        after = {row.object for row in sink.taken if row.kind == "bridge"}
    assert "n2-to-n3|n3" in before
    assert {object.replace("n2-to-n3|n3", "first|n3") for object in before} == after


def test_a_broker_with_another_name_in_its_configuration_is_sampled_by_its_name_in_the_topology() -> None:
    renamed = Broker("n1", broker_name="renamed")
    link = NetworkConnector(opened_by=renamed, to=N2, duplex=True)
    names = LinkNames.in_topology(Topology("t", (renamed, N2), (link,), (), CLASSIC))
    assert names.client_ids == {"n1-to-n2_renamed_outbound": BridgeClient("n1-to-n2", "renamed")}
    assert names.duplex == {("n1", "n2"): "n1-to-n2"}
    mbean = next(iter(DUPLEX))
    shown = {mbean: DUPLEX[mbean] | {"RemoteBrokerName": "renamed"}}
    values = (WHOLE, HEAP, {"q": QUEUE}, {}, {}, {}, shown, CONNECTIONS)
    with agent(200, answer(*({"status": 200, "value": value} for value in values))) as (endpoint, _):
        figures = names.figures(Jolokia(endpoint))
    assert {bridge.remote_broker for bridge in figures.bridges} == {"n1"}


def test_a_sample_has_exactly_the_documented_metrics_and_fits_the_table() -> None:
    with agent(200, ANSWER) as (endpoint, _):
        taken = sample(Jolokia(endpoint), LinkNames({"n1-to-n2_n1_outbound": BridgeClient("one-way", "n4")}, {}))
    taken += process_rows("hub", os.getpid()) + core_wait_rows("hub", CoreWaits(os.getpid())) + machine_rows()
    metrics_by_kind: dict[str, set[str]] = {}
    for row in taken:
        metrics_by_kind.setdefault(row.kind, set()).add(row.metric)
    assert metrics_by_kind == METRICS
    assert list(Row._fields) == SAMPLES.names
    assert all(type(row.value) is int for row in taken)


def test_a_sample_is_timed_half_way_between_question_and_answer() -> None:
    times = iter((100, 300))
    with agent(200, ANSWER) as (endpoint, _):
        taken = sample(Jolokia(endpoint), LinkNames({}, {}), clock=lambda: next(times))
    assert {row.at_ns for row in taken} == {200}


def test_an_mbean_that_goes_while_it_is_read_makes_a_sample_missing_and_not_wrong() -> None:
    half = {**QUEUE, "QueueSize": None}
    values = (WHOLE, HEAP, {"q": half}, {}, {}, OPENED, DUPLEX, CONNECTIONS)
    with (
        agent(200, answer(*({"status": 200, "value": value} for value in values))) as (endpoint, _),
        pytest.raises(ManagementFailed, match=r"broker 'hub': its figures are not in the format of .* \(TypeError"),
    ):
        sample(Jolokia(endpoint), LinkNames({}, {}))


def test_a_process_that_is_gone_has_no_rows() -> None:
    assert process_rows("hub", 999_999_999) == []


def test_cpu_time_counts_up() -> None:
    def cpu_ns() -> int:
        return next(row.value for row in process_rows("", os.getpid()) if row.metric == "cpu_ns")

    before, end = cpu_ns(), time.process_time() + 0.05
    while time.process_time() < end:
        pass
    assert cpu_ns() - before >= 30_000_000


@pytest.mark.parametrize(
    ("entry", "shown"),
    [
        ("active-standby", {"Slave": True}),
        ("live-backup", {"Backup": True, "Started": True, "Active": False, "ReplicaSync": True}),
    ],
)
def test_a_product_reports_that_a_broker_stands_by(entry: str, shown: dict[str, bool]) -> None:
    topology = build(entry)
    standby = next(broker.name for broker in topology.brokers if broker.standby_of)

    def read(mbean: str, *_: str) -> dict[str, Any]:
        return {"HeapMemoryUsage": {"used": 3, "max": 9}} if mbean == HEAP_MBEAN else shown

    taken = queries_of(topology, standby).figures(SimpleNamespace(broker=standby, calls_itself=standby, read=read))
    assert (taken.stands_by, taken.broker) == (True, {"heap_used_bytes": 3, "heap_max_bytes": 9})


def test_a_broker_that_stands_by_is_known_without_any_figure() -> None:
    """A product may show no figure of a standby. Without an answer, the last one holds."""
    answers: list[Figures] = []

    def answer_next(_agent: object) -> Figures:
        if not answers:
            raise ManagementFailed("no answer")
        return answers.pop()

    sampler = Sampler(AgentMap({}), HUB, CollectingSink(), process="main")
    queries: Any = SimpleNamespace(figures=answer_next, duplex={})
    sampler._queries = {"hub": queries}
    for answered, standbys in (
        ([Figures({}, {}, (), {})], set()),
        ([Figures({}, {}, (), {}, stands_by=True)], {"hub"}),
        ([], {"hub"}),
        ([Figures({}, {}, (), {})], set()),
    ):
        answers[:] = answered
        sampler._sample_broker(SimpleNamespace(broker="hub"))
        assert sampler.standbys == standbys


def test_a_frozen_broker_delays_nobody_and_has_one_request_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sampling, "ANSWER_TIMEOUT_S", 0.5)
    sink = CollectingSink()
    with agent(200, ANSWER) as (hub, _), frozen_agent() as (frozen, open_now):
        sampler = Sampler(AgentMap({"hub": hub, "frozen": frozen}), HUB, sink, process="main", period_s=0.1)
        began_s = time.monotonic()
        sampler.start()
        until(lambda: sampler.missed["frozen"] >= 2 and sink.count("hub", "heap_used_bytes") >= 7)
        until(lambda: sink.count("frozen", "cpu_ns") >= 7)  # its process is still watched
        sampler.stop()
        asked_s = time.monotonic() - began_s
    assert sink.count("frozen", "heap_used_bytes") == 0
    assert sampler.missed["frozen"] <= asked_s / 0.5, "each time for as long as it may take to answer"
    assert sampler.missed["hub"] < sink.count("hub", "heap_used_bytes")
    assert open_now["most"] == 1


def test_generator_and_machine_samples_have_no_broker_name() -> None:
    sink = CollectingSink()
    sampler = Sampler(AgentMap({}), Topology("t", (N1,), (), (), CLASSIC), sink, process="worker-1", period_s=0.05)
    sampler._sample_here()
    assert {(row.kind, row.object) for row in sink.taken if row.broker == ""} == {
        ("machine", ""),
        ("process", "worker-1"),
    }


def test_nothing_is_recorded_after_stop() -> None:
    sink = CollectingSink()
    with agent(200, ANSWER) as (hub, _):
        sampler = Sampler(
            AgentMap({"hub": hub}),
            Topology("t", (Broker("hub"),), (), (), CLASSIC),
            sink,
            process="main",
            period_s=0.05,
        )
        sampler.start()
        until(lambda: sink.taken)
        sampler.stop()
        before = len(sink.taken)
        time.sleep(0.2)
    assert before == len(sink.taken) > 0
