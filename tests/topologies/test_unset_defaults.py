"""Checks that brokers rendered without defaults have only explicit settings and settings that a run needs."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from lxml import etree

from tests.topologies.artemis_samples import clusters_and_connections
from tests.topologies.conftest import activemq_xsd, artemis_configuration_xsd
from tests.topologies.golden_files import assert_golden
from tests.topologies.samples import every_feature, site_of, topologies
from topologies.artemis.render import names as artemis
from topologies.artemis.router import Router
from topologies.catalogue.lookup import build
from topologies.catalogue.yaml_topology import parse_topology
from topologies.classic.broker import Broker
from topologies.classic.render import names as classic
from topologies.model.impaired_links import with_all_proxied, with_impairments, without_impairments
from topologies.model.topology import Topology
from topologies.pinned import pinned_versions
from topologies.products import ENTRIES
from topologies.runtimes.prepared import render, render_for_topics, without_defaults

ROOT = Path(__file__).parents[2]
FILES = {"classic": "activemq.xml", "artemis": "broker.xml"}
BETWEEN_OPTIONS = re.compile(r"[?;&,)]+")


def files_of(topology: Topology, broker: str, version: str = "") -> Mapping[str, str]:
    site = replace(site_of(topology), version=version)
    return without_defaults(render)(topology, topology.broker(broker), site)


def root_of(topology: Topology, broker: str, version: str = "") -> etree._Element:
    return etree.fromstring(files_of(topology, broker, version)[FILES[topology.flavour]].encode())


def checked_part(topology: Topology, broker: str, version: str = "") -> etree._Element:
    """Return the element that the broker's schema describes."""
    (element,) = root_of(topology, broker, version).iter("{*}broker", "{urn:activemq:core}core")
    return element


@pytest.mark.parametrize("entry", ["mesh", "active-standby", "cluster", "live-backup", "dual-mirror"])
def test_a_catalogue_entry_renders_to_its_golden_file(entry: str) -> None:
    """Tests the last broker, which is the standby if there is one."""
    topology = build(entry)
    files = files_of(topology, topology.brokers[-1].name)
    assert_golden(f"unset-defaults/{entry}.xml", files[FILES[topology.flavour]])


@pytest.mark.parametrize("flavour", FILES)
def test_every_entry_is_valid_by_the_schema_of_each_version(flavour: str) -> None:
    schema_of = {"classic": activemq_xsd, "artemis": artemis_configuration_xsd}[flavour]
    built = [topology for topology in map(build, ENTRIES) if topology.flavour == flavour]
    for version in pinned_versions(f"activemq-{flavour}"):
        schema = schema_of(version)
        for topology in (*built, *([every_feature()] if flavour == "classic" else [])):
            for broker in topology.brokers:
                if not isinstance(broker, Router):
                    schema.assertValid(checked_part(topology, broker.name, version))


def values_in(text: str) -> set[str]:
    """Return every element, attribute and URI option with its value."""
    return set(_values_in(etree.fromstring(text.encode()), ""))


def _values_in(element: etree._Element, above: str) -> Iterator[str]:
    key = next((value for name, value in element.attrib.items() if name in ("queue", "topic", "match", "name")), "")
    path = f"{above}/{etree.QName(element).localname}[{key}]"
    for name, value in (*element.attrib.items(), ("", (element.text or "").strip())):
        yield from (f"{path} {name} {part}" for part in BETWEEN_OPTIONS.split(value) if part)
    for child in element:
        yield from _values_in(child, path)


@settings(max_examples=40, deadline=None)
@given(topology=topologies())
def test_what_is_left_of_a_classic_broker_is_as_with_all_defaults(topology: Topology) -> None:
    assert_a_part(topology)


@settings(max_examples=30, deadline=None)
@given(topology=clusters_and_connections())
def test_what_is_left_of_an_artemis_broker_is_as_with_all_defaults(topology: Topology) -> None:
    assert_a_part(topology)


def assert_a_part(topology: Topology) -> None:
    for broker in topology.brokers:
        if isinstance(broker, Router):
            continue
        every = values_in(render(topology, broker, site_of(topology))[FILES[topology.flavour]])
        some = values_in(files_of(topology, broker.name)[FILES[topology.flavour]])
        assert some - every == set()
        assert every - some


STATED = """
name: two
brokers:
  - name: a
    policies: [{queue_prefetch: 1000}, {kind: topic}]
    store_limit_bytes: 4294967296
    persistence: {checkpoint_interval_ms: 5000}
    connectors: [{protocol: openwire, max_inactivity_ms: 30000}]
  - b
links:
  - {opened_by: a, to: b, prefetch_size: 1000, discovery: {initial_reconnect_delay_ms: 1000}}
"""
WRITTEN = (
    'queuePrefetch="1000"',
    '<storeUsage limit="4294967296"/>',
    'checkpointInterval="5000"',
    'wireFormat.maxInactivityDuration=30000"',
    'prefetchSize="1000"',
    ")?initialReconnectDelay=1000",
)


def test_a_default_that_a_file_states_is_written_and_others_are_not() -> None:
    text = files_of(parse_topology(STATED, "t.yaml"), "a")["activemq.xml"]
    assert [name for name in WRITTEN if name not in text] == []
    plain = parse_topology("name: two\nbrokers: [a, b]\nlinks: [{opened_by: a, to: b}]\n", "t.yaml")
    text = files_of(plain, "a")["activemq.xml"]
    assert [name for name in WRITTEN if name in text] == []
    assert [name for name in ("Usage", "deadLetter", "networkBridgeFilter", "shared-file-locker") if name in text] == []


@pytest.mark.parametrize(
    ("call", "written"),
    [
        ("mesh(conduit=True)", 'conduitSubscriptions="true"'),
        ("source-and-sink(decrease_network_consumer_priority=True)", 'decreaseNetworkConsumerPriority="true"'),
        ("cluster(message_load_balancing='ON_DEMAND')", "<message-load-balancing>ON_DEMAND<"),
        ("mirror(queue_removal=True)", 'queue-removal="true"'),
        ("senders(auto_start=True)", 'auto-start="true"'),
    ],
)
def test_a_default_that_an_entrys_parameter_states_is_written_and_else_it_is_not(call: str, written: str) -> None:
    for entry, is_written in ((call, True), (call.partition("(")[0], False)):
        topology = build(entry)
        text = files_of(topology, topology.links[0].opened_by.name)[FILES[topology.flavour]]
        assert (written in text) is is_written, text


def test_what_was_stated_is_not_forgotten_when_a_run_changes_the_topology() -> None:
    stated = parse_topology(STATED, "t.yaml")
    for changed in (with_impairments(stated, "*:delay=0ms"), with_all_proxied(stated), without_impairments(stated)):
        assert 'prefetchSize="1000"' in files_of(changed, "a")["activemq.xml"]
    broker = stated.product.in_container(stated, stated.product.for_topics(stated.broker("a")))
    text = without_defaults(render_for_topics)(stated, broker, site_of(stated))["activemq.xml"]
    assert [name for name in WRITTEN if name not in text] == []
    assert "traceBrokerPath" not in text


@pytest.mark.parametrize(
    "stated", ["memory_limit_bytes: 0", "temp_limit_bytes: 5000000", "send_fail_if_no_space: true"]
)
def test_a_classic_broker_is_told_of_all_its_limits_or_of_none(stated: str) -> None:
    topology = parse_topology(f"name: t\nbrokers: [{{name: a, {stated}}}]\n", "t.yaml")
    text = files_of(topology, "a")["activemq.xml"]
    limits = [
        f"<{kind}Usage {limit}="
        for kind, limit in (("memory", "percentOfJvmHeap"), ("store", "limit"), ("temp", "limit"))
    ]
    assert [start for start in limits if start not in text] == []
    assert ('sendFailIfNoSpace="true"' in text) == ("send_fail" in stated)


def test_memory_alone_is_said_where_a_broker_keeps_no_messages() -> None:
    topology = replace(build("single"), brokers=(Broker("broker-1", persistence=None),), groups=())
    text = files_of(topology, "broker-1")["activemq.xml"]
    assert 'persistent="false"' in text
    assert "kahaDB" not in text


@pytest.mark.parametrize("needed", [classic.NEEDED, artemis.NEEDED])
def test_the_fields_that_are_written_in_any_case_are_documented(needed: dict[type, tuple[str, ...]]) -> None:
    page = (ROOT / "docs" / "options.md").read_text(encoding="utf-8").partition("## The brokers' own defaults")[2]
    text = page.partition("\n## ")[0]
    assert [
        field
        for fields in needed.values()
        for field in fields
        if field not in ("name", "own_name") and f"`{field}`" not in text
    ] == []
