"""Checks that an overlay changes only the settings that it names, and that each error has the place of the mistake."""

import dataclasses
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.topologies.golden_files import assert_golden
from tests.topologies.samples import site_of, topologies
from topologies.artemis.broker import ArtemisBroker
from topologies.artemis.links import BrokerConnection
from topologies.artemis.router import Router
from topologies.catalogue.lookup import build
from topologies.catalogue.overlay import Overlay, overlay_named
from topologies.catalogue.yaml_topology import parse_topology
from topologies.classic.broker import Broker
from topologies.classic.network_connectors import NetworkConnector
from topologies.jvm.settings import Jvm
from topologies.model.topology import Topology
from topologies.model.validity import TopologyInvalid
from topologies.products import ENTRIES
from topologies.runtimes.prepared import render, without_defaults


def over(topology: str | Topology, text: str) -> Topology:
    return Overlay(Path("tuned.yaml"), text).apply(build(topology) if isinstance(topology, str) else topology)


def classic(topology: Topology) -> list[Broker]:
    return [broker for broker in topology.brokers if isinstance(broker, Broker)]


def artemis(topology: Topology) -> list[ArtemisBroker]:
    return [broker for broker in topology.brokers if isinstance(broker, ArtemisBroker)]


def test_overlay_settings_apply_in_file_order() -> None:
    """Later sections override earlier ones, whether for all brokers, a group or one broker."""
    topology = over(
        "hub-and-spoke",
        "brokers:\n  all: {memory_percent_of_heap: 60}\n  consumers: {memory_percent_of_heap: 50}\n"
        "  hub: {memory_percent_of_heap: 40, dedicated_task_runner: true}\n",
    )
    entered = {broker.name for broker in topology.group("consumers").enter_at}
    assert entered
    for broker in classic(topology):
        expected = 40 if broker.name == "hub" else 50 if broker.name in entered else 60
        assert (broker.memory_percent_of_heap, broker.dedicated_task_runner) == (expected, broker.name == "hub")


def test_links_and_client_groups_have_the_changed_brokers() -> None:
    topology = over("mirror", "brokers: {all: {id_cache_size: 7}}\n")
    assert {broker.id_cache_size for broker in artemis(topology)} == {7}
    for link in topology.links:
        assert link.opened_by in topology.brokers
        assert link.to in topology.brokers
        assert isinstance(link, BrokerConnection)
        assert set(link.alternates) <= set(topology.brokers)
    assert all(set(group.enter_at) <= set(topology.brokers) for group in topology.groups)


def test_an_entry_of_a_list_changes_the_one_with_its_key_and_else_is_added() -> None:
    (before,) = classic(build("single"))
    text = (
        "brokers:\n  broker-1:\n    policies: [{queue_prefetch: 1}, {pattern: orders.>, queue_prefetch: 2}]\n"
        "    connectors: [{max_inactivity_ms: 5}, {protocol: mqtt}]\n"
    )
    (broker,) = classic(over("single", text))
    policies = [(policy.kind, policy.pattern, policy.queue_prefetch) for policy in broker.policies]
    assert policies == [("queue", ">", 1), ("topic", ">", 1000), ("queue", "orders.>", 2)]
    assert broker.protocols == (*before.protocols, "mqtt")
    assert [connector.max_inactivity_ms for connector in broker.connectors] == [5, 30_000, 30_000, 30_000]
    assert broker.policies[1] == before.policies[1]


def test_a_part_within_a_part_keeps_what_is_not_named() -> None:
    text = "brokers: {all: {policies: [{dead_letters: {expiration_ms: 9}}], persistence: {max_async_jobs: 8}}}\n"
    for broker, before in zip(classic(over("mesh-of-pairs", text)), classic(build("mesh-of-pairs")), strict=True):
        assert before.persistence is not None
        assert broker.persistence == dataclasses.replace(before.persistence, max_async_jobs=8)
        queues = before.policies[0]
        letters = dataclasses.replace(queues.dead_letters, expiration_ms=9)
        assert broker.policies[0] == dataclasses.replace(queues, dead_letters=letters)


def test_one_of_several_kinds_stays_of_its_kind_where_none_is_named() -> None:
    topology = "mesh(brokers=2, discovery='multicast')"
    for link, before in zip(
        over(topology, "links: {all: {discovery: {initial_reconnect_delay_ms: 50}}}\n").links,
        build(topology).links,
        strict=True,
    ):
        assert isinstance(link, NetworkConnector)
        assert isinstance(before, NetworkConnector)
        assert link.discovery == dataclasses.replace(before.discovery, initial_reconnect_delay_ms=50)


def test_a_network_ttl_replaces_both_ttls_of_the_topology_and_the_other_way_round() -> None:
    mesh = over("cross-region-mesh", "links: {all: {network_ttl: 3}}\n")
    assert {(link.message_ttl, link.consumer_ttl) for link in mesh.links} == {(3, 3)}
    again = over(mesh, "links: {all: {message_ttl: 2}}\n")
    assert {(link.message_ttl, link.consumer_ttl) for link in again.links} == {(2, 3)}
    assert {link.network_ttl for link in again.links if isinstance(link, NetworkConnector)} == {None}


def test_a_store_can_be_taken_away_and_given_again() -> None:
    without = over("single", "brokers: {all: {persistence: null}}")
    assert [broker.persistence for broker in classic(without)] == [None]
    repeated = over(without, "brokers: {all: {persistence: {max_async_jobs: 8}}}")
    assert [broker.persistence and broker.persistence.max_async_jobs for broker in classic(repeated)] == [8]


def test_a_journal_of_another_kind_has_what_artemis_gives_that_kind() -> None:
    topology = over("artemis-single", "brokers: {all: {persistence: {kind: ASYNCIO}}}")
    text = render(topology, topology.brokers[0], site_of(topology))["broker.xml"]
    assert "<journal-max-io>4096</journal-max-io>" in text
    assert "<journal-buffer-timeout>500000</journal-buffer-timeout>" in text


def test_links_are_named_as_for_the_link_option() -> None:
    topology = over("mesh", "links:\n  all: {prefetch_size: 5}\n  broker-1<->broker-2: {prefetch_size: 6}\n")
    links = {link.name: link.prefetch_size for link in topology.links if isinstance(link, NetworkConnector)}
    assert links == {"broker-1-to-broker-2": 6, "broker-1-to-broker-3": 5, "broker-2-to-broker-3": 5}


def test_all_leaves_a_router_out_and_its_name_does_not() -> None:
    text = "brokers: {all: {jvm: {heap_mb: 100}}, router: {waypoints: [steady]}}"
    topology = over("router-peer", text)
    routers = [broker for broker in topology.brokers if isinstance(broker, Router)]
    assert [router.waypoints for router in routers] == [("steady",)]
    assert [broker.process.heap_mb for broker in topology.brokers if broker not in routers] == [100]


def test_what_an_overlay_states_is_written_without_defaults_too() -> None:
    topology = over("single", "brokers: {all: {policies: [{queue_prefetch: 1000}], store_limit_bytes: 4294967296}}")
    text = without_defaults(render)(topology, topology.brokers[0], site_of(topology))["activemq.xml"]
    assert 'queuePrefetch="1000"' in text
    assert '<storeUsage limit="4294967296"/>' in text
    assert "topicPrefetch" not in text


@pytest.mark.parametrize("entry", ENTRIES)
def test_an_overlay_without_settings_changes_nothing(entry: str) -> None:
    links = "links: {all: {}}" if build(entry).links else ""
    assert over(entry, f"brokers: {{all: {{}}}}\n{links}") == build(entry)


PLAIN = {
    "memory_percent_of_heap": st.integers(1, 100),
    "store_limit_bytes": st.integers(1 << 20, 1 << 40),
    "send_fail_if_no_space": st.booleans(),
    "scheduler_support": st.booleans(),
    "advisory_support": st.booleans(),
}


@settings(max_examples=60, deadline=None)
@given(topology=topologies(), values=st.fixed_dictionaries({}, optional=PLAIN), index=st.integers(0, 9))
def test_what_is_named_is_so_and_all_else_as_it_was(topology: Topology, values: dict[str, Any], index: int) -> None:
    """The settings of one broker in any topology."""
    name = topology.brokers[index % len(topology.brokers)].name
    groups = {group.name for group in topology.groups}
    overlaid = over(topology, yaml.safe_dump({"brokers": {name: values}}))
    meant = {name} if name not in groups | {"all"} else {broker.name for broker in topology.brokers}
    assert overlaid.brokers == tuple(
        dataclasses.replace(broker, **values) if broker.name in meant else broker for broker in topology.brokers
    )
    assert [link.name for link in overlaid.links] == [link.name for link in topology.links]


def test_equal_contents_have_equal_digests_wherever_they_are(tmp_path: Path) -> None:
    texts = {"a.yaml": "brokers: {}\n", "b.yaml": "brokers: {}\n", "c.yaml": "links: {}\n"}
    digests = []
    for name, text in texts.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
        overlay = overlay_named(str(tmp_path / name))
        assert overlay
        assert (overlay.path, overlay.text) == (tmp_path / name, text)
        digests.append(overlay.digest)
    assert digests[0] == digests[1] != digests[2]
    assert overlay_named("") is overlay_named("none") is None


MISTAKES = {
    "nothing": "",
    "a list": "- brokers\n",
    "no YAML": "brokers: [a\n",
    "a section misspelt": "broker: {}\n",
    "a section of topologies": "groups: []\n",
    "brokers as a list": "brokers: [broker-1]\n",
    "no broker": "brokers:\n",
    "a broker that is not there": "brokers:\n  all: {}\n  broker-9: {}\n",
    "a link that is not there": "links: {broker-1-to-broker-9: {}}\n",
    "no settings": "brokers: {all: }\n",
    "a setting misspelt": "brokers:\n  all:\n    memory_percent: 5\n",
    "a setting that nobody knows": "brokers: {all: {frobnicate: 5}}\n",
    "a setting of another kind": "brokers: {all: {memory_percent_of_heap: much}}\n",
    "a setting beyond its limits": "brokers: {all: {memory_percent_of_heap: 101}}\n",
    "a setting as the manual spells it": "brokers: {all: {memoryPercentOfHeap: 5}}\n",
    "a word of the manual": "brokers: {all: {persistenceAdapter: {}}}\n",
    "a setting of policies": "brokers: {all: {queue_prefetch: 5}}\n",
    "a setting of links": "brokers: {all: {prefetch_size: 5}}\n",
    "a setting of Artemis": "brokers: {all: {max_disk_usage_percent: 5}}\n",
    "acceptors": "brokers: {all: {acceptors: []}}\n",
    "a journal of Artemis": "brokers: {all: {persistence: {kind: NIO}}}\n",
    "a setting within a part": "brokers: {all: {policies: [{dead_letters: {expiry: 5}}]}}\n",
    "another name": "brokers: {all: {name: x}}\n",
    "other ends": "links: {all: {to: broker-2}}\n",
    "a delay": "links: {all: {impairment: {delay_ms: 5}}}\n",
    "a setting given twice": "brokers:\n  all:\n    use_jmx: true\n    use_jmx: false\n",
    "a heap too small": "brokers: {all: {jvm: {heap_mb: 10}}}\n",
    "the heap as an option": "brokers: {all: {jvm: {options: [-Xmx1g]}}}\n",
    "two options in one": "brokers: {all: {jvm: {options: ['-XX:+UseZGC -Xss1m']}}}\n",
    "an option that is none": "brokers: {all: {jvm: {options: [UseZGC]}}}\n",
    "an option of the run": "brokers: {all: {jvm: {options: [-Dactivemq.data=/tmp]}}}\n",
    "an option that a run gives last": "brokers: {all: {jvm: {options: ['-XX:AutoBoxCacheMax=5']}}}\n",
    "a list as the key of an entry": "brokers: {all: {policies: [{pattern: [a]}]}}\n",
    "a password": "brokers: {all: {jvm: {options: [-Dmy.Password=x]}}}\n",
    "a TTL that reaches nobody": "links: {all: {consumer_ttl: 0}}\n",
}
OF_ARTEMIS = {
    "a setting of Classic": "brokers: {all: {store_limit_bytes: 5000000}}\n",
    "policies": "brokers: {all: {policies: []}}\n",
    "one of a pair alone": "brokers: {broker-1: {persistence: {min_files: 5}}}\n",
}


def test_each_mistake_is_one_sentence_with_its_place() -> None:
    refusals = [*_refusals("mesh", MISTAKES), *_refusals("live-backup", OF_ARTEMIS)]
    assert_golden("overlay-errors.txt", "".join(f"{line}\n" for line in refusals))


def _refusals(topology: str, mistakes: dict[str, str]) -> Iterator[str]:
    for title, text in mistakes.items():
        with pytest.raises(TopologyInvalid) as raised:
            over(topology, text)
        (problem,) = raised.value.problems
        assert problem.startswith("tuned.yaml:")
        yield f"{title}: {problem}"


def test_a_file_that_cannot_be_read_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(TopologyInvalid, match=r"gone\.yaml: No such file or directory; name a YAML file with settings"):
        overlay_named(str(tmp_path / "gone.yaml"))
    (tmp_path / "latin.yaml").write_bytes("brokers: {ä: 1}".encode("latin-1"))
    with pytest.raises(TopologyInvalid, match=r"latin\.yaml: byte 11 is not valid UTF-8; save the file as UTF-8"):
        overlay_named(str(tmp_path / "latin.yaml"))


def test_a_topology_file_has_the_same_settings_of_the_jvm() -> None:
    text = "name: t\nbrokers: [{name: a, jvm: {heap_mb: 100, options: [-Xss1m]}}]\n"
    assert parse_topology(text, "t.yaml").broker("a").process == Jvm(100, ("-Xss1m",))
