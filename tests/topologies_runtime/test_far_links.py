"""Checks that links between real brokers have the planted delay, bandwidth and traffic.

Both runtimes test each kind of link and of fault. A topology or a transport is tested in one runtime, as the other
would show the same. These tests need Toxiproxy's server: `.ci/install-toxiproxy.sh` downloads it.
"""

import dataclasses
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import Any

import psutil
import pytest

from harness.faults import BlackholeLink, CutLink
from harness.faults.probe import RuntimeProbe
from tests.support.crossings import observed, predicted
from tests.support.docker import on_engine
from tests.support.locust_run import as_a_user_has_it
from tests.support.stomp_clients import body, queue
from tests.support.waiting import until
from tests.topologies_runtime.far_links import (
    CONTAINERS,
    IN_CONTAINERS,
    IN_PROCESSES,
    NS_PER_MS,
    PROCESSES,
    Up,
    client,
    one_runtime_each,
    shut,
    times_ms,
)
from topologies.catalogue.lookup import build
from topologies.classic.broker import Broker
from topologies.classic.network_connectors import NetworkConnector
from topologies.management.contract import serving
from topologies.management.link_traffic import round_trips
from topologies.management.links import prove_links
from topologies.model.broker import AnyBroker
from topologies.model.topology import Topology
from topologies.runtimes.managed import ManagedRuntime

NIGHTLY = pytest.mark.nightly
MOST_BESIDE_THE_BODY = 400  # bytes that a bridge adds to a test message: headers, properties, commands
ANSWER_BYTES = 100  # at most, per message that crossed
MOST_BESIDE_BYTES = 15_000  # per direction over the whole run: handshakes, the proof, advisories


def test_a_link_is_as_long_as_it_was_made_and_its_bytes_are_those_of_its_messages(up: Up) -> None:
    with up("source-and-sink", "source-to-sink:delay=100ms") as (runtime, topology, proxies):
        trips, silent = round_trips(proxies, topology.links)
        assert silent == []
        assert 200 * NS_PER_MS <= trips["source-to-sink"].least_ns < 300 * NS_PER_MS
        source, sink = client(runtime, "source"), client(runtime, "sink")
        took_ms = times_ms(source, sink, queue("far"), count=10, body_bytes=20_000)
        assert min(took_ms) >= 100
        source.close()
        sink.close()
        carried = proxies.carried_at_end()["source-to-sink"]
        assert 11 * 20_000 <= carried.forth_bytes <= 11 * (20_000 + MOST_BESIDE_THE_BODY) + MOST_BESIDE_BYTES
        assert 0 < carried.back_bytes <= 11 * ANSWER_BYTES + MOST_BESIDE_BYTES


@pytest.mark.parametrize(
    ("kind", "fault"),
    [
        pytest.param(*IN_PROCESSES.values, BlackholeLink, marks=IN_PROCESSES.marks, id="processes-blackhole"),
        pytest.param(*IN_CONTAINERS.values, CutLink, marks=[*IN_CONTAINERS.marks, NIGHTLY], id="containers-cut"),
        pytest.param(*IN_PROCESSES.values, CutLink, marks=IN_PROCESSES.marks, id="processes-cut"),
        pytest.param(
            *IN_CONTAINERS.values, BlackholeLink, marks=[*IN_CONTAINERS.marks, NIGHTLY], id="containers-blackhole"
        ),
    ],
)
def test_a_broken_link_carries_nothing_and_what_waited_arrives_once_it_is_mended(
    fault: type[CutLink | BlackholeLink], up: Up
) -> None:
    with up("source-and-sink", "source-to-sink:delay=0ms") as (runtime, topology, _):
        probe, broken = RuntimeProbe(runtime, topology, {}), fault("source-to-sink", at_s=0)
        source, sink, orders = client(runtime, "source"), client(runtime, "sink"), queue("broken")
        sink.listen(orders)
        source.send(orders, body(0))
        sink.received(1)
        assert broken.mended(probe)
        assert not broken.in_effect(probe)
        broken.begin(runtime)
        until(lambda: broken.in_effect(probe))
        assert broken.mended(probe) == (fault is BlackholeLink)  # neither end has noticed the silence
        source.send(orders, body(1))
        time.sleep(1)
        assert len(sink.got) == 1
        broken.end(runtime)
        until(lambda: broken.mended(probe))
        assert not broken.in_effect(probe)
        sink.received(2)
        source.close()
        sink.close()


@pytest.mark.nightly
@one_runtime_each("name", processes=["source-and-sink"], containers=["senders"])
def test_a_message_takes_as_much_longer_as_the_link_was_made(name: str, up: Up) -> None:
    """The tolerance is a fifth of the delay, compared with the same brokers' median over an undelayed proxy."""
    medians = []
    for link in ("*", "*:delay=100ms"):
        with up(name, link) as (runtime, _, _):
            sender, receiver = client(runtime, "source"), client(runtime, "sink")
            medians.append(median(times_ms(sender, receiver, queue("far"), count=40)))
            sender.close()
            receiver.close()
    assert medians[1] - medians[0] == pytest.approx(100, abs=20)


@pytest.mark.nightly
@one_runtime_each("transport", processes=["nio", "http"], containers=["ssl"])
def test_links_of_every_transport_go_through_a_proxy(transport: str, up: Up) -> None:
    with up(f"source-and-sink(transport={transport!r})", "*:delay=50ms") as (runtime, _, proxies):
        source, sink = client(runtime, "source"), client(runtime, "sink")
        assert min(times_ms(source, sink, queue("far"), count=5)) >= 50
        source.close()
        sink.close()
        assert proxies.carried_at_end()["source-to-sink"].back_bytes > 0


@pytest.mark.nightly
@one_runtime_each("transport", processes=["http"], containers=["nio"])
def test_a_proxied_mesh_carries_messages_over_any_transport(transport: str, up: Up) -> None:
    with up(over(transport, build("mesh")), "*:delay=10ms") as (runtime, topology, proxies):
        assert observed(runtime, topology) == predicted(topology)
        carried = proxies.carried_at_end()
        assert {name for name, sizes in carried.items() if min(sizes) > 0} == {link.name for link in topology.links}


def over(transport: str, topology: Topology) -> Topology:
    """Return the same topology with another transport between brokers."""

    def changed(broker: AnyBroker) -> Broker:
        assert isinstance(broker, Broker)
        connectors = [
            dataclasses.replace(connector, transport=transport) if connector.protocol == "openwire" else connector
            for connector in broker.connectors
        ]
        return dataclasses.replace(broker, connectors=tuple(connectors))

    return dataclasses.replace(
        topology,
        brokers=tuple(map(changed, topology.brokers)),
        links=tuple(
            dataclasses.replace(link, opened_by=changed(link.opened_by), to=changed(link.to)) for link in topology.links
        ),
        groups=(),
    )


# One entry for each kind of link, and entries with several links between two brokers or with standbys. Plain links
# all get the same kind of proxy. Clusters: tests/topologies_runtime/test_far_clusters.py.
ENTRIES_IN_PROCESSES = [
    "parallel-connectors",
    "mesh-of-pairs(pairs=2)",
    "hub-and-spoke(spokes=2, hub_standby=True)",
    "receivers(auto_start=False, alternate=True)",
    "dual-mirror",
]
ENTRIES_IN_CONTAINERS = ["mesh(discovery='multicast')", "two-regions(brokers_each=2)", "senders", "mirror"]


@pytest.mark.nightly
@one_runtime_each("entry", processes=ENTRIES_IN_PROCESSES, containers=ENTRIES_IN_CONTAINERS)
def test_every_link_of_an_entry_is_proven_through_its_proxy(entry: str, up: Up) -> None:
    with up(entry, "*:delay=10ms") as (_, topology, proxies):
        trips, silent = round_trips(proxies, topology.links)
        assert silent == []
        assert {name: trip.least_ns >= 20 * NS_PER_MS for name, trip in trips.items()} == {
            link.name: True for link in topology.links
        }
        assert all(min(proxies.carried_at_end()[link.name]) > 0 for link in topology.links)


@pytest.mark.nightly
@PROCESSES  # Toxiproxy makes it, the same in both
def test_jitter_makes_round_trips_differ_within_its_bounds(up: Up) -> None:
    with up("source-and-sink", "*:delay=60ms,jitter=50ms") as (_, topology, proxies):
        trips = [round_trips(proxies, topology.links)[0]["source-to-sink"] for _ in range(4)]
    least, most = min(trip.least_ns for trip in trips), max(trip.most_ns for trip in trips)
    assert least >= 2 * (60 - 50) * NS_PER_MS
    assert most - least > 20 * NS_PER_MS


@pytest.mark.nightly
@PROCESSES
def test_a_narrow_link_caps_what_crosses_and_is_used_to_nine_tenths(up: Up) -> None:
    """The best of six seconds must reach nine tenths: in the others, the machine may have been busy."""
    count, in_a_second, body_bytes, kb_per_s = 300, 50, 10_000, 500
    with up("source-and-sink", f"*:bandwidth={kb_per_s}kB/s") as (runtime, _, proxies):
        source, sink = client(runtime, "source"), client(runtime, "sink")
        to = queue("narrow")
        sink.listen(to, prefetch=count)
        times_ms(source, sink, queue("warm"), count=1)
        del sink.got[:]
        sent_ns = time.perf_counter_ns()
        source.send(to, *(body(number, body_bytes) for number in range(count)))
        until(lambda: len(sink.got) >= count, 120)
        came_ns = [reading.received_ns for reading in sink.got]
        source.close()
        sink.close()
        assert proxies.carried_at_end()["source-to-sink"].forth_bytes >= count * body_bytes
    least_s = count * body_bytes / 1000 / kb_per_s
    assert (came_ns[-1] - sent_ns) / 1e9 >= least_s / 1.02
    best_ns = min(end - begin for begin, end in zip(came_ns, came_ns[in_a_second:], strict=False))
    assert in_a_second * body_bytes / 1000 / (best_ns / 1e9) >= 0.9 * kb_per_s


@pytest.mark.nightly
@PROCESSES  # the bridge limits it
def test_no_more_than_a_bridges_prefetch_crosses_in_a_round_trip(up: Up) -> None:
    """docs/slow-links.md states this limit.

    With 10 of 100 messages per 400 ms, the last one arrives at least nine round trips later.
    """
    plain = build("source-and-sink")
    (link,) = plain.links
    assert isinstance(link, NetworkConnector)
    topology = dataclasses.replace(plain, links=(dataclasses.replace(link, prefetch_size=10),))
    with up(topology, "*:delay=200ms") as (runtime, _, _):
        source, sink = client(runtime, "source"), client(runtime, "sink")
        times_ms(source, sink, queue("warm"), count=1)
        to = queue("far")
        source.send(to, *(body(number) for number in range(100)))
        source.outcomes(100)
        sink.listen(to, prefetch=100)
        until(lambda: len(sink.got) >= 102)
        took_s = (sink.got[-1].received_ns - sink.got[2].received_ns) / 1e9
        source.close()
        sink.close()
    assert took_s >= 9 * 0.4 * 0.98


@pytest.mark.nightly
def test_a_toxiproxy_that_was_killed_is_told_for_as_long_as_the_run_goes_on(up: Up) -> None:
    with up("source-and-sink", "*", loses_them=True) as (_, _, proxies):
        assert proxies.loss() == ""
        assert proxies.pid is not None
        os.kill(proxies.pid, signal.SIGKILL)
        until(lambda: "Toxiproxy, which every link goes through, ended unexpectedly" in proxies.loss())
    assert proxies.loss() == ""


@pytest.mark.nightly
def test_links_reconnect_after_a_broker_is_killed(up: Up) -> None:
    """Its links are rejected until the broker is back."""
    with up("source-and-sink", "*:delay=20ms") as (runtime, topology, proxies):
        door = proxies.proxy_endpoint_of(topology.links[0])
        assert door is not None
        runtime.kill("sink")
        until(lambda: shut(door))
        runtime.start("sink")
        prove_links(runtime, topology, timeout_s=60)
        source, sink = client(runtime, "source"), client(runtime, "sink")
        assert min(times_ms(source, sink, queue("again"), count=5)) >= 20
        source.close()
        sink.close()


@pytest.mark.nightly
@one_runtime_each(
    "name",
    processes=["source-and-sink", "senders"],
    containers=["senders", "mesh(brokers=2, discovery='multicast')"],
)
def test_a_broker_that_took_its_leave_is_called_again_when_it_is_back(name: str, up: Up) -> None:
    """An opener that connects while the broker shuts down would wait forever."""
    with up(name, "*:delay=20ms") as (runtime, topology, proxies):
        door = proxies.proxy_endpoint_of(topology.links[0])
        assert door is not None
        assert not shut(door)
        runtime.stop(topology.links[0].to.name)
        until(lambda: shut(door))
        runtime.start(topology.links[0].to.name)
        prove_links(runtime, topology, timeout_s=60)


@pytest.mark.nightly
@PROCESSES
def test_links_found_by_multicast_are_each_as_long_as_they_were_made(up: Up) -> None:
    set_ms = {"broker-1-to-broker-3": 100, "broker-2-to-broker-3": 30, "broker-1-to-broker-2": 0}
    of_each = ";".join(f"{name}:delay={ms}ms" for name, ms in set_ms.items())
    with up("mesh(discovery='multicast')", of_each) as (runtime, topology, proxies):
        trips, silent = round_trips(proxies, topology.links)
        assert silent == []
        assert {name for name, ms in set_ms.items() if trips[name].least_ns >= 2 * ms * NS_PER_MS} == set(set_ms)
        for link in topology.links:
            opener_client, end_client = client(runtime, link.opened_by.name), client(runtime, link.to.name)
            assert (
                min(times_ms(opener_client, end_client, queue(f"by-{link.name}"), count=5, body_bytes=20_000))
                >= set_ms[link.name]
            )
            opener_client.close()
            end_client.close()
        assert min(carried.forth_bytes for carried in proxies.carried_at_end().values()) >= 6 * 20_000


@pytest.mark.nightly
@CONTAINERS  # with processes: test_far_clusters, and test_pairs without proxies
def test_a_standby_that_took_over_is_reached_through_a_door_of_its_own(up: Up) -> None:
    with up("mesh-of-pairs(pairs=2)", "*:delay=50ms") as (runtime, topology, proxies):
        runtime.kill("broker-2")
        until(lambda: serving(runtime, topology, "broker-2", 3.0) == "broker-2-standby", 120)
        prove_links(runtime, topology, timeout_s=60)
        sender, receiver = client(runtime, "broker-1"), client(runtime, "broker-2-standby")
        assert min(times_ms(sender, receiver, queue("taken-over"), count=5, body_bytes=10_000)) >= 50
        sender.close()
        receiver.close()
        assert proxies.carried_at_end()["broker-1-to-broker-2"].forth_bytes >= 50_000


# A harness that prints the process of its Toxiproxy and then waits (or is interrupted while starting).
HARNESS = """
import sys
if sys.argv[3] == "gevent":
    from gevent import monkey
    monkey.patch_all()
import json, signal, time
from pathlib import Path
from records.store.rundir import RunDirectory
from topologies.catalogue.lookup import build
from topologies.model.impaired_links import with_impairments
from topologies.runtimes.containers.runtime import ContainerRuntime
from topologies.runtimes.processes.runtime import ProcessRuntime

topology = with_impairments(build("source-and-sink"), "*:delay=1ms")
kind = {each.name: each for each in (ContainerRuntime, ProcessRuntime)}[sys.argv[2]]
runtime = kind(topology, RunDirectory.create(Path(sys.argv[1]), sys.argv[4]), broker_memory_mb=128)
signal.signal(signal.SIGTERM, lambda *_: (runtime.close(), sys.exit(3)))
print(json.dumps("starting"), flush=True)
runtime.up(lambda line: None)
print(json.dumps(runtime.link_proxies.pid), flush=True)
time.sleep(600)
"""


@contextmanager
def harness(runtime: str, threads: str, parent: Path) -> Iterator[subprocess.Popen[bytes]]:
    with subprocess.Popen(
        [sys.executable, "-c", HARNESS, parent, runtime, threads, f"run-{parent.name}"],
        stdout=subprocess.PIPE,
        env=as_a_user_has_it(),
    ) as process:
        assert process.stdout is not None
        try:
            assert json.loads(process.stdout.readline()) == "starting"
            yield process
        finally:
            process.kill()


@pytest.mark.nightly
def test_no_toxiproxy_outlives_a_harness_that_was_killed(kind: type[ManagedRuntime[Any]], tmp_path: Path) -> None:
    with harness(kind.name, "plain", tmp_path) as process:
        assert process.stdout is not None
        pid = json.loads(process.stdout.readline())
        assert "toxiproxy" in " ".join(psutil.Process(pid).cmdline())
        process.send_signal(signal.SIGKILL)
        process.wait()
        until(lambda: not psutil.pid_exists(pid))


@pytest.mark.nightly
@pytest.mark.containers
@pytest.mark.parametrize("threads", ["plain", "gevent"])
def test_closing_while_toxiproxys_container_starts_leaves_nothing(tmp_path: Path, threads: str) -> None:
    """A signal handler closes the runtime."""
    before = on_engine()
    with harness("containers", threads, tmp_path) as process:
        until(lambda: len(on_engine(tmp_path) - before) >= 2)  # the network, and it
        process.terminate()
        assert process.wait(60) == 3
        until(lambda: on_engine(tmp_path) == before)
