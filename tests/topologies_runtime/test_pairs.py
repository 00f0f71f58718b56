"""Checks that one broker of a pair serves, and that the other takes over with all stored messages."""

import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from random import Random
from typing import Any, cast

import pytest

from drivers.client.client import Client as Failover
from drivers.client.contract import ProducerSettings
from drivers.contract import Destination, Outcome
from drivers.failover.uri import FailoverUri
from drivers.stomp.connector import StompConnector
from harness.run.watch import ManagedWatch
from records.store.rundir import RunDirectory
from tests.drivers.doubles import KeepingRecorder
from tests.support.stomp_clients import StompClient, body
from tests.support.waiting import until
from topologies.catalogue.lookup import build
from topologies.management.contract import queries_of, serving
from topologies.management.jolokia import HEAP, Jolokia
from topologies.management.links import prove_links
from topologies.model.client_groups import CONSUMERS
from topologies.model.topology import Topology
from topologies.runtimes.containers.runtime import ContainerRuntime
from topologies.runtimes.managed import ManagedRuntime
from topologies.runtimes.prepared import followers_of
from topologies.runtimes.processes.runtime import ProcessRuntime

TAKES_OVER_WITHIN_S = 45.0  # a standby tries to get the lock every ten seconds
MESSAGES = 20
KEPT = Destination("queue", "kept")

KINDS = [
    pytest.param(ProcessRuntime, marks=pytest.mark.brokers, id="processes"),
    pytest.param(ContainerRuntime, marks=pytest.mark.containers, id="containers"),
]


@contextmanager
def up(kind: Callable[..., ManagedRuntime[Any]], topology: Topology, parent: Path) -> Iterator[ManagedRuntime[Any]]:
    runtime = kind(topology, RunDirectory.create(parent, "run"), broker_memory_mb=128)
    try:
        runtime.up(lambda _line: None)
        yield runtime
    finally:
        runtime.close()


def client(runtime: ManagedRuntime[Any], broker: str) -> StompClient:
    return StompClient(runtime.endpoint(broker, "stomp"), runtime.credentials())


def stands_by(runtime: ManagedRuntime[Any], topology: Topology, broker: str) -> bool:
    with closing(Jolokia(runtime.management(broker))) as agent:
        return queries_of(topology, broker).stands_by(agent)


def taken_over(runtime: ManagedRuntime[Any], topology: Topology, by: str) -> None:
    until(lambda: serving(runtime, topology, by, 2.0) == by, TAKES_OVER_WITHIN_S)


def arrives(runtime: ManagedRuntime[Any], sent_at: str, received_at: str, name: str) -> bool:
    """Whether a message gets from one broker to the other, on a new queue."""
    destination, sender, receiver = Destination("queue", name), client(runtime, sent_at), client(runtime, received_at)
    receiver.listen(destination)
    sender.send(destination, body(1))
    try:
        return [reading.seq for reading in receiver.received(1)] == [1]
    finally:
        sender.close()
        receiver.close()


def test_a_standby_of_classic_follows_its_active_and_one_of_artemis_need_not() -> None:
    assert followers_of(build("mesh-of-pairs(pairs=2)")) == {
        "broker-1": ("broker-1-standby",),
        "broker-2": ("broker-2-standby",),
    }
    assert followers_of(build("live-backup")) == {}
    assert followers_of(build("mesh")) == {}


@pytest.mark.brokers
def test_the_active_serves_and_its_standby_shows_nothing_but_its_heap(tmp_path: Path) -> None:
    topology = build("active-standby")
    with up(ProcessRuntime, topology, tmp_path) as runtime:
        assert serving(runtime, topology, "broker-1-standby", 2.0) == "broker-1"
        assert stands_by(runtime, topology, "broker-1-standby")
        with closing(Jolokia(runtime.management("broker-1-standby"))) as agent:
            used = agent.read(HEAP, "HeapMemoryUsage")["HeapMemoryUsage"]
            figures = queries_of(topology, "broker-1-standby").figures(agent)
        assert figures.broker["heap_max_bytes"] == used["max"]
        assert (figures.queues, figures.bridges, figures.clients) == ({}, (), {})


@pytest.mark.nightly
@pytest.mark.parametrize("kind", KINDS)
def test_a_standby_takes_over_with_every_durable_message_and_its_links_come_back(
    kind: type[ManagedRuntime[Any]], tmp_path: Path
) -> None:
    topology = build("hub-and-spoke(spokes=2, hub_standby=True)")
    with up(kind, topology, tmp_path) as runtime:
        prove_links(runtime, topology, timeout_s=60)
        sender = client(runtime, "hub")
        sender.send(KEPT, *(body(seq) for seq in range(MESSAGES)))
        assert sender.outcomes(MESSAGES) == [Outcome.ACKED] * MESSAGES
        runtime.kill("hub")
        taken_over(runtime, topology, "hub-standby")
        receiver = client(runtime, "hub-standby")
        receiver.listen(KEPT)
        assert sorted(reading.seq for reading in receiver.received(MESSAGES)) == list(range(MESSAGES))
        receiver.close()
        prove_links(runtime, topology, timeout_s=60)
        assert arrives(runtime, "spoke-1", "spoke-2", "over-the-standby")
        runtime.start("hub")
        assert stands_by(runtime, topology, "hub")
        assert serving(runtime, topology, "hub", 2.0) == "hub-standby"


@pytest.mark.nightly
@pytest.mark.brokers
def test_a_failover_client_moves_to_the_standby(
    tmp_path: Path,
) -> None:
    """The standby has the messages of the dead broker."""
    topology = build("active-standby")
    with up(ProcessRuntime, topology, tmp_path) as runtime:
        follower = follower_of(runtime, topology)
        settled: list[Outcome] = []
        producer = follower.producer(
            KEPT, ProducerSettings(), run=7, on_settled=lambda row, *_: settled.append(row.outcome)
        )
        producer.send(1, 64, time.perf_counter_ns())
        until(lambda: settled == [Outcome.ACKED])
        assert follower.broker == "broker-1"
        runtime.kill("broker-1")
        until(lambda: follower.broker == "broker-1-standby", TAKES_OVER_WITHIN_S)
        producer.send(2, 64, time.perf_counter_ns())
        until(lambda: settled == [Outcome.ACKED] * 2)
        follower.close()
        watch = ManagedWatch(topology, runtime, cast("Any", KeepingRecorder()), "main")
        assert {broker: watch.depths(broker) for broker in ("broker-1", "broker-1-standby")} == {
            "broker-1": {},
            "broker-1-standby": {"kept": 2},
        }


def follower_of(runtime: ManagedRuntime[Any], topology: Topology) -> Failover:
    """Return a client connected by the URI of the topology's clients."""
    uris = {broker.name: runtime.endpoint(broker.name, "stomp").uri for broker in topology.brokers}
    failover = Failover(
        number=1,
        group=CONSUMERS,
        uri=FailoverUri.parse(topology.group(CONSUMERS).failover_uri(uris)),
        brokers={uri.partition("://")[2]: name for name, uri in uris.items()},
        connector=StompConnector(),
        credentials=runtime.credentials(),
        recorder=cast("Any", KeepingRecorder()),
        rng=Random(1),
    )
    failover.open()
    return failover
