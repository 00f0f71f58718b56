"""Checks which topology each --topology value selects, and the error for each mistake in it."""

import dataclasses
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from tests.topologies.golden_files import assert_golden, assert_golden_refusals
from topologies.catalogue.lookup import EntryCall, build, entries, entry_call
from topologies.classic.broker import Broker
from topologies.classic.network_connectors import FailoverDiscovery, MulticastDiscovery, StaticDiscovery
from topologies.model.broker import AnyBroker
from topologies.model.client_groups import CONSUMERS, PRODUCERS
from topologies.model.paths import count_by_links
from topologies.model.validity import TopologyInvalid
from topologies.products import ENTRIES

VARIANTS = (
    "source-and-sink(duplex=True)",
    "hub-and-spoke(spokes=2, hub_standby=True)",
    "mesh(discovery='multicast')",
    "mesh(rebalance=True)",
    "source-and-sink(duplex=True, transport='nio+ssl')",
    "chain(links=2, bridge_temp_destinations=False)",
    "chain(static_queue='orders')",
    "live-backup(ha='replication')",
    "senders(alternate=True)",
    "dual-mirror(alternate=True)",
)
MISTAKES = (
    "mehs",
    "circle",
    "mesh(broker=3)",
    "mesh(colour='red')",
    "mesh(brokers=5 rebalance=True)",
    "receivers(queues=['a', 'b'])",
    "single(brokers=2)",
    "mesh(networkTTL=2)",
    "mesh(redistribution_delay_ms=0)",
    "two-regions(networkTTL=1)",
    "source-and-sink(networkTTL=3)",
    "source-and-sink(duplex=true)",
    "source-and-sink(mirror=True)",
    "cluster(networkTTL=2)",
    "cluster(ttl=2)",
    "cluster(message_ttl=2)",
    "cluster(consumer_ttl=2)",
    "senders(networkTTL=2)",
    "cluster(maxHops=2)",
    "cluster(redistribution_delay=0)",
    "cluster(message_load_balancing=OFF)",
    "mirror(retryInterval=5)",
    "mirror(duplex=True)",
    "mirror(alternates=True)",
    "receivers(staticBridge=True)",
    "receivers(queues=' , ')",
    "router-peer(queues='')",
    "senders(match='')",
    "receivers(match='')",
    "mesh(brokers=1)",
    "mesh(brokers=-3)",
    "mesh(brokers=51)",
    "mesh(brokers=2.0)",
    "mesh(brokers=True)",
    "mesh(brokers='3')",
    "mesh(message_ttl=0)",
    "mesh(consumer_ttl=0)",
    "mesh(discovery='rendezvous')",
    "mesh(rebalance='update')",
    "source-and-sink(duplex=1)",
    "source-and-sink(rate_limit=-1)",
    "hub-and-spoke(spokes=1)",
    "concentrator(edges=0)",
    "tree(depth=9)",
    "tree(depth=5, branches=10)",
    "ring(ttl=-2)",
    "ring(consumer_ttl=-2)",
    "parallel-connectors(queue_connectors=0)",
    "",
    "mesh(",
    "mesh)",
    "mesh(3)",
    "mesh(brokers=)",
    "mesh(brokers=3, brokers=4)",
    "mesh(**{'brokers': 3})",
    "mesh(brokers=__import__('os').getpid())",
    "mesh(brokers=3) or single",
    "mesh(brokers=3)(brokers=4)",
    "mesh; single",
    "mesh.json",
    "networks/mesh",
)


def test_each_mistake_draws_its_own_sentence() -> None:
    assert_golden_refusals("catalogue-errors.txt", {text: partial(build, text) for text in MISTAKES})


@given(st.text(max_size=60) | st.builds("{}({})".format, st.sampled_from(list(ENTRIES)), st.text(max_size=30)))
def test_any_text_is_a_topology_or_a_sentence(text: str) -> None:
    try:
        name_or_refusal = build(text).name
    except TopologyInvalid as error:
        name_or_refusal = str(error)
    assert name_or_refusal


@given(st.dictionaries(st.sampled_from(["a", "brokers"]), st.integers() | st.booleans() | st.text(max_size=20)))
def test_what_is_written_as_keywords_is_read_as_such(arguments: dict[str, object]) -> None:
    text = f"mesh({', '.join(f'{name}={value!r}' for name, value in arguments.items())})"
    assert entry_call(text) == EntryCall("mesh", arguments)


def test_each_entry_has_the_brokers_links_and_groups_of_the_golden_file() -> None:
    """The golden file has each field that is not at its default, and for each path its broker pairs by link.

    The golden files of rendered features show how each field is rendered.
    """
    parts = {
        entry: {
            field: [differing(part) for part in getattr(topology, field)] for field in ("brokers", "links", "groups")
        }
        | {"pairs_by_links": [*count_by_links(topology.paths_between(PRODUCERS, CONSUMERS))]}
        for entry, topology in ((entry, build(entry)) for entry in (*ENTRIES, *VARIANTS))
    }
    assert_golden("catalogue.yaml", yaml.safe_dump(parts, sort_keys=False, width=120, default_flow_style=None))


def differing(part: Any) -> Any:
    """Describe a part of a topology by its fields that are not at their defaults, and other brokers by their names."""
    if isinstance(part, tuple):
        return [inner.name if isinstance(inner, AnyBroker) else differing(inner) for inner in part]
    if not dataclasses.is_dataclass(part):
        return part
    fields = {}
    for field in dataclasses.fields(part):
        value = getattr(part, field.name)
        default = field.default if field.default_factory is dataclasses.MISSING else field.default_factory()
        if value != default and field.init:
            fields[field.name] = value.name if isinstance(value, AnyBroker) else differing(value)
    return fields


def test_every_entry_is_built_by_its_bare_name() -> None:
    listed = entries()
    assert [entry.name for entry in listed] == list(ENTRIES)
    for entry in listed:
        assert build(entry.name).brokers
        assert entry.summary.endswith(".")
        assert "\n" not in entry.summary
        assert entry.picture


def test_every_entry_has_producers_and_consumers_and_nothing_to_warn_of() -> None:
    for name in ENTRIES:
        topology = build(name)
        assert topology.warnings == ()
        assert topology.paths_between(PRODUCERS, CONSUMERS)


def test_a_mesh_joins_each_pair_once_from_its_earlier_end() -> None:
    mesh = build("mesh(brokers=4)")
    joined = [(link.opened_by.name, link.to.name) for link in mesh.links]
    assert joined == [(f"broker-{a}", f"broker-{b}") for a in range(1, 5) for b in range(a + 1, 5)]
    assert all(link.duplex for link in mesh.links)


@given(st.integers(2, 12))
def test_in_a_mesh_everybody_reaches_everybody_in_one_hop(brokers: int) -> None:
    paths = build(f"mesh(brokers={brokers})").paths_between(PRODUCERS, CONSUMERS)
    assert len(paths) == brokers**2
    assert {path.hops for path in paths} == {0, 1}


def test_a_mesh_forwards_once_only_lest_topics_duplicate() -> None:
    assert {(link.message_ttl, link.consumer_ttl) for link in build("mesh").links} == {(1, 1)}


def test_the_queues_of_a_replaying_mesh_give_messages_back_and_topics_do_not() -> None:
    for broker in build("mesh(message_ttl=2, replay=True)").brokers:
        assert isinstance(broker, Broker)
        assert {p.kind: p.bridge_filter.replay_when_no_consumers for p in broker.policies} == {
            "queue": True,
            "topic": False,
        }
    with pytest.raises(TopologyInvalid, match="a message that returns has already crossed a link: write message_ttl=2"):
        build("mesh(replay=True)")


def test_only_openwire_clients_of_a_rebalanced_mesh_are_told_of_brokers() -> None:
    for entry, rebalances in (("mesh", False), ("mesh(rebalance=True)", True)):
        for broker in build(entry).brokers:
            flags_by_protocol = {
                connector.protocol: (
                    connector.update_cluster_clients,
                    connector.rebalance_cluster_clients,
                    connector.update_cluster_clients_on_remove,
                )
                for connector in broker.connectors  # type: ignore[attr-defined]
            }  # fmt: skip
            assert flags_by_protocol == {"openwire": (rebalances,) * 3, "stomp": (False,) * 3, "amqp": (False,) * 3}


def ways(entry: str) -> set[tuple[str, str]]:
    """Return each (from, to) that has a path."""
    return {pair for pair in build(entry).paths() if pair[0] != pair[1]}


def opened(entry: str) -> list[tuple[str, str]]:
    return [(link.opened_by.name, link.to.name) for link in build(entry).links]


def test_an_active_and_its_standby_are_entered_by_one_failover_uri_and_share_no_link() -> None:
    topology = build("active-standby")
    uri = topology.group(PRODUCERS).failover_uri_by_name("stomp")
    assert uri == "failover:(stomp://broker-1,stomp://broker-1-standby)?randomize=true"
    assert topology.links == ()
    assert [path.route for path in topology.paths_between(PRODUCERS, CONSUMERS)] == [("broker-1",)]


def test_two_one_way_links_join_what_one_duplex_link_does() -> None:
    assert opened("two-one-way") == [("broker-1", "broker-2"), ("broker-2", "broker-1")]
    assert not any(link.duplex for link in build("two-one-way").links)


def test_parallel_connectors_keep_queues_and_topics_apart() -> None:
    names = [link.name for link in build("parallel-connectors(queue_connectors=3)").links]
    assert names == ["queues-1", "queues-2", "queues-3", "topics"]


def test_spokes_reach_each_other_over_the_hub() -> None:
    paths = build("hub-and-spoke(spokes=3)").paths_between(PRODUCERS, CONSUMERS)
    assert [path.route for path in paths] == [("spoke-1", "hub", "spoke-3"), ("spoke-2", "hub", "spoke-3")]


def test_the_concentrator_of_the_documents_is_three_to_one_and_two() -> None:
    assert ways("concentrator") == {(f"edge-{n}", f"centre-{m}") for n in (1, 2, 3) for m in (1, 2)}


def test_tiers_have_no_way_down() -> None:
    crossings = ways("tiered-concentrator")
    assert ("edge-4", "centre-1") in crossings
    assert not {(begin, end) for begin, end in crossings if begin.startswith("centre") or end.startswith("edge")}


def test_leaves_of_a_tree_reach_each_other_over_the_root() -> None:
    route = build("tree(depth=2, branches=3)").paths()["node-1-1", "node-3-3"].route
    assert route == ("node-1-1", "node-1", "root", "node-3", "node-3-3")


def test_the_cross_region_mesh_opens_the_links_of_the_documents() -> None:
    documented = [(1, 2), (1, 3), (1, 4), (2, 3), (4, 3), (4, 2)]
    assert opened("cross-region-mesh") == [(f"broker-{a}", f"broker-{b}") for a, b in documented]
    assert [broker.region for broker in build("cross-region-mesh").brokers] == ["region-1"] * 3 + ["region-2"]


def test_two_regions_meet_at_one_link() -> None:
    topology = build("two-regions")
    across = [link for link in topology.links if link.opened_by.region != link.to.region]
    assert [(link.opened_by.name, link.to.name) for link in across] == [("west-3", "east-3")]
    assert {(link.message_ttl, link.consumer_ttl) for link in topology.links} == {(5, 5)}


def test_corners_of_a_mesh_of_pairs_are_called_with_their_standbys() -> None:
    topology = build("mesh-of-pairs")
    standbys = [broker.standby_of for broker in topology.brokers if broker.standby_of]
    assert standbys == ["broker-1", "broker-2", "broker-3"]
    assert opened("mesh-of-pairs") == [("broker-1", "broker-2"), ("broker-1", "broker-3"), ("broker-2", "broker-3")]


@given(st.integers(3, 12))
def test_a_ring_goes_one_way_and_all_the_way_round(brokers: int) -> None:
    paths = build(f"ring(brokers={brokers})").paths_between(PRODUCERS, CONSUMERS)
    assert [path.hops for path in paths] == list(range(1, brokers))


def test_a_ring_of_a_smaller_ttl_leaves_out_what_is_further_away() -> None:
    topology = build("ring(brokers=5, ttl=2)")
    assert [path.end for path in topology.paths_between(PRODUCERS, CONSUMERS)] == ["broker-2", "broker-3"]
    assert len(topology.warnings) == 2


@pytest.mark.parametrize("limits", ["ttl=2", "ttl=2, consumer_ttl=3", "ttl=3, consumer_ttl=2", "consumer_ttl=2"])
def test_in_a_ring_the_smaller_of_the_two_ttls_says_how_far_messages_get(limits: str) -> None:
    paths = build(f"ring({limits})").paths_between(PRODUCERS, CONSUMERS)
    assert [path.end for path in paths] == ["broker-2", "broker-3"]


def test_consumers_of_a_mesh_are_known_over_as_many_links_as_asked_for() -> None:
    mesh = build("mesh(message_ttl=2, consumer_ttl=3)")
    assert {(link.message_ttl, link.consumer_ttl) for link in mesh.links} == {(2, 3)}


def test_the_link_to_a_sink_with_a_standby_calls_both() -> None:
    topology = build("source-and-sink(sink_standby=True)")
    (link,) = topology.links
    assert [broker.name for broker in link.called(topology.brokers)] == ["sink", "sink-standby"]
    assert [broker.name for broker in topology.group(CONSUMERS).enter_at] == ["sink", "sink-standby"]
    assert topology.warnings == ()


def test_clients_of_a_mirror_may_go_to_the_copy_after_the_broker_in_use() -> None:
    for group in build("mirror(clients_at_both=True)").groups:
        assert [broker.name for broker in group.enter_at] == ["broker-1", "broker-2"]
        assert group.failover == "randomize=false"
    assert [link.is_mirror for link in build("dual-mirror").links] == [True, True]
    assert not any(link.is_mirror for entry in ("mesh", "cluster", "senders") for link in build(entry).links)


def test_source_and_sink_is_one_way_unless_asked_otherwise() -> None:
    assert set(build("source-and-sink").paths()) == {("source", "source"), ("sink", "sink"), ("source", "sink")}
    assert ("sink", "source") in build("source-and-sink(duplex=True)").paths()


def test_an_underscore_does_for_the_dash() -> None:
    assert build("source_and_sink") == build("source-and-sink")


@pytest.mark.parametrize("discovery", [StaticDiscovery, FailoverDiscovery, MulticastDiscovery])
def test_the_docs_name_every_field_of_a_discovery(discovery: type) -> None:
    text = (Path(__file__).parents[2] / "docs" / "topologies.md").read_text(encoding="utf-8")
    section = text.partition("## Discovery and transports")[2].partition("\n## ")[0]
    assert [field.name for field in dataclasses.fields(discovery) if f"`{field.name}`" not in section] == []


def test_a_rate_limit_is_of_the_queues_of_the_source_only() -> None:
    source, sink = build("source-and-sink(rate_limit=10)").brokers
    assert isinstance(source, Broker)
    assert isinstance(sink, Broker)
    assert {policy.kind: policy.bridge_filter.rate_limit for policy in source.policies} == {"queue": 10, "topic": 0}
    assert [policy.bridge_filter.rate_limit for policy in sink.policies] == [0, 0]
