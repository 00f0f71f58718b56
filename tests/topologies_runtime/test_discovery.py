"""Checks on real Classic brokers how links find brokers that start late, and links with no attempts left."""

import time
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from records.store.rundir import RunDirectory
from topologies.catalogue.lookup import build
from topologies.classic.network_connectors import FailoverDiscovery, NetworkConnector, StaticDiscovery
from topologies.management.link_logs import attempt_sentences, give_up_lines
from topologies.management.links import prove_links, unproven
from topologies.model.topology import Topology, present_links
from topologies.runtimes.processes.runtime import ProcessRuntime

pytestmark = pytest.mark.brokers
LATEST_S = 60.0


def runtime_of(topology: Topology, folder: Path) -> ProcessRuntime:
    return ProcessRuntime(topology, RunDirectory.create(folder, f"run-{folder.name}"), broker_memory_mb=128)


def with_discovery(discovery: StaticDiscovery | FailoverDiscovery) -> Topology:
    topology = build("source-and-sink")
    links = (replace(link, discovery=discovery) for link in topology.links if isinstance(link, NetworkConnector))
    return replace(topology, links=tuple(links))


def test_brokers_of_a_group_find_each_other_and_one_that_starts_later(tmp_path: Path) -> None:
    topology = build("mesh(discovery='group')")
    with closing(runtime_of(topology, tmp_path)) as runtime:
        runtime.up(lambda _line: None, {"broker-3"})
        early = present_links(topology, {"broker-3"})
        assert [link.name for link in early] == ["broker-1-to-broker-2", "broker-2-to-broker-1"]
        prove_links(runtime, topology, timeout_s=LATEST_S, links=early)
        runtime.start("broker-3")
        prove_links(runtime, topology, timeout_s=LATEST_S)


def test_a_connector_with_no_attempts_left_is_named_and_can_be_started(tmp_path: Path) -> None:
    """Its end listens only after the last attempt, so the link stays down until management starts it."""
    topology = with_discovery(StaticDiscovery(initial_reconnect_delay_ms=100, max_reconnect_attempts=3))
    with closing(runtime_of(topology, tmp_path)) as runtime:
        began_ns = time.time_ns()
        runtime.up(lambda _line: None, {"sink"})
        until_s = time.monotonic() + LATEST_S
        while not (given_up := give_up_lines(runtime, topology, topology.links)):
            assert time.monotonic() < until_s
            time.sleep(0.1)
        assert given_up["source-to-sink"].startswith("Reconnect attempts exceeded 3 tries.")
        (tried,) = attempt_sentences(runtime, [topology], began_ns)
        assert tried.count("Connection refused") == 3
        first_wait_s, second_wait_s = map(float, tried.rpartition(": ")[2].split(", "))
        assert first_wait_s >= 0.1
        assert second_wait_s >= 0.2
        runtime.start("sink")
        time.sleep(1)
        assert [doubt.link.name for doubt in unproven(runtime, topology, topology.links)] == ["source-to-sink"]
        runtime.operations.stop_link("source-to-sink")
        runtime.operations.start_link("source-to-sink")
        prove_links(runtime, topology, timeout_s=LATEST_S)


def test_a_bridge_over_the_failover_transport_is_proven(tmp_path: Path) -> None:
    topology = with_discovery(FailoverDiscovery())
    with closing(runtime_of(topology, tmp_path)) as runtime:
        runtime.up(lambda _line: None)
        prove_links(runtime, topology, timeout_s=LATEST_S)
