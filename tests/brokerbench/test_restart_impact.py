"""Checks which brokers are named for a restart when one broker is added."""

import pytest
from hypothesis import given, settings

from brokerbench.restart_impact import (
    NEW,
    RestartImpact,
    add_broker,
    brokers_to_restart,
    compare_files,
    restart_impacts,
)
from tests.topologies.artemis_samples import clusters_and_connections
from tests.topologies.samples import topologies
from topologies.artemis.broker import ArtemisBroker
from topologies.artemis.links import ClusterConnection, ClusterLink
from topologies.artemis.product import ARTEMIS
from topologies.catalogue.lookup import build
from topologies.classic.broker import Broker
from topologies.classic.product import CLASSIC
from topologies.model.topology import Topology
from topologies.products import ENTRIES


def test_a_mesh_reconfigures_every_broker_that_opens_a_link_to_the_new_one() -> None:
    assert restart_impacts("mesh") == (
        RestartImpact("brokers=4", ("broker-4",), ("broker-1", "broker-2", "broker-3"), ()),
    )


def test_a_concentrators_edge_grows_without_a_restart_and_its_center_does_not() -> None:
    edges, centres = restart_impacts("concentrator(edges=2)")
    assert edges == RestartImpact("edges=3", ("edge-3",), (), ("centre-1", "centre-2", "edge-1", "edge-2"))
    assert centres == RestartImpact("centres=3", ("centre-3",), ("edge-1", "edge-2"), ("centre-1", "centre-2"))


@pytest.mark.parametrize(
    ("topology", "text"),
    [
        ("mesh", "all 3"),
        ("hub-and-spoke", "hub"),
        ("concentrator(edges=2)", "edges=3: none; centres=3: edge-1, edge-2"),
        ("no-such-topology", ""),
    ],
)
def test_whom_one_more_broker_restarts_is_told_in_a_word(topology: str, text: str) -> None:
    assert brokers_to_restart(topology) == text


def test_a_pair_joins_a_mesh_of_pairs_with_both_of_each_corner_restarted() -> None:
    (growth,) = restart_impacts("mesh-of-pairs(pairs=2)")
    assert growth.added == ("broker-3", "broker-3-standby")
    assert growth.restarted == ("broker-1", "broker-1-standby", "broker-2", "broker-2-standby")


def test_a_parameter_that_adds_no_broker_is_no_growth() -> None:
    assert [growth.change for growth in restart_impacts("ring(ttl=2)")] == ["brokers=5"]
    (growth,) = restart_impacts("parallel-connectors")
    assert growth.change == "one additional link, from source to new-broker, like queues-1"


def test_what_counts_no_brokers_gets_one_at_a_link_like_the_one_that_is_there() -> None:
    assert restart_impacts("source-and-sink") == (
        RestartImpact(
            "one additional link, from source to new-broker, like source-to-sink", (NEW,), ("source",), ("sink",)
        ),
    )
    (growth,) = restart_impacts("receivers")
    assert (growth.restarted, growth.untouched) == ((), ("sink", "source"))


def test_who_has_no_link_yet_is_joined_by_the_new_broker() -> None:
    assert restart_impacts("single") == (
        RestartImpact("one additional link, from new-broker to broker-1", (NEW,), (), ("broker-1",)),
    )
    (growth,) = restart_impacts("live-backup")
    assert growth.restarted == ("broker-1", "broker-1-backup")  # a cluster's members all know each other


def test_what_has_as_many_as_it_counts_gets_one_by_a_link() -> None:
    (growth,) = restart_impacts("mesh(brokers=50)")
    assert (growth.added, growth.restarted) == ((NEW,), ("broker-1",))


def test_a_name_that_is_taken_is_not_given_again() -> None:
    topology = Topology("t", (Broker(NEW), Broker(f"{NEW}-2")), (), (), CLASSIC)
    assert add_broker(topology).added == (f"{NEW}-3",)


def test_who_has_no_link_yet_joins_no_cluster_of_others() -> None:
    alone, *members = (ArtemisBroker(name) for name in ("0", "1", "2"))
    cluster_link = ClusterLink(*members, cluster=ClusterConnection(max_hops=2))
    growth = add_broker(Topology("t", (alone, *members), (cluster_link,), (), ARTEMIS))
    assert (growth.restarted, growth.untouched) == (("0",), ("1", "2"))


@settings(max_examples=30, deadline=None)
@given(topologies() | clusters_and_connections())
def test_any_topology_can_be_joined(topology: Topology) -> None:
    growth = add_broker(topology)
    assert len(growth.added) == 1
    assert sorted((*growth.restarted, *growth.untouched)) == sorted(broker.name for broker in topology.brokers)


def test_equal_topologies_restart_nobody() -> None:
    assert compare_files("", build("ring"), build("ring")).untouched == ("broker-1", "broker-2", "broker-3", "broker-4")


@pytest.mark.parametrize("entry", ENTRIES)
def test_every_entry_can_be_asked(entry: str) -> None:
    for growth in restart_impacts(entry):
        now = [broker.name for broker in build(entry).brokers]
        assert growth.added
        assert sorted((*growth.restarted, *growth.untouched)) == sorted(now)
