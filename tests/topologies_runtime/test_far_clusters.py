"""Checks the delay and traffic of each link in a cluster, where each member announces one address to all others.

tests/topologies_runtime/test_far_links.py checks links whose opener has the address to call in its configuration.
"""

from typing import Any

import pytest

from tests.support.stomp_clients import queue
from tests.support.waiting import until
from tests.topologies_runtime.far_links import CONTAINERS, NS_PER_MS, PROCESSES, Up, client, times_ms
from topologies.artemis.broker import ArtemisBroker, HaPolicy
from topologies.artemis.links import ClusterConnection, cluster_links
from topologies.artemis.product import ARTEMIS
from topologies.management.contract import serving
from topologies.management.link_traffic import round_trips
from topologies.management.links import prove_links
from topologies.model.topology import Topology
from topologies.runtimes.contract import Runtime
from topologies.runtimes.managed import ManagedRuntime
from topologies.runtimes.processes.runtime import ProcessRuntime
from topologies.runtimes.proxies.link_proxies import LinkProxies

pytestmark = pytest.mark.nightly

BODY_BYTES, COUNT = 20_000, 5
BODIES_BYTES = (COUNT + 1) * BODY_BYTES  # including the first message
BESIDE_BODIES_BYTES = 60_000  # at most, over the whole run: headers, pings, announcements of consumers


def quickest_ms(runtime: Runtime, sender: str, receiver: str, count: int = COUNT) -> float:
    sending_client, receiving_client = client(runtime, sender), client(runtime, receiver)
    took_ms = times_ms(sending_client, receiving_client, queue(f"from-{sender}-to-{receiver}"), count, BODY_BYTES)
    sending_client.close()
    receiving_client.close()
    return min(took_ms)


def least_trips_ms(proxies: LinkProxies, topology: Topology) -> dict[str, float]:
    trips, silent = round_trips(proxies, topology.links)
    assert silent == []
    return {name: trip.least_ns / NS_PER_MS for name, trip in trips.items()}


def test_a_message_takes_as_long_as_the_link_of_a_cluster_was_made_both_ways(
    up: Up, kind: type[ManagedRuntime[Any]]
) -> None:
    link = "broker-1-to-broker-2"
    with up("cluster(brokers=2)", "*:delay=100ms") as (runtime, topology, proxies):
        assert 200 <= least_trips_ms(proxies, topology)[link] < 300
        for ends, count in ((("broker-1", "broker-2"), COUNT), (("broker-2", "broker-1"), 3 * COUNT)):
            assert quickest_ms(runtime, *ends, count) >= 100
        if kind is ProcessRuntime:
            ports = [runtime.endpoint(broker.name, "core").uri.rpartition(":")[2] for broker in topology.brokers]
            assert list(proxies.announced.values()) == [f"localhost:{port}" for port in reversed(ports)]
        carried = proxies.carried_at_end()[link]
        for size, count in zip(carried, (COUNT, 3 * COUNT), strict=True):
            assert (count + 1) * BODY_BYTES <= size <= (count + 1) * BODY_BYTES + BESIDE_BODIES_BYTES


def test_clients_of_a_cluster_go_through_no_proxy(up: Up) -> None:
    with up("cluster(brokers=2)", "*:delay=2s") as (runtime, _, _):
        assert quickest_ms(runtime, "broker-1", "broker-1") < 2000


@PROCESSES  # in containers the callers of a broker share one proxy, so the links of a cluster are alike
def test_each_link_of_a_cluster_is_as_long_as_it_was_made(up: Up) -> None:
    set_ms = {"broker-1-to-broker-2": 150, "broker-2-to-broker-3": 50, "broker-1-to-broker-3": 0}
    with up("cluster", ";".join(f"{name}:delay={ms}ms" for name, ms in set_ms.items())) as (runtime, topology, proxies):
        trips_ms = least_trips_ms(proxies, topology)
        assert {name: 2 * ms <= trips_ms[name] < 2 * ms + 100 for name, ms in set_ms.items()} == dict.fromkeys(
            set_ms, True
        )
        for link in topology.links:
            for ends in ((link.opened_by.name, link.to.name), (link.to.name, link.opened_by.name)):
                assert quickest_ms(runtime, *ends) >= set_ms[link.name]
        for size in (size for carried in proxies.carried_at_end().values() for size in carried):
            assert BODIES_BYTES <= size <= BODIES_BYTES + BESIDE_BODIES_BYTES


@CONTAINERS  # with processes, the previous test covers more
def test_every_link_of_a_cluster_of_three_goes_through_a_proxy_that_others_share(up: Up) -> None:
    with up("cluster", "*:delay=20ms") as (runtime, topology, proxies):
        trips_ms = least_trips_ms(proxies, topology)
        assert {name for name, ms in trips_ms.items() if ms >= 40} == {link.name for link in topology.links}
        for link in topology.links:
            assert quickest_ms(runtime, link.opened_by.name, link.to.name) >= 20
        assert proxies.carried_at_end() == {}, "Toxiproxy does not count by caller"


@PROCESSES
def test_a_backup_that_took_over_is_called_through_doors_of_its_own(up: Up) -> None:
    ha = HaPolicy()
    active, alone = ArtemisBroker("active", ha=ha), ArtemisBroker("alone")
    brokers = (active, ArtemisBroker("backup", standby_of="active", ha=ha), alone)
    topology = Topology("t", brokers, cluster_links((active, alone), ClusterConnection()), (), ARTEMIS)
    with up(topology, "*:delay=100ms") as (runtime, _, proxies):
        assert quickest_ms(runtime, "active", "alone") >= 100
        runtime.kill("active")
        until(lambda: serving(runtime, topology, "active", 3.0) == "backup", 120)
        prove_links(runtime, topology, timeout_s=60)
        assert quickest_ms(runtime, "backup", "alone") >= 100
        assert proxies.carried_at_end()["active-to-alone"].forth_bytes >= 2 * BODIES_BYTES
